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


torch.manual_seed(191734)
x = torch.randn(3, 3, requires_grad=True)
y = torch.randn(3, 3, requires_grad=True)
p = (torch.rand(3, 3) * 0.8 + 0.1).requires_grad_()
i2 = torch.tensor([[0, 1, 2], [2, 1, 1], [0, 0, 2]])
show(p ** y, y, p)
show(2 ** x, x)
show(0.5 ** x, x)
show(torch.pow(p, 2.5), p)
show(x ** 0, x)
show(torch.float_power(p, 2), p)
show(torch.ldexp(x, i2), x)
