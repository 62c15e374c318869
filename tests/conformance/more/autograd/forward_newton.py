import torch
import torch.autograd.forward_ad as fwAD
def f(x):
    return x ** 3 - 2 * x - 5
x = torch.tensor(2.)
for i in range(5):
    with fwAD.dual_level():
        y, dy = fwAD.unpack_dual(f(fwAD.make_dual(x, torch.tensor(1.))))
    x = x - y / dy
    print(i, x.item(), y, dy)
