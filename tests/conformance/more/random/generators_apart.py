import torch
g = torch.Generator().manual_seed(3)
torch.manual_seed(3)
print(torch.randn(2, generator=g), torch.randn(2), torch.rand(2, generator=g), torch.rand(2))
print(torch.randint(0, 10, (4,), generator=g), torch.randint(0, 10, (4,)), g.initial_seed())
print(torch.randperm(5, generator=g), torch.randperm(5))
