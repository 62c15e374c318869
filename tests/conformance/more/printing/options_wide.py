import torch
torch.set_printoptions(precision=10)
print(torch.tensor(0.1), torch.tensor(0.1, dtype=torch.float64), torch.tensor([1e-3, 5.]), torch.pi)
torch.set_printoptions(linewidth=20)
print(torch.ones(3, requires_grad=True) * 2, torch.ones(2, 3).double())
torch.set_printoptions(linewidth=200)
print(torch.arange(60), torch.ones(30))
