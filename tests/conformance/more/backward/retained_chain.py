import torch
x = torch.tensor(1.0, requires_grad=True)
y = x
for i in range(3):
    y = y * (i + 1) + x
    y.retain_grad()
    print(i, y.item(), y.grad, y.is_leaf, y.retains_grad)
y.backward()
print(x.grad, y.grad)
t = torch.tensor(2.0, requires_grad=True)
a = t * t
b = a + t
print(b.grad)
b.backward(retain_graph=True)
print(a.grad)
c = a.detach().requires_grad_()
(c * 3).backward()
print(c.grad, a.grad)
