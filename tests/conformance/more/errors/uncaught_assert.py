import torch
assert torch.ones(2).sum() == 3, "sum is wrong"
