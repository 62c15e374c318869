import torch
def f(x, y):
    return x ** 2 * y + y ** 3
x, y = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0))
out = f(x, y)
dx, dy = torch.autograd.grad(out, (x, y), create_graph=True)
print(dx.item(), dy.item())
dxx, dxy = torch.autograd.grad(dx, (x, y), retain_graph=True)
dyy = torch.autograd.grad(dy, y)[0]
print([[dxx.item(), dxy.item()], [dxy.item(), dyy.item()]])
J = torch.autograd.functional.jacobian(f, (x, y))
print(J)
Hm = torch.autograd.functional.hessian(f, (x, y))
print(Hm)
print(torch.autograd.functional.vjp(f, (x, y), torch.tensor(1.)))
print(torch.func.grad(f, argnums=(0, 1))(torch.tensor(2.), torch.tensor(3.)))
