import torch
x = torch.ones(3, requires_grad=True)
def printer(g):
    print("g:", g)
    print("mean", g.mean().item())
    return None
x.register_hook(printer)
loss = (x * torch.tensor([1., 2., 3.])).pow(2).sum()
loss.backward()
print(x.grad)
def bad(g):
    raise ValueError("stop here")
x.register_hook(bad)
try:
    (x * 2).sum().backward()
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
def inplace(g):
    g.mul_(2)
z = torch.ones(2, requires_grad=True)
z.register_hook(inplace)
(z * 3).sum().backward()
print(z.grad)
def noarg():
    pass
q = torch.ones(2, requires_grad=True)
q.register_hook(noarg)
try:
    (q * 3).sum().backward()
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
