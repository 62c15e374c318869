# sched two groups
import torch
a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
o = torch.optim.Adam([{'params': a, 'lr': 0.1}, {'params': [b]}], lr=0.01)
s = torch.optim.lr_scheduler.LambdaLR(o, lr_lambda=[lambda e: 0.5 ** e, lambda e: 1 / (e + 1)])
for i in range(4):
    o.step()
    s.step()
    print(s.get_last_lr(), [g['initial_lr'] for g in o.param_groups])
print(o)
