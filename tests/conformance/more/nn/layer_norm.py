# layer norm
import torch
from torch import nn
torch.manual_seed(0)
ln = nn.LayerNorm(3)
x = torch.randn(4, 3, requires_grad=True)
y = ln(x)
print(y)
(y * torch.arange(3.)).sum().backward()
print(x.grad, ln.weight.grad, ln.bias.grad)
