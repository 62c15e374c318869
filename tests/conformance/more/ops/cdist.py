import torch

torch.manual_seed(3)
for p in (2, 1, 1.5, 3, float("inf"), 0):
    a = torch.randn(3, 2, requires_grad=True)
    b = torch.randn(4, 2, requires_grad=True)
    d = torch.cdist(a, b, p=p)
    (d * torch.linspace(-1, 1, 12).reshape(3, 4)).sum().backward()
    print(d, a.grad, b.grad)
g = torch.autograd.grad(torch.cdist(a, b).sum(), (a, b), create_graph=True)
print(g)
try:
    torch.autograd.grad(g[0].sum(), a)
except NotImplementedError as e:
    print(e)
for f in (lambda: torch.cdist(a[0], b), lambda: torch.cdist(a, b[:, :1]), lambda: torch.cdist(a, b, p=-1)):
    try:
        f()
    except RuntimeError as e:
        print(e)
