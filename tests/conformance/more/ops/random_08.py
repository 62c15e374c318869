import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(134662)
x = torch.full((3, 3), 0.5)
x.requires_grad_()
t1 = x.mean(1)
t2 = (abs(x)+0.5)**t1
t3 = torch.linalg.det(t2)
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
