# ema target
import torch
from torch import nn
torch.manual_seed(0)
online, target = nn.Linear(3, 2), nn.Linear(3, 2)
target.load_state_dict(online.state_dict())
opt = torch.optim.SGD(online.parameters(), lr=0.5)
tau = 0.1
x = torch.randn(5, 3)
for i in range(3):
    opt.zero_grad(); (online(x) ** 2).mean().backward(); opt.step()
    with torch.no_grad():
        for a, b in zip(target.parameters(), online.parameters()):
            a.mul_(1 - tau).add_(b, alpha=tau)
    print(target.weight)
