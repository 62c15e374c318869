# sched warn order
import torch
x = torch.ones(2, requires_grad=True)
o = torch.optim.SGD([x], lr=0.1)
s = torch.optim.lr_scheduler.StepLR(o, 2)
s.step()
o.step()
print(s.get_last_lr())
