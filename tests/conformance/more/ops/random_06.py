import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(660966)
x = torch.rand(3, 3)
x.requires_grad_()
y = torch.randn(3, 3)
y.requires_grad_()
w = torch.randn(3, 3)
w.requires_grad_()
t1 = y.mean()
t2 = torch.einsum('ij,ij->i',w,y)
print(t2)
print(type(t2.grad_fn).__name__)
def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for nxt, i in fn.next_functions:
            walk(nxt, depth + 1)
walk(t2.grad_fn, 0)
v = torch.linspace(-1, 1, 3).reshape((3,))
t2.backward(v)
print("x.grad", x.grad)
print("y.grad", y.grad)
print("w.grad", w.grad)
