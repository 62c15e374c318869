import torch
import torch.nn as nn
import torch.nn.functional as F

x = torch.tensor(
    [
        [[[1.0, 2.0], [3.0, 5.0]], [[0.0, 4.0], [2.0, -2.0]], [[7.0, 1.0], [1.0, 3.0]], [[2.0, 2.0], [6.0, -4.0]]],
        [[[0.5, 1.5], [-1.0, 2.0]], [[3.0, 3.0], [1.0, 0.0]], [[-2.0, 4.0], [5.0, 1.0]], [[0.0, 8.0], [4.0, 2.0]]],
    ],
    dtype=torch.float64,
    requires_grad=True,
)
weights = torch.linspace(-1, 1, x.numel(), dtype=torch.float64).reshape(x.shape)

for layer in (
    nn.GroupNorm(2, 4, dtype=torch.float64),
    nn.GroupNorm(4, 4, eps=0.1, affine=False),
    nn.InstanceNorm2d(4, affine=True, dtype=torch.float64),
    nn.BatchNorm2d(4, dtype=torch.float64),
    nn.RMSNorm(2, dtype=torch.float64),
    nn.LocalResponseNorm(2, alpha=0.5),
    nn.LayerNorm([4, 2, 2], dtype=torch.float64),
):
    print(layer)
    print(list(layer.state_dict()))
    y = layer(x)
    print(y[0, 1], y.grad_fn.name())
    x.grad = None
    (y * weights).sum().backward()
    print(x.grad[1, 2])
    for name, p in layer.named_parameters():
        print(name, p.grad)

# running figures
norm = nn.BatchNorm2d(4, momentum=0.5, dtype=torch.float64)
for _ in range(3):
    norm(x)
print(norm.running_mean, norm.running_var, norm.num_batches_tracked, sep="\n")
norm.eval()
print(norm(x)[1, 3])

# second derivatives
(g,) = torch.autograd.grad((F.group_norm(x, 2) ** 3).sum(), x, create_graph=True)
(h,) = torch.autograd.grad((g * weights).sum(), x)
print(g[0, 0], h[0, 0], sep="\n")
(g,) = torch.autograd.grad((F.rms_norm(x, (2,)) ** 3).sum(), x, create_graph=True)
print(g.grad_fn, torch.autograd.grad((g * weights).sum(), x)[0][0, 0])

for call in (
    lambda: nn.GroupNorm(3, 4),
    lambda: F.group_norm(x, 3),
    lambda: nn.BatchNorm2d(4)(torch.zeros(2, 4)),
    lambda: nn.BatchNorm2d(4)(torch.zeros(1, 4, 1, 1)),
    lambda: nn.InstanceNorm2d(4)(torch.zeros(2, 4, 1, 1)),
    lambda: nn.RMSNorm(3)(torch.zeros(2, 4)),
    lambda: nn.InstanceNorm1d(4, affine=True)(torch.zeros(2, 3, 5)),
):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)
