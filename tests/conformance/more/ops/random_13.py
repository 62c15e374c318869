import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(691676)
x = torch.rand(3, 4)
x.requires_grad_()
t1 = x.cumprod(1)
t2 = x.diagonal()
t3 = t2.cov()
print(t3)
print(type(t3.grad_fn).__name__)
def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for nxt, i in fn.next_functions:
            walk(nxt, depth + 1)
walk(t3.grad_fn, 0)
t3.backward()
print("x.grad", x.grad)
