# batch norm
import torch
from torch import nn
torch.manual_seed(0)
bn = nn.BatchNorm1d(3)
x = torch.randn(4, 3)
print(bn(x))
print(bn.running_mean, bn.running_var, bn.num_batches_tracked)
bn.eval()
print(bn(x))
print(bn.state_dict())
