import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(572265)
x = torch.rand(3)
x.requires_grad_()
y = torch.randn(3)
y.requires_grad_()
w = torch.rand(3)
w.requires_grad_()
t1 = w.mean(0)
t2 = y.topk(1)[0]
t3 = w.pow(3)
t4 = t1.index_fill(0, torch.tensor([0]), 0.5)
t5 = torch.tan(t4)
print(t5)
print(type(t5.grad_fn).__name__)
def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for nxt, i in fn.next_functions:
            walk(nxt, depth + 1)
walk(t5.grad_fn, 0)
t5.backward()
print("x.grad", x.grad)
print("y.grad", y.grad)
print("w.grad", w.grad)
