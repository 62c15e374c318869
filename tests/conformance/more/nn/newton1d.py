# newton1d
import torch
x = torch.tensor(2.0, requires_grad=True)
for i in range(6):
    f = x ** 3 - 2 * x - 5
    df, = torch.autograd.grad(f, x)
    x = (x - f / df).detach().requires_grad_()
    print(i, x.item())
