import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(638124)
x = torch.randn(3, 4)
x.requires_grad_()
y = torch.tensor(0.25)
y.requires_grad_()
t2 = x*x
t3 = x.hypot(y)
t4 = torch.log1p(abs(y))
t5 = torch.linalg.inv(t4+3*torch.eye(3))
print(t5)
print(type(t5.grad_fn).__name__)
def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for nxt, i in fn.next_functions:
            walk(nxt, depth + 1)
walk(t5.grad_fn, 0)
v = torch.linspace(-1, 1, 9).reshape((3, 3))
t5.backward(v)
print("x.grad", x.grad)
print("y.grad", y.grad)
