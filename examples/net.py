import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x):
        return torch.sigmoid(self.layers(x))


torch.manual_seed(1)
inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
targets = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
net = Net(8)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for _ in range(200):
    loss = nn.functional.binary_cross_entropy(net(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(net)
print(net(inputs).detach().round())
