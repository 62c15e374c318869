# taylor all
import torch
x = torch.tensor(0.5, requires_grad=True)
y = torch.sin(x) * torch.exp(-x ** 2)
ds = [y]
for k in range(5):
    ds.append(torch.autograd.grad(ds[-1], x, create_graph=True)[0])
print(ds)
x = torch.linspace(-1, 1, 5, requires_grad=True)
y = torch.tanh(x)
g1, = torch.autograd.grad(y.sum(), x, create_graph=True)
g2, = torch.autograd.grad(g1.sum(), x, create_graph=True)
g3, = torch.autograd.grad(g2.sum(), x, create_graph=True)
print(g1, g2, g3, sep='\n')
