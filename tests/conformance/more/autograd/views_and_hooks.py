import torch
x = torch.ones(4, requires_grad=True)
y = x * 2
v = y[:2]
v.register_hook(lambda g: print('v', g))
y.register_hook(lambda g: print('y', g))
(v.sum() + y.sum()).backward()
print(x.grad)
y = x * 3
v = y[:2]
v.mul_(10)
print(v.grad_fn, y.grad_fn, v._version, y._version)
y.sum().backward()
print(x.grad)
d = y.detach()
d.zero_()
print(y, y._version, d._version)
a = torch.zeros(3)
b = a[1:]
a.requires_grad_()
print(b.requires_grad, a.is_leaf)
c = a.view(3)
print(c.grad_fn, c._version)
with torch.no_grad():
    a.add_(1)
print(c._version, a._version, c)
