import torch
n = 0
def pack(t):
    global n
    n += 1
    return t
with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    x = torch.ones(2)
    y = x * x
    with torch.no_grad():
        z = torch.ones(2, requires_grad=True)
        w = z * z
    v = z.detach() * z
    print(n)
    print(torch.is_grad_enabled())
def pack2(t):
    print(torch.is_grad_enabled(), t.requires_grad, (t * 2).requires_grad)
    return t * 2
def unpack2(t):
    print(torch.is_grad_enabled(), t.requires_grad)
    return t / 2
with torch.autograd.graph.saved_tensors_hooks(pack2, unpack2):
    y = z ** 2
g, = torch.autograd.grad(y.sum(), z)
print(g)
with torch.autograd.graph.saved_tensors_hooks(pack2, unpack2):
    y = z ** 2
g, = torch.autograd.grad(y.sum(), z, create_graph=True)
print(g)
print(y.grad_fn._saved_self)
