# truncated normal
import torch
from torch import nn
torch.manual_seed(0)
print(nn.init.trunc_normal_(torch.empty(3, 5)))
print(nn.init.trunc_normal_(torch.empty(3, 7), mean=1., std=2., a=-1., b=3.))
print(nn.init.trunc_normal_(torch.empty(8), std=0.02))
print(nn.init.trunc_normal_(torch.empty(30), std=5., a=-1, b=1))
print(torch.rand(1))
