import torch
import torch.autograd.forward_ad as fwAD
def rosen(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
x = torch.tensor([1.2, 0.9, 1.1])
v = torch.tensor([1., -1., 0.5])
with fwAD.dual_level():
    d = fwAD.make_dual(x.clone().requires_grad_(), v)
    g, = torch.autograd.grad(rosen(d), d, create_graph=True)
    print(fwAD.unpack_dual(g).primal.detach())
    print(fwAD.unpack_dual(g).tangent.detach())
print(torch.autograd.functional.hvp(rosen, x, v)[1])
print(torch.func.jvp(torch.func.grad(rosen), (x,), (v,))[1])
H = torch.autograd.functional.hessian(rosen, x)
print(H @ v)
