import torch
x = torch.tensor(3., requires_grad=True)
y = x * x
count = 0
def h(g):
    global count
    count += 1
y.register_hook(h)
y.backward(retain_graph=True)
y.backward(retain_graph=True)
print(count, x.grad)
g, = torch.autograd.grad(y, x)
print(count, g)
y2 = x * 4
y2.retain_grad()
y2.register_hook(lambda g: g * 2)
(y2 * 3).backward()
print(y2.grad, x.grad)
