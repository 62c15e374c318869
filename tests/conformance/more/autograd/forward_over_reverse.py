import torch
import torch.autograd.forward_ad as fwAD
def f(x):
    return (x ** 3).sum()
x = torch.tensor([1., 2., 3.], requires_grad=True)
v = torch.tensor([1., 0., 1.])
with fwAD.dual_level():
    d = fwAD.make_dual(x, v)
    y = f(d)
    print(y)
    g, = torch.autograd.grad(y, d, create_graph=True)
    print(g)
    print(fwAD.unpack_dual(g).tangent)
