import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(117007)
x = torch.full((3, 3), 0.5)
x.requires_grad_()
t1 = sum(x)
t2 = torch.linalg.det(x)
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
