import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(859084)
x = torch.randn(2, 2)
x.requires_grad_()
y = torch.tensor(-1.3)
y.requires_grad_()
t1 = torch.asin(x/4)
t2 = x[-1]
t3 = torch.inverse(y+3*torch.eye(2))
t4 = t3 @ t3
print(t4)
print(type(t4.grad_fn).__name__)
def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for nxt, i in fn.next_functions:
            walk(nxt, depth + 1)
walk(t4.grad_fn, 0)
v = torch.linspace(-1, 1, 4).reshape((2, 2))
t4.backward(v)
print("x.grad", x.grad)
print("y.grad", y.grad)
