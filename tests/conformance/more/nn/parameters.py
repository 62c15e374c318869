# parameters
import torch
from torch import nn
p = nn.Parameter(torch.tensor([1., 2.]))
print(p, p.requires_grad, p.is_leaf, type(p).__name__)
print(isinstance(p, torch.Tensor), isinstance(p, nn.Parameter))
q = nn.Parameter(torch.zeros(2, 2), requires_grad=False)
print(q)
print(p * 2, p.data, p.detach())
print([p])
