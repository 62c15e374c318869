import torch
x = torch.tensor(2., requires_grad=True)
y = x ** 3
g, = torch.autograd.grad(y, x)
print(g, g.requires_grad)
try:
    torch.autograd.grad(g, x)
except RuntimeError as e:
    print(e)
try:
    torch.autograd.grad(y, x)
except RuntimeError as e:
    print(str(e)[:50])
