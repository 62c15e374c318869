# freeze
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
for p in net[0].parameters():
    p.requires_grad = False
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=0.01)
before = net[0].weight.clone()
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(4, 2)).mean().backward()
    opt.step()
print(torch.equal(before, net[0].weight), net[0].weight.grad)
print(net[2].weight)
net.requires_grad_(False)
print([p.requires_grad for p in net.parameters()])
net.zero_grad()
