# dropout train
import torch
from torch import nn
torch.manual_seed(7)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
x = torch.randn(6, 4)
y = torch.randn(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(5):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f}")
net.eval()
print(net(x))
