import torch
x = torch.ones(2, 2, requires_grad=True)
y = (x.view(4)[1:].clone() * 2)
y[0] = 0
print(y.grad_fn, y.grad_fn.next_functions)
z = x.clone(); z[0] = 5; z[:, 1] *= 2; z.add_(1)
print(z.grad_fn, z.grad_fn.next_functions[0][0].name())
f = z.grad_fn
names = []
while f is not None:
    names.append(f.name())
    f = f.next_functions[0][0] if f.next_functions else None
print(names)
a = torch.zeros(3); b = a[1:]; b.copy_(x.view(4)[:2]); print(a, a.grad_fn, b.grad_fn, a.requires_grad)
a.sum().backward(); print(x.grad)
c = x.detach(); c.requires_grad_(); d = c.t(); print(d.grad_fn, d.is_leaf, c.grad_fn)
u = torch.cat([x, x * 2]); print(u.grad_fn.next_functions)
p, q = x.split(1); print(p.grad_fn, q.grad_fn is p.grad_fn, q.output_nr)
v, k = x.max(1); print(v.grad_fn, k.grad_fn, k.requires_grad)
print(torch.stack([x, x]).grad_fn.next_functions, (x + x).grad_fn.next_functions)
print(x.float().grad_fn, x.to(torch.float32) is x, x.double().grad_fn, x.contiguous() is x, x.reshape(2, 2) is x, x.reshape(2, 2).grad_fn, x.view(2, 2).grad_fn, x.expand(2, 2).grad_fn, x[:].grad_fn, x[...].grad_fn)
print((x ** 2).grad_fn, (2 ** x).grad_fn, (x ** x).grad_fn, (x ** 1).grad_fn, (x ** 0).grad_fn, x.pow(0.5).grad_fn, (-x).grad_fn, (1 - x).grad_fn, (1 / x).grad_fn, (x / 2).grad_fn, (x // 2).grad_fn, (x % 2).grad_fn, abs(x).grad_fn, (+x).grad_fn, (x > 0).grad_fn, (x == x).requires_grad, x.sign().grad_fn, round(1.5), x.round().grad_fn, x.int().grad_fn)
