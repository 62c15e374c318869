import torch
import torch.nn.functional as F


def walk(fn, depth):
    if fn is not None and depth < 6:
        print("  " * depth + fn.name())
        for parent, _ in fn.next_functions:
            walk(parent, depth + 1)


def show(out, *inputs):
    print(out)
    walk(out.grad_fn, 1)
    v = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape).requires_grad_()
    grads = torch.autograd.grad(out, inputs, v, create_graph=True, allow_unused=True)
    total = v.sum()
    for g in grads:
        print(g)
        if g is not None and g.requires_grad:
            walk(g.grad_fn, 1)
            total = total + (g * torch.linspace(0.5, 1.5, g.numel(), dtype=g.dtype).reshape(g.shape)).sum()
    for h in torch.autograd.grad(total, inputs, allow_unused=True):
        print(h)


torch.manual_seed(660526)
x = torch.randn(3, 3, requires_grad=True)
y = torch.randn(3, 3, requires_grad=True)
v1 = torch.randn(3, requires_grad=True)
t3 = torch.randn(2, 3, 3, requires_grad=True)
show(x @ y, x, y)
show(x @ y.t(), x, y)
show(x.t() @ y, x, y)
show(x.t() @ y.t(), x, y)
show(x @ v1, x, v1)
show(t3 @ x, x, t3)
show(t3.mT @ t3, t3)
