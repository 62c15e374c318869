import torch
w = torch.tensor([3., -4.], requires_grad=True)
log = []
w.register_hook(lambda g: log.append(g.norm().item()))
w.register_hook(lambda g: g / max(1.0, g.norm().item()))
for i in range(3):
    w.grad = None
    (w ** 2).sum().backward()
    with torch.no_grad():
        w -= w.grad
    print(w, round(w.grad.norm().item(), 4))
print([round(v, 4) for v in log])
