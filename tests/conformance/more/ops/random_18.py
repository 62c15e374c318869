import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(557504)
x = torch.randn(4)
x.requires_grad_()
y = torch.rand(1)
y.requires_grad_()
t2 = y.pow(-2)
t3 = y.sum(dim=-1)
t4 = x[::2]
t5 = exp(-(t2)**2)
t6 = t4.cov()
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
