import torch
x = torch.tensor([1., 2.], requires_grad=True)
y = x * 3
h = y.register_hook(lambda g: print("y grad", g))
h2 = x.register_hook(lambda g: g * 10)
z = y.sum()
z.backward()
print(x.grad)
h.remove(); h2.remove()
x.grad = None
(x * 3).sum().backward()
print(x.grad)
print(h)
h.remove()
