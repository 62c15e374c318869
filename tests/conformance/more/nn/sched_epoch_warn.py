# sched epoch warn
import torch
x = torch.ones(2, requires_grad=True)
o = torch.optim.SGD([x], lr=0.1)
s = torch.optim.lr_scheduler.StepLR(o, 2)
o.step()
s.step(3)
print(s.get_last_lr())
s.step(4)
print(s.get_last_lr(), s.last_epoch)
