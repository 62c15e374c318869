import torch
a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
c = a * 2
d = b * 3
calls = []
h1 = torch.autograd.graph.register_multi_grad_hook([a, b], lambda gs: calls.append([None if g is None else g.tolist() for g in gs]))
h2 = torch.autograd.graph.register_multi_grad_hook((c, d), lambda g: calls.append(g.tolist()), mode='any')
(c + d).sum().backward(retain_graph=True)
print(calls)
calls.clear()
c.sum().backward(retain_graph=True)
print(calls)
calls.clear()
torch.autograd.grad(d.sum(), b, retain_graph=True)
print(calls)
h1.remove()
h2.remove()
calls.clear()
(c + d).sum().backward()
print(calls)
