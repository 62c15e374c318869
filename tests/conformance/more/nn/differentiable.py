# differentiable
import torch
x = torch.tensor([2.0], requires_grad=True)
o = torch.optim.SGD([x], lr=0.5, differentiable=True)
y = x * 2
y.sum().backward()
o.step()
