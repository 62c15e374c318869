# vmap control
import torch
f = torch.func.vmap(lambda x: x if x > 0 else -x)
f(torch.tensor([1., -2.]))
