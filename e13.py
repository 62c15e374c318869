import torch
from torch.func import grad, jvp, vjp, jacfwd, vmap, hessian
import torch.autograd.forward_ad as fwAD
x = torch.tensor([0.5, -1.0])
def f(x):
    o = torch.zeros(3)
    o[1:] = x
    o[0] = o[1] * o[2]
    o[:2].mul_(x).exp_()
    return (o**2).sum()
print(jacfwd(grad(f))(x), hessian(f)(x), grad(lambda x: grad(f)(x).sum())(x))
def f(x):
    o = (x * x).clone()
    o[1:] *= x[:1]
    o.view(2, 1)[0] += x[1]
    o[0].zero_()
    return (o**2).sum()
print(jacfwd(grad(f))(x), hessian(f)(x), jvp(grad(f), (x,), (x,)))
with fwAD.dual_level():
    d = fwAD.make_dual(x.clone().requires_grad_(), torch.ones(2))
    g, = torch.autograd.grad(f(d), d)
    print(fwAD.unpack_dual(g))
X = torch.tensor([[0.5, -1.0], [2., 3.]])
print(vmap(grad(f))(X), vmap(hessian(f))(X))
