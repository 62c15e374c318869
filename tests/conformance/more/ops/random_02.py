import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(22511)
x = torch.full((2, 3), 0.5)
x.requires_grad_()
y = torch.rand(2, 3)
y.requires_grad_()
t1 = mean(y)
t2 = torch.movedim(y, 0, 1)
t3 = torch.pow(abs(t1)+1, t1)
t4 = torch.linalg.inv(t1+3*torch.eye(3))
print(t4)
print(type(t4.grad_fn).__name__)
def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for nxt, i in fn.next_functions:
            walk(nxt, depth + 1)
walk(t4.grad_fn, 0)
v = torch.linspace(-1, 1, 9).reshape((3, 3))
t4.backward(v)
print("x.grad", x.grad)
print("y.grad", y.grad)
