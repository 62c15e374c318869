import torch
SIZE = 4
def pack(t):
    if t.numel() < SIZE:
        return t
    return ('big', t.clone())
def unpack(p):
    if isinstance(p, torch.Tensor):
        return p
    kind, t = p
    print(kind, t.shape)
    return t
a = torch.ones(3, requires_grad=True)
b = torch.ones(6, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = (a * a).sum() + (b * b * b).sum()
y.backward()
print(a.grad, b.grad)
