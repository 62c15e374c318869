import torch
a = torch.tensor([0., 0., 0.], requires_grad=True)
b = a.clone()
h = b.grad_fn.register_hook(lambda gI, gO: (gO[0] * 2,))
b.sum().backward(retain_graph=True)
print(a.grad)
h.remove()
a.grad = None
b.sum().backward(retain_graph=True)
print(a.grad)
h = b.grad_fn.register_prehook(lambda gO: (gO[0] * 3,))
a.grad = None
b.sum().backward(retain_graph=True)
print(a.grad)
h.remove()
try:
    b.grad_fn.register_hook(lambda gI, gO: (gO[0], gO[0]))
    b.sum().backward()
except RuntimeError as e:
    print(e)
x = torch.ones(2, requires_grad=True)
y = x * 2
acc = y.grad_fn.next_functions[0][0]
acc.register_hook(lambda gi, go: print('acc', gi, go))
acc.register_prehook(lambda go: print('pre', go))
y.sum().backward()
print(x.grad)
