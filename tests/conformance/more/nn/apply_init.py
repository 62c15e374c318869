# apply init
import torch
from torch import nn
torch.manual_seed(3)
def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        m.bias.data.fill_(0.01)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
net.apply(init_weights)
for p in net.parameters():
    print(p)
print(list(net.children()))
print([type(m).__name__ for m in net.modules()])
print([n for n, _ in net.named_modules()], [n for n, _ in net.named_children()])
