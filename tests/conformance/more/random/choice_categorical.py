import torch
torch.manual_seed(2)
p = torch.tensor([0.1, 0.2, 0.7])
s = torch.multinomial(p, 12, replacement=True)
print(s, torch.bincount(s, minlength=3))
print(torch.bernoulli(torch.full((6,), 0.3)), torch.normal(0.0, 2.0, (3,)), torch.normal(torch.tensor([1., 100.]), torch.tensor([0.1, 1.])))
