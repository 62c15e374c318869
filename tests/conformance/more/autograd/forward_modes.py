import torch
import torch.autograd.forward_ad as fwAD
x = torch.tensor([1., 2.])
t = torch.tensor([1., 1.])
with fwAD.dual_level():
    d = fwAD.make_dual(x, t)
    with torch.inference_mode():
        e = d * 2
        print(e)
    @torch.no_grad()
    def f(v):
        return v.sin()
    print(f(d))
    y = d.clone().requires_grad_()
    print(y)
    z = (y * y).sum()
    print(z)
    z.backward()
    print(y.grad)
    print(fwAD.unpack_dual(y.grad).tangent)
