import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(170511)
x = torch.full((3, 4), 0.5)
x.requires_grad_()
y = torch.rand(3, 4)
y.requires_grad_()
w = torch.tensor(-1.3)
w.requires_grad_()
t1 = x.flip(0)
t2 = torch.linalg.inv(w+3*torch.eye(3))
print(t2)
print(type(t2.grad_fn).__name__)
def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for nxt, i in fn.next_functions:
            walk(nxt, depth + 1)
walk(t2.grad_fn, 0)
v = torch.linspace(-1, 1, 9).reshape((3, 3))
t2.backward(v)
print("x.grad", x.grad)
print("y.grad", y.grad)
print("w.grad", w.grad)
