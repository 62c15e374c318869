import torch

for m in ([[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 5.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]):
    a = torch.tensor(m, requires_grad=True)
    d = torch.det(a)
    d.backward()
    print(d, a.grad)
    print(torch.linalg.slogdet(a))
a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
print(torch.autograd.grad(torch.linalg.slogdet(a)[1], a))
for f in (torch.inverse, lambda m: torch.linalg.solve(m, torch.ones(2))):
    try:
        f(a)
    except RuntimeError as e:
        print(type(e).__name__, e)
