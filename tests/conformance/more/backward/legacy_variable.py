import torch
from torch.autograd import Variable, grad
x = Variable(torch.ones(2, 2), requires_grad=True)
print(x)
y = x + 2
print(y)
print(y.grad_fn)
z = y * y * 3
out = z.mean()
print(z, out)
out.backward()
print(x.grad)
v = grad((x**3).sum(), x)
print(v, type(v), len(v))
