# lbfgs bad ls
import torch
x = torch.tensor([-1.5, 2.0], requires_grad=True)
o = torch.optim.LBFGS([x], line_search_fn='armijo')
def closure():
    o.zero_grad()
    f = (x ** 2).sum()
    f.backward()
    return f
o.step(closure)
