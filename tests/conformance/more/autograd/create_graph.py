import torch
x = torch.tensor([1., 2.], requires_grad=True)
y = (x ** 3).sum()
y.backward(create_graph=True)
print(x.grad)
g = x.grad
x.grad = None
g.sum().backward()
print(x.grad)
z = (x ** 2).prod()
gx, = torch.autograd.grad(z, x, create_graph=True)
pen = (gx.norm() - 1) ** 2
print(gx, pen)
pen.backward()
print(x.grad)
gx, = torch.autograd.grad((x * 3).sum(), x, create_graph=True)
print(gx, gx.requires_grad)
try:
    torch.autograd.grad(gx.sum(), x)
except RuntimeError as e:
    print(e)
h = torch.stack([torch.autograd.grad(gi, x, retain_graph=True)[0] for gi in torch.autograd.grad((x ** 4).sum(), x, create_graph=True)[0]])
print(h)
