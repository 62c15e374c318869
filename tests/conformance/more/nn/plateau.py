# plateau
import torch
x = torch.ones(2, requires_grad=True)
o = torch.optim.SGD([x], lr=0.5)
s = torch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=2, factor=0.5)
for v in [1, 0.9, 0.9, 0.9, 0.91, 0.95, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8]:
    s.step(v)
    print(v, o.param_groups[0]['lr'], s.num_bad_epochs, s.best, s.get_last_lr())
s = torch.optim.lr_scheduler.ReduceLROnPlateau(o, 'max', threshold_mode='abs', cooldown=1, min_lr=0.01)
for v in [1, 0.9, 0.9, 0.9, 0.91, 0.95, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8] * 2:
    s.step(torch.tensor(v))
    print(v, o.param_groups[0]['lr'], s.num_bad_epochs)
