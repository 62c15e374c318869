import torch
a, b = torch.ones(2, 3), torch.ones(3, 2)
for f in [torch.allclose, torch.isclose, torch.logical_and, torch.equal, torch.add, torch.maximum, torch.matmul, torch.mm, lambda p, q: p.copy_(q), lambda p, q: p.add_(q), lambda p, q: p.expand(2, 2, 2)]:
    try:
        print(f(a, b))
    except RuntimeError as e:
        print(e)
print(torch.allclose(a, torch.ones(3)), torch.isclose(a, torch.ones(1)).all())
