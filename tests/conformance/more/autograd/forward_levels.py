import torch
import torch.autograd.forward_ad as fwAD
x = torch.tensor([1.])
x_t = torch.tensor([1.])
with fwAD.dual_level():
    inp = fwAD.make_dual(x, x_t)
    out = inp * 2
    y, jvp = fwAD.unpack_dual(out)
print(y, jvp)
def f(x):
    return x * x + torch.sin(x)
with fwAD.dual_level() as l:
    print(l)
    inp = fwAD.make_dual(x, x_t, level=l)
    print(fwAD.unpack_dual(f(inp), level=l).tangent)
    try:
        fwAD.unpack_dual(f(inp), level=5)
    except Exception as e:
        print(type(e).__name__, e)
    try:
        fwAD.make_dual(x, x_t, level=5)
    except Exception as e:
        print(type(e).__name__, e)
