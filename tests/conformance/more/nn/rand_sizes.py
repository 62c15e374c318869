# rand sizes
import torch
for n in [1, 3, 15, 16, 17, 31, 33, 100]:
    torch.manual_seed(n)
    print(torch.rand(n))
    print(torch.randn(n))
    print(torch.rand(n, dtype=torch.float64).sum(), torch.randn(n, dtype=torch.float64).sum())
    print(torch.randint(0, 10, (n,)), torch.randperm(n))
