import torch
def grad_check(f, x, eps=1e-3):
    x = x.clone().detach().requires_grad_(True)
    f(x).backward()
    num = torch.zeros_like(x)
    for i in range(x.numel()):
        d = torch.zeros_like(x)
        d[i] = eps
        num[i] = (f(x.detach() + d) - f(x.detach() - d)) / (2 * eps)
    return x.grad, num, (x.grad - num).abs().max().item()
x = torch.tensor([0.3, -0.7, 1.2], dtype=torch.float64)
for label, f in (("sum of squares", lambda v: (v ** 2).sum()), ("prod", torch.prod), ("lse", lambda v: v.logsumexp(0)), ("norm", torch.norm)):
    a, n, err = grad_check(f, x)
    print(label.ljust(15, "."), [f"{v:.4f}" for v in a.tolist()], err < 1e-5)
print(torch.autograd.gradcheck(lambda v: (v ** 3).sum(), (x.requires_grad_(),)))
