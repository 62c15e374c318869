import torch
a = torch.ones(3, requires_grad=True)
y = a * a
y.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: torch.zeros(3))
y.sum().backward()
print(a.grad)
b = torch.ones(3, requires_grad=True)
z = b.exp()
s = z.grad_fn._raw_saved_result
s.register_hooks(lambda t: (print('pack', t, t.requires_grad), t * 2)[1], lambda t: (print('unpack', t), t / 2)[1])
print(z.grad_fn._saved_result)
z.sum().backward()
print(b.grad)
c = (b * 2)
d = c.pow(2)
d.grad_fn._raw_saved_self.register_hooks(lambda t: t.clone(), lambda t: t)
c.add_(5)
d.sum().backward()
print(b.grad)
