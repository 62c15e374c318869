# wd all
import torch
for c in [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adadelta, torch.optim.Adagrad, torch.optim.Adamax, torch.optim.NAdam, torch.optim.RAdam, torch.optim.RMSprop, torch.optim.ASGD]:
    for dt in [torch.float32, torch.float64]:
        x = torch.tensor([1.0, -2.0, 0.5, 3.3], requires_grad=True, dtype=dt)
        o = c([x], lr=0.05, weight_decay=0.13)
        for i in range(7):
            o.zero_grad()
            (x ** 3).sum().backward()
            o.step()
        print(c.__name__, x.tolist())
