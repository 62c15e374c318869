# functional call
import torch
from torch import nn
from torch.func import functional_call, grad, vmap
torch.manual_seed(0)
m = nn.Linear(2, 1)
params = dict(m.named_parameters())
x = torch.randn(4, 2)
y = torch.randn(4, 1)
print(functional_call(m, params, (x,)))
zeros = {k: torch.zeros_like(v) for k, v in params.items()}
print(functional_call(m, zeros, x))
def loss(p, xi, yi):
    return ((functional_call(m, p, (xi,)) - yi) ** 2).mean()
d = {k: v.detach() for k, v in params.items()}
g = grad(loss)(d, x, y)
print(g)
per = vmap(grad(loss), in_dims=(None, 0, 0))(d, x, y)
print({k: v.shape for k, v in per.items()})
print(per['weight'])
