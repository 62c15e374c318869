# change lr by hand
import torch
x = torch.tensor([2.0], requires_grad=True)
o = torch.optim.SGD([x], lr=0.5)
for i in range(4):
    for g in o.param_groups:
        g['lr'] *= 0.9
    o.zero_grad()
    (x ** 2).sum().backward()
    o.step()
    print(x, o.param_groups[0]['lr'])
o.param_groups[0]['lr'] = 0.001
print(o)
print(o.param_groups[0].keys())
