import torch
print(torch.tensor([float("nan"), 1.0]), torch.tensor([float("inf"), -float("inf")]), torch.tensor([float("inf"), 1e10]), torch.tensor([float("inf"), 2., 1.5]))
print(torch.tensor([[1.0, float("nan")], [float("inf"), -2.5]]), torch.tensor(float("nan")), torch.tensor([-0.0, 0.0]))
print(torch.tensor([1., 0., -1.]) / 0, torch.tensor([-1.]).sqrt(), torch.tensor([0.]).log())
