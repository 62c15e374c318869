import torch
print(torch.arange(1001), torch.arange(2000.))
print(torch.zeros(1001, 2)); print(torch.zeros(3, 1000)); print(torch.ones(40, 40))
