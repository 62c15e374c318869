import torch
x = torch.tensor([1., 2.], requires_grad=True)
y = x ** 2
def hook(grad):
    return grad.clamp(max=0.5)
y.register_hook(hook)
y.register_hook(lambda g: g + 1)
y.sum().backward()
print(x.grad)
try:
    torch.ones(2).register_hook(print)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
with torch.no_grad():
    z = x * 2
try:
    z.register_hook(print)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    y.register_hook(5)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
w = torch.ones(2, requires_grad=True)
w.register_hook(lambda g: "bad")
try:
    (w * 2).sum().backward()
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
v = torch.ones(2, requires_grad=True)
v.register_hook(lambda g: torch.ones(3))
try:
    (v * 2).sum().backward()
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
u = torch.ones(2, requires_grad=True)
u.register_hook(lambda g: g.double())
try:
    (u * 2).sum().backward()
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
print(u.grad)
