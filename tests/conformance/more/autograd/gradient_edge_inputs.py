import torch
from torch.autograd.graph import get_gradient_edge
x = torch.tensor([1., 2.], requires_grad=True)
def f(x):
    y = x * 2
    return get_gradient_edge(y), (y * y).sum()
e, out = f(x)
print(torch.autograd.grad(out, e))
e, out = f(x)
torch.autograd.backward(out, inputs=[e, x])
print(x.grad)
e, out = f(x)
print(torch.autograd.grad([e], [x], [torch.tensor([1., 10.])]))
mx = torch.rand(3, 3, requires_grad=True).max(0)
ee = get_gradient_edge(mx.values)
print(ee.node.name(), ee.output_nr, len(ee), ee[1])
try:
    get_gradient_edge(mx.indices)
except RuntimeError as err:
    print(err)
try:
    get_gradient_edge(3)
except AttributeError as err:
    print(err)
print(ee == get_gradient_edge(mx.values), ee != e)
try:
    ee.node = None
except AttributeError as err:
    print(err)
a, b = e.node, e.output_nr
print(type(a).__name__, b)
