import torch
x = torch.tensor([1., 2., 3.])
try:
    x.backward()
except RuntimeError as e:
    print(e)
x.requires_grad = True
try:
    x.backward()
except RuntimeError as e:
    print(e)
try:
    x.sum().backward(torch.tensor([1., 2.]))
except RuntimeError as e:
    print(e)
y = x.sum()
y.backward()
try:
    y.backward()
    print("no error", x.grad)
except RuntimeError as e:
    print(e)
z = x.pow(2).sum()
z.backward()
try:
    z.backward()
except RuntimeError as e:
    print(e)
with torch.no_grad():
    q = x * 2
try:
    q.sum().backward()
except RuntimeError as e:
    print(e)
try:
    q.grad_fn.next_functions
except AttributeError as e:
    print(e)
print(q.grad, q.grad_fn)
try:
    torch.autograd.grad(z, x)
except RuntimeError as e:
    print(str(e).split(".")[0])
try:
    torch.autograd.grad(x.sum(), torch.ones(3, requires_grad=True))
except RuntimeError as e:
    print(e)
w = torch.tensor([1, 2, 3])
try:
    w.requires_grad_()
except RuntimeError as e:
    print(e)
