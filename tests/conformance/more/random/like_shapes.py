import torch
torch.manual_seed(11)
x = torch.zeros(2, 3, dtype=torch.float64)
print(torch.rand_like(x), torch.randn_like(x, dtype=torch.float32), torch.randint_like(x, 5))
print(torch.empty(3).uniform_(-1, 1), torch.empty(2, 2).normal_(5, 0.1), torch.zeros(4).bernoulli_(0.5))
