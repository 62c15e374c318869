# lbfgs noclosure
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
o = torch.optim.LBFGS([x])
o.step()
