# named param opt
import torch
from torch import nn
torch.manual_seed(0)
m = nn.Linear(2, 1)
o = torch.optim.SGD(m.named_parameters(), lr=0.1)
print(o.param_groups)
print(o.state_dict())
