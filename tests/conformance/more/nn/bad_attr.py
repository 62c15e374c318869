# bad attr
import torch
x = torch.tensor([2.0], requires_grad=True)
o = torch.optim.SGD([x], lr=0.5)
print(o.lr)
