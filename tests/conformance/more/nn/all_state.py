# all state
import torch
for c in [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adadelta, torch.optim.Adagrad, torch.optim.Adamax, torch.optim.NAdam, torch.optim.RAdam, torch.optim.RMSprop, torch.optim.Rprop, torch.optim.ASGD]:
    x = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    o = c([x], lr=0.05)
    for i in range(3):
        o.zero_grad()
        (x ** 2).sum().backward()
        o.step()
    print(c.__name__, x)
    print(o.state_dict())
