import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(81138)
x = torch.randn(3, 3)
x.requires_grad_()
y = torch.rand(3, 3)
y.requires_grad_()
t1 = torch.einsum('ij,kj->ik',y,x)
t2 = x.narrow(0, 0, 1)
t3 = torch.mv(t1, t1[0])
t4 = F.linear(t2, t1, t1[0])
print(t4)
print(type(t4.grad_fn).__name__)
def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for nxt, i in fn.next_functions:
            walk(nxt, depth + 1)
walk(t4.grad_fn, 0)
v = torch.linspace(-1, 1, 3).reshape((1, 3))
t4.backward(v)
print("x.grad", x.grad)
print("y.grad", y.grad)
