import torch
store = {}
def pack(t):
    name = f'tensor_{len(store)}'
    store[name] = t.detach().clone()
    return name
def unpack(name):
    print('load', name)
    return store[name]
x = torch.randn(3, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = x.pow(2).sum()
    z = x.exp() * y
print(sorted(store))
z.sum().backward()
print(torch.allclose(x.grad, x.exp() * y + 2 * x * x.exp().sum()))
