import torch
x = torch.tensor([2.], requires_grad=True)
y = x ** 3
n = y.grad_fn
print(n._saved_self, n._saved_exponent)
y.backward()
print(n._saved_exponent)
try:
    n._saved_self
except RuntimeError as e:
    print(e)
z = x.exp()
w = z.sin()
z.add_(1)
try:
    print(w.grad_fn._saved_self)
except RuntimeError as e:
    print(e)
