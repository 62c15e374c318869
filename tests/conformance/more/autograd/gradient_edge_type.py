import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge, Node
x = torch.tensor([1., 2.], requires_grad=True)
y = x.exp()
print(isinstance(y.grad_fn, Node), isinstance(x, Node), isinstance(y.grad_fn.next_functions[0][0], Node))
print(Node)
e = GradientEdge(y.grad_fn, 0)
print(e == get_gradient_edge(y), e.ownership_token)
node, nr, own = e
print(node is y.grad_fn, nr, own)
print(torch.autograd.grad(y.sum(), e))
try:
    torch.autograd.grad(y, x, grad_outputs=torch.ones(3))
except RuntimeError as err:
    print(err)
y = x.exp()
try:
    torch.autograd.grad(get_gradient_edge(y), x)
except RuntimeError as err:
    print(err)
print(torch.autograd.grad(get_gradient_edge(y), x, torch.ones(2)))
y = x.exp()
z = torch.ones(2, requires_grad=True).exp()
try:
    torch.autograd.grad(y.sum(), get_gradient_edge(z))
except RuntimeError as err:
    print(err)
print(torch.autograd.grad(y.sum(), [x, get_gradient_edge(z)], allow_unused=True))
y = x.exp()
try:
    torch.autograd.grad(y.sum(), [x, get_gradient_edge(z)], materialize_grads=True)
except Exception as err:
    print(type(err).__name__, err)
