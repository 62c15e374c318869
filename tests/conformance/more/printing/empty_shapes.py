import torch
print(torch.tensor([]), torch.tensor([[]]), torch.zeros(0, 3), torch.zeros(3, 0), torch.zeros(2, 0, 3))
print(torch.empty(0, dtype=torch.int64), torch.zeros(0, requires_grad=True), torch.zeros(2, 0, dtype=torch.float64), torch.zeros(0).bool())
print([torch.zeros(0)], (torch.zeros(0, 2),), torch.zeros(0).tolist(), torch.zeros(0, 2).tolist(), torch.zeros(2, 0).tolist())
