import torch
import torch.autograd.forward_ad as fwAD
with fwAD.dual_level():
    a = fwAD.make_dual(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    b = a.clone()
    b.mul_(2)
    print(b)
    b += a
    print(b)
    b[0] = 7.
    print(b)
    c = torch.zeros(2)
    c.copy_(a)
    print(c)
    d = torch.zeros(2)
    d[1] = a[0]
    print(d)
    e = a.clone()
    v = e[:1]
    v.mul_(5)
    print(e, v)
    a.zero_()
    print(a)
    f = torch.ones(2)
    f.add_(b)
    print(f)
