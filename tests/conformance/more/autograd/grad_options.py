import torch
x = torch.tensor([1., 2.], requires_grad=True)
w = torch.tensor([3.], requires_grad=True)
y = (x * 2).sum()
try:
    torch.autograd.grad(y, [x, w], retain_graph=True)
except RuntimeError as e:
    print(e)
print(torch.autograd.grad(y, [x, w], allow_unused=True, retain_graph=True))
print(torch.autograd.grad(y, [x, w], materialize_grads=True, retain_graph=True))
try:
    torch.autograd.grad(y, [x, w], allow_unused=False, materialize_grads=True)
except ValueError as e:
    print(e)
try:
    torch.autograd.grad(y, [x, torch.ones(2)], retain_graph=True)
except RuntimeError as e:
    print(e)
try:
    torch.autograd.grad(y, [])
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad(y, None)
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad(y, 'x')
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad([], x)
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad(1, x)
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad((1,), x)
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad(y, x, 1)
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad(y, x, [torch.tensor(1.), torch.tensor(1.)])
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad(y, x, torch.tensor(1))
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad(y, x, torch.tensor(1., dtype=torch.double), retain_graph=True)
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad(x, x)
except Exception as e:
    print(type(e).__name__, e)
print(torch.autograd.grad(x, x, torch.ones(2)))
try:
    torch.autograd.grad((x > 1), x)
except Exception as e:
    print(type(e).__name__, e)
