import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(238502)
x = torch.rand(5)
x.requires_grad_()
y = torch.full((5,), 0.5)
y.requires_grad_()
t1 = F.binary_cross_entropy(sigmoid(x), sigmoid(x))
t2 = torch.scatter(t1, 0, torch.zeros_like(t1).long(), x)
print(t2)
print(type(t2.grad_fn).__name__)
def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for nxt, i in fn.next_functions:
            walk(nxt, depth + 1)
walk(t2.grad_fn, 0)
t2.backward()
print("x.grad", x.grad)
print("y.grad", y.grad)
