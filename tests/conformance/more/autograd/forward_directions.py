import torch
import torch.autograd.forward_ad as fwAD
def directional(f, x, v):
    with fwAD.dual_level():
        return fwAD.unpack_dual(f(fwAD.make_dual(x, v))).tangent
x = torch.linspace(0, 1, 5)
print(directional(torch.sin, x, torch.ones(5)))
print(directional(lambda x: x.cumsum(0), x, torch.ones(5)))
def rnn(h):
    for i in range(3):
        h = torch.tanh(h * 0.5 + 0.1)
    return h
print(directional(rnn, x, torch.ones(5)))
def inpl(x):
    y = x.clone()
    for i in range(1, 5):
        y[i] = y[i - 1] * y[i] + 1
    return y
print(directional(inpl, x, torch.ones(5)))
def cond(x):
    if x.sum() > 1:
        return x * 2
    return x * 3
print(directional(cond, x, torch.ones(5)))
print(directional(lambda x: torch.zeros(3), x, torch.ones(5)))
print(directional(lambda x: x.detach(), x, torch.ones(5)))
def buf(x):
    out = torch.zeros(5)
    out[:2] = x[:2] * 2
    out[2:].copy_(x[2:])
    out.mul_(2).add_(x)
    return out
print(directional(buf, x, torch.ones(5)))
def app(x):
    out = torch.empty(2, 5)
    torch.mul(x, 2, out=out[0]) if False else out[0].copy_(x * 2)
    out[1] = x
    return out
print(directional(app, x, torch.ones(5)))
