import torch

torch.manual_seed(11)
a = torch.randn(3, 3)
b = torch.randn(3, 2)
for t in (torch.inverse(a), torch.linalg.solve(a, b), torch.linalg.cholesky(a @ a.T + torch.eye(3)), a.cummax(1)[1], torch.cdist(a, a, p=1)):
    print(t.stride(), t.is_contiguous())
c = torch.linalg.inv(torch.randn(2, 3, 3))
print(c.stride(), c.sum(0), c.reshape(-1)[:4])
try:
    torch.inverse(a).view(9)
except RuntimeError as e:
    print(e)
print(torch.inner(torch.linalg.cholesky(a @ a.T + torch.eye(3)), a))
