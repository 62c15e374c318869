import torch
import torch.nn as nn
import torch.autograd.forward_ad as fwAD
from torch.func import functional_call
torch.manual_seed(0)
model = nn.Linear(5, 3)
input = torch.randn(4, 5)
dual_params = {}
with fwAD.dual_level():
    for name, p in model.named_parameters():
        dual_params[name] = fwAD.make_dual(p, torch.rand_like(p))
    out = functional_call(model, dual_params, input)
    jvp2 = fwAD.unpack_dual(out).tangent
print(jvp2)
print(out.shape)
