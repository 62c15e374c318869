import torch
import torch.nn.functional as F

x = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
for target in (torch.tensor(1), torch.tensor([1])):
    for reduction in ("mean", "sum", "none"):
        loss = F.nll_loss(x, target, reduction=reduction)
        print(loss)
        if target.dim() == 0:
            print(torch.autograd.grad(loss, x))
print(F.cross_entropy(x, torch.tensor([2])))
try:
    F.nll_loss(x, torch.tensor([0, 1, 2]))
except ValueError as e:
    print(e)
y = torch.randn(3, 4, requires_grad=True)
loss = F.cross_entropy(y, torch.tensor([0, 3, 1]), ignore_index=3)
print(torch.autograd.grad(loss, y)[0] == 0)
