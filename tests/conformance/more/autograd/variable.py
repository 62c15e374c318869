import torch
from torch.autograd import Variable
x = Variable(torch.ones(2, 2), requires_grad=True)
print(x)
y = x + 2
print(y)
print(isinstance(x, Variable), isinstance(torch.ones(1), Variable))
z = y * y * 3
out = z.mean()
print(z, out)
out.backward()
print(x.grad)
print(Variable)
print(type(x))
v = Variable(torch.ones(2), True)
print(v.requires_grad, v.volatile if hasattr(v, 'volatile') else 'none')
u = torch.autograd.variable.Variable(torch.ones(1))
print(u)
w = Variable(torch.Tensor([1, 2, 3]), requires_grad=False)
print(w.data)
try:
    Variable(3)
except Exception as e:
    print(type(e).__name__, e)
print(Variable())
