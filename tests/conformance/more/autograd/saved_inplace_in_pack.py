import torch
def pack(x):
    x *= 4
    return x
def unpack(x):
    x /= 4
    return x
x = torch.ones(3, requires_grad=True)
try:
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.pow(2)
except RuntimeError as e:
    print(e)
b = torch.ones(3, requires_grad=True) * 2
try:
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = b.pow(2)
except RuntimeError as e:
    print(e)
try:
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = b.exp()
except RuntimeError as e:
    print(e)
