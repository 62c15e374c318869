import torch
import torch.nn.functional as F

x = torch.tensor([0.5, -1.0], requires_grad=True)
t = torch.tensor([0.2, 0.8])
w = torch.tensor([1.0, 2.0], requires_grad=True)
for more in ({"weight": w}, {"pos_weight": w}):
    try:
        F.binary_cross_entropy_with_logits(x, t, **more)
    except RuntimeError as e:
        print(e)
print(F.binary_cross_entropy_with_logits(x, t, pos_weight=w.detach()))
q = t.clone().requires_grad_()
p = torch.tensor([0.0, 1.0])
loss = F.binary_cross_entropy(p, q, reduction="none")
print(loss, torch.autograd.grad(loss.sum(), q))
print(F.mse_loss(torch.zeros(0), torch.zeros(0), reduction="sum"))
