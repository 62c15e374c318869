import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(773573)
x = torch.randn(3)
x.requires_grad_()
y = torch.rand(1)
y.requires_grad_()
w = torch.rand(3)
w.requires_grad_()
t1 = tanh(w)
t3 = t1.chunk(2)[0]
t4 = torch.maximum(t1,w)
t5 = torch.inverse(y+3*torch.eye(2))
t6 = t5.norm(1)
print(t6)
print(type(t6.grad_fn).__name__)
def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for nxt, i in fn.next_functions:
            walk(nxt, depth + 1)
walk(t6.grad_fn, 0)
t6.backward()
print("x.grad", x.grad)
print("y.grad", y.grad)
print("w.grad", w.grad)
