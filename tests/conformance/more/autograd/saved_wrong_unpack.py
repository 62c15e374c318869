import torch
x = torch.ones(3, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: 1, lambda t: t):
    y = x.pow(2)
try:
    y.sum().backward()
except Exception as e:
    print(type(e).__name__, e)
with torch.autograd.graph.saved_tensors_hooks(lambda t: None, lambda t: None):
    y = x.pow(2)
try:
    y.sum().backward()
except Exception as e:
    print(type(e).__name__, e)
try:
    print(y.grad_fn._saved_self)
except Exception as e:
    print(type(e).__name__, e)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t[:2]):
    y = x.pow(2)
try:
    y.sum().backward()
    print(x.grad)
except Exception as e:
    print(type(e).__name__, e)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.double()):
    y = x.pow(2)
try:
    y.sum().backward()
    print(x.grad)
except Exception as e:
    print(type(e).__name__, e)
