import torch
x = torch.ones(3, requires_grad=True)
with torch.no_grad():
    v = x[:2]
print(v, v.requires_grad, v.grad_fn, v.is_leaf)
try:
    v.add_(1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
y = x * 2
with torch.no_grad():
    w = y[:2]
    w.mul_(5)
print(y, w, w.requires_grad)
y.sum().backward(); print(x.grad)
with torch.no_grad():
    x[0] = 10; x[1:] += 1; x.mul_(2)
print(x, x._version)
with torch.no_grad():
    new = x - 1
    x.copy_(new)
print(x, x.requires_grad, new.requires_grad)
@torch.no_grad()
def upd(p): p -= 0.5
upd(x); print(x)
s = x.detach(); s.zero_(); print(x)
z = x.clone(); 
with torch.no_grad(): z[0] = 3
print(z, z.requires_grad, z.grad_fn)
d = x.data; d += 1; print(x, d.requires_grad)
x.requires_grad_(False); x += 1; print(x, x.requires_grad)
