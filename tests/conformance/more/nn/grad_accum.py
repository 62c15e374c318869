# grad accum
import torch
from torch import nn
torch.manual_seed(0)
m = nn.Linear(3, 1); X = torch.randn(12, 3); Y = torch.randn(12, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
o.zero_grad()
for i in range(0, 12, 4):
    l = nn.functional.mse_loss(m(X[i:i + 4]), Y[i:i + 4]) / 3
    l.backward()
    print(i, l.item(), m.bias.grad)
o.step()
print(m.weight, m.bias)
