import torch
def bad(t):
    raise ValueError('no packing')
x = torch.ones(3, requires_grad=True)
try:
    with torch.autograd.graph.saved_tensors_hooks(bad, lambda t: t):
        y = x.pow(2)
except ValueError as e:
    print('caught', e)
y = x.pow(2)
y.sum().backward()
print(x.grad)
def bad2(t):
    raise ValueError('no unpacking')
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, bad2):
    y = x.pow(2)
try:
    y.sum().backward()
except ValueError as e:
    print('caught', e)
y.sum().backward()
