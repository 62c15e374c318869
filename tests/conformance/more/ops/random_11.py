import torch
import torch.nn.functional as F
from torch import *
torch.manual_seed(411277)
x = torch.rand(3, 3)
x.requires_grad_()
y = torch.randn(1)
y.requires_grad_()
t1 = (abs(x)+0.5)**y
t2 = F.nll_loss(F.log_softmax(y, dim=-1), torch.zeros(len(y)).long())
t3 = F.leaky_relu(x)
t5 = F.smooth_l1_loss(t1, y)
t6 = t3.norm(3)
print(t6)
print(type(t6.grad_fn).__name__)
def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for nxt, i in fn.next_functions:
            walk(nxt, depth + 1)
walk(t6.grad_fn, 0)
t6.backward()
print("x.grad", x.grad)
print("y.grad", y.grad)
