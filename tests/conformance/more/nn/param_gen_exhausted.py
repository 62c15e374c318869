# param gen exhausted
import torch
from torch import nn
m = nn.Linear(2, 1)
p = m.parameters()
print(type(p).__name__)
list(p)
o = torch.optim.SGD(p, lr=0.1)
