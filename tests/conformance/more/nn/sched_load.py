# sched load
import torch
from torch.optim.lr_scheduler import StepLR
x = torch.ones(2, requires_grad=True)
o = torch.optim.SGD([x], lr=0.5)
s = StepLR(o, 2, 0.5)
for i in range(3):
    o.step(); s.step()
sd = s.state_dict()
print(sd)
o2 = torch.optim.SGD([x], lr=0.5)
s2 = StepLR(o2, 5, 0.1)
s2.load_state_dict(sd)
o2.load_state_dict(o.state_dict())
for i in range(4):
    o2.step(); s2.step()
    print(s2.get_last_lr(), s2.last_epoch, o2.param_groups[0]['lr'], s2.step_size)
