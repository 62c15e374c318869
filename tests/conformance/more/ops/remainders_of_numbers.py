import torch

p = torch.tensor([0.3, 0.7], requires_grad=True)
r = 1.0 % p
print(r, type(r.grad_fn).__name__)
try:
    r.sum().backward()
except RuntimeError as e:
    print(e)
s = p % 0.25
s.sum().backward()
print(s, p.grad)
x = torch.ones(2, 2, requires_grad=True)
print(x.index_fill(0, torch.tensor([0]), 0.5), torch.tensor(1.5, requires_grad=True).index_fill(0, torch.tensor([0]), 2.0))
