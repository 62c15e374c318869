# xor sgd
import torch
import torch.nn as nn
torch.manual_seed(1)
X = torch.tensor([[0., 0.], [0., 1.], [1., 0.], [1., 1.]])
Y = torch.tensor([[0.], [1.], [1.], [0.]])
net = nn.Sequential(nn.Linear(2, 4), nn.Sigmoid(), nn.Linear(4, 1), nn.Sigmoid())
opt = torch.optim.SGD(net.parameters(), lr=1.0, momentum=0.9)
crit = nn.BCELoss()
for epoch in range(1001):
    opt.zero_grad()
    loss = crit(net(X), Y)
    loss.backward()
    opt.step()
    if epoch % 200 == 0:
        print(epoch, round(loss.item(), 4))
print(net(X).round().squeeze().tolist())
