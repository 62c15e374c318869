import torch
import torch.autograd.forward_ad as fwAD
w = torch.tensor([1., 2.], requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)
x = torch.tensor([3., 4.])
with fwAD.dual_level():
    dw = fwAD.make_dual(w, torch.tensor([1., 0.]))
    out = (dw * x).sum() + b
    print(out)
    p, t = fwAD.unpack_dual(out)
    print(p, t)
    loss = (out - 10) ** 2
    print(loss)
    print(fwAD.unpack_dual(loss).tangent)
    s = torch.sigmoid(dw) * b
    print(s)
    m = torch.stack([dw, dw * 2]) @ x
    print(m)
    g = torch.autograd.grad(loss, [w, b], retain_graph=True)
    print(g)
    fwAD.unpack_dual(loss).tangent.backward()
    print(w.grad, b.grad)
