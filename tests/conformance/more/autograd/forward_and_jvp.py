import torch
import torch.autograd.forward_ad as fwAD
from torch.func import jvp
def f(x, y):
    return (x * y).sin(), x.sum() * y
x, y = torch.tensor([1., 2.]), torch.tensor([3., 4.])
u, w = torch.tensor([1., 0.]), torch.tensor([0.5, 0.5])
with fwAD.dual_level():
    out = f(fwAD.make_dual(x, u), fwAD.make_dual(y, w))
    print([fwAD.unpack_dual(o).tangent for o in out])
print(jvp(f, (x, y), (u, w)))
