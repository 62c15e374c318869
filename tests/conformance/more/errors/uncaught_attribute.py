import torch
def f(x):
    return x.foo
f(torch.ones(1))
