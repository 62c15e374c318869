# hook grads
import torch
x = torch.tensor([1., 2.], requires_grad=True)
y = x * 2
y.retain_grad()
y.register_hook(lambda g: g * 10)
h = x.register_hook(lambda g: print('x', g))
y.sum().backward()
print(y.grad, x.grad)
h.remove()
y2 = x ** 2
y2.register_hook(lambda g: None)
y2.sum().backward()
print(x.grad)
x.register_hook(lambda g: torch.ones(3))
(x * 1).sum().backward()
