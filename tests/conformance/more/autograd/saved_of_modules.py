import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
x = torch.randn(3, 4)
count = {'pack': 0, 'unpack': 0, 'bytes': 0}
def pack(t):
    count['pack'] += 1
    count['bytes'] += t.numel() * t.element_size()
    return t
def unpack(t):
    count['unpack'] += 1
    return t
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    loss = net(x).pow(2).mean()
print(count)
loss.backward()
print(count)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(3):
    opt.zero_grad()
    with torch.autograd.graph.save_on_cpu():
        loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
    print(round(loss.item(), 4))
params = [p for p in net.parameters()]
def skip_params(t):
    if any(t is p for p in params):
        return ('param', t)
    return ('act', t)
with torch.autograd.graph.saved_tensors_hooks(skip_params, lambda p: p[1]):
    loss = net(x).sum()
loss.backward()
print([tuple(p.grad.shape) for p in params])
