# module in double
import torch
from torch import nn
torch.manual_seed(0)
m = nn.Linear(3, 1).double()
x = torch.randn(2, 3, dtype=torch.float64)
print(m(x), m.weight.dtype)
print(nn.Linear(3, 1)(x))
