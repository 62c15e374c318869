import torch
x = torch.ones(2, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: 'kept', lambda t: t):
    y = x * x
y.sum().backward()
