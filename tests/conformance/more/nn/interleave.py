# interleave
import torch
torch.manual_seed(9)
print(torch.randn(1), torch.rand(1), torch.randn(1), torch.randn(2, 2), torch.randn(1).double(), torch.randn(3, dtype=torch.float64), torch.randn(16), torch.randn(1))
print(torch.randn(5), torch.bernoulli(torch.full((3,), 0.5)), torch.randn(1), torch.randperm(3), torch.randn(1))
