# step closure noreturn
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
o = torch.optim.SGD([x], lr=0.1)
def c():
    o.zero_grad()
    (x * x).sum().backward()
print(o.step(c))
print(x)
o = torch.optim.LBFGS([x])
print(o.step(c))
