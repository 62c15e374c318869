# sparse init
import torch
from torch import nn
torch.manual_seed(0)
print(nn.init.sparse_(torch.empty(4, 5), sparsity=0.3))
print(torch.rand(1))
