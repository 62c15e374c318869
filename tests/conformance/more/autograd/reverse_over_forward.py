import torch
import torch.autograd.forward_ad as fwAD
x = torch.tensor([1., 2., 3.], requires_grad=True)
t = torch.tensor([1., 0., 1.], requires_grad=True)
with fwAD.dual_level():
    d = fwAD.make_dual(x, t)
    y = d ** 3
    p, jvp = fwAD.unpack_dual(y)
    print(p)
    print(jvp)
    jvp.sum().backward()
print(x.grad)
print(t.grad)
