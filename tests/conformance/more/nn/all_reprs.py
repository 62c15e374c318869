# all reprs
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
for c in [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adadelta, torch.optim.Adagrad, torch.optim.Adamax, torch.optim.NAdam, torch.optim.RAdam, torch.optim.RMSprop, torch.optim.Rprop, torch.optim.ASGD, torch.optim.LBFGS]:
    o = c([x])
    print(o)
    print(c.__name__, type(o).__name__, sorted(o.defaults.items(), key=lambda t: t[0]))
