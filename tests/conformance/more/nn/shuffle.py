# shuffle
import torch
torch.manual_seed(123)
x = torch.arange(12).reshape(6, 2)
idx = torch.randperm(x.size(0))
print(x[idx], idx)
print(torch.randperm(40))
print(torch.randperm(7, dtype=torch.int32))
perm = torch.argsort(torch.rand(9))
print(perm)
print(torch.randint(5, (2, 3)), torch.randint(low=2, high=9, size=(4,)), torch.randint_like(torch.zeros(3), 7), torch.rand_like(torch.zeros(2, 9)), torch.randn_like(torch.zeros(2, 9).double()))
print(torch.randint(0, 2**40, (3,)), torch.randint(-2**62, 2**62, (3,)))
