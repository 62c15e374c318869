# sequential schedules
import torch
from torch.optim.lr_scheduler import SequentialLR, LinearLR, CosineAnnealingLR, ConstantLR, ExponentialLR, ChainedScheduler, CyclicLR, StepLR
x = torch.ones(2, requires_grad=True)
o = torch.optim.SGD([x], lr=0.5, momentum=0.9)
w = LinearLR(o, start_factor=0.1, total_iters=3)
c = CosineAnnealingLR(o, T_max=5)
s = SequentialLR(o, schedulers=[w, c], milestones=[3])
for e in range(9):
    print(e, s.get_last_lr(), o.param_groups[0]['lr'], s.last_epoch)
    o.step()
    s.step()
o = torch.optim.SGD([x], lr=1.0)
s = SequentialLR(o, [ConstantLR(o, 0.1, total_iters=2), ExponentialLR(o, 0.9), StepLR(o, 2)], milestones=[2, 5])
for e in range(9):
    o.step(); s.step()
    print(s.get_last_lr())
o = torch.optim.SGD([x], lr=1.0)
s = ChainedScheduler([ConstantLR(o, 0.1, 2), ExponentialLR(o, 0.9)])
for e in range(5):
    o.step(); s.step()
    print(s.get_last_lr(), o.param_groups[0]['lr'])
o = torch.optim.Adam([x], lr=1.0)
s = CyclicLR(o, 0.001, 0.1, step_size_up=2, step_size_down=3, mode='triangular2')
for e in range(12):
    o.step(); s.step()
    print(s.get_last_lr(), o.param_groups[0]['betas'])
o = torch.optim.Adagrad([x], lr=1.0)
s = CyclicLR(o, base_lr=0.1, max_lr=0.4, step_size_up=2, scale_fn=lambda k: 0.5 ** k, scale_mode='iterations', cycle_momentum=False)
for e in range(6):
    o.step(); s.step()
    print(s.get_last_lr())
