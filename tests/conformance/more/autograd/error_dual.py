import torch
import torch.autograd.forward_ad as fwAD
with fwAD.dual_level():
    a = fwAD.make_dual(torch.ones(2), torch.ones(3))
