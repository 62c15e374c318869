import torch
a = torch.ones(2, requires_grad=True)
b = a * 2
print(b._version)
c = b.exp()
d = c.sin()
torch.autograd.graph.increment_version(c)
print(c._version)
try:
    d.sum().backward()
except RuntimeError as e:
    print(e)
torch.autograd.graph.increment_version([a, b])
print(a._version, b._version)
with torch.inference_mode():
    t = torch.ones(2)
try:
    torch.autograd.graph.increment_version(t)
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.graph.increment_version(1)
except Exception as e:
    print(type(e).__name__, e)
