# embedding
import torch
from torch import nn
torch.manual_seed(0)
e = nn.Embedding(5, 3, padding_idx=0)
print(e.weight)
y = e(torch.tensor([[0, 1], [4, 1]]))
print(y)
y.sum().backward()
print(e.weight.grad)
