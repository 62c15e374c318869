import torch
x = torch.tensor([1., 2.], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: (print('pack', t), t)[1], lambda t: (print('unpack', t), t)[1]):
    y = x ** 3
g, = torch.autograd.grad(y.sum(), x, create_graph=True)
print(g)
h, = torch.autograd.grad(g.sum(), x)
print(h)
with torch.autograd.graph.saved_tensors_hooks(lambda t: (print('pack', t), t)[1], lambda t: (print('unpack', t), t)[1]):
    y = torch.exp(x)
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
print(g)
h, = torch.autograd.grad(g.sum(), x)
print(h)
