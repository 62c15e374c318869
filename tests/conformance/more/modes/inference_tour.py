import torch
x = torch.ones(2, requires_grad=True)
with torch.inference_mode():
    y = x * 2
    print(y, y.requires_grad, y.is_inference(), torch.is_inference_mode_enabled(), torch.is_grad_enabled())
    z = x.view(2)
    z2 = torch.zeros(2)
print(z.is_inference(), z2.is_inference())
try:
    y.requires_grad_(True)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    y.sum().backward()
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    (x * y).sum().backward()
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(y + 1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(y.data)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    y.mul_(2)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    y[0] = 3
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(y._version)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    x.add_(y)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(y.detach(), y.detach().is_inference())
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print((y * x))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    w = y.clone(); print(w.requires_grad_(), w.is_inference())
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.inference_mode())
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
with torch.inference_mode(mode=False):
    print((x * 2).requires_grad)
try:
    x.grad = y
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
