import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(135608)
x = torch.full((5,), 0.5)
x.requires_grad_()
t1 = x.sum(dim=-1)
t2 = torch.relu(x)
t3 = x.remainder(0.7)
t4 = torch.inverse(t1+3*torch.eye(2))
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
