import torch
torch.manual_seed(0)
a = torch.randn(5, requires_grad=True)
b = torch.randn(5, requires_grad=True)
c = torch.randn(5, requires_grad=True)
def f(a, b, c):
    prod_1 = a * b
    with torch.autograd.graph.save_on_cpu():
        prod_2 = prod_1 * c
    y = prod_2 * a
    return y
y = f(a, b, c)
del a, b, c
print(y.sum() is None)
y.sum().backward()
print(y)
