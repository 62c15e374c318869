# sched print
import torch
from torch.optim.lr_scheduler import StepLR, LambdaLR, CosineAnnealingLR
x = torch.ones(2, requires_grad=True)
o = torch.optim.SGD([x], lr=0.5)
s = StepLR(o, 2)
print(o)
print(s.state_dict())
s2 = CosineAnnealingLR(o, 10)
print(s2.state_dict())
print(s.base_lrs, s.gamma, s.step_size, s.last_epoch, s.get_last_lr(), s.optimizer is o)
print(s.get_lr())
