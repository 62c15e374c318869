import torch
print(torch.tensor([1e10, 1.0]), torch.tensor([1e5, 1e-5]), torch.tensor([99999., 0.5]), torch.tensor([0.001, 1000.]), torch.tensor([0.0001, 1000.]))
print(torch.tensor(1e-5), torch.tensor(1e10), torch.tensor(123456.789), torch.tensor([16777216., 1.]), torch.tensor([1e-45]))
print(torch.tensor([1e7, 1e8]), torch.tensor([1e-3, 2e-3]), torch.tensor([123.456, 0.001]), torch.tensor([1e8, 1.5]))
