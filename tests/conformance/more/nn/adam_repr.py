# adam repr
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.Adam([x])
print(opt)
x.sum().backward()
opt.step()
print(opt.state_dict())
print(opt.state)
print(opt.state[x]['step'], opt.state[x]['exp_avg'])
