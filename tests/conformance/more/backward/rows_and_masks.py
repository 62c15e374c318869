import torch
m = torch.arange(12, dtype=torch.float32).reshape(3, 4).requires_grad_(True)
rows = m.unbind(0)
print(len(rows), rows[0].grad_fn)
s = sum(r.sum() * (i + 1) for i, r in enumerate(rows))
s.backward()
print(m.grad)
m.grad = None
top, *rest = m
print(top.shape, len(rest))
(top.sum() + rest[-1].prod()).backward()
print(m.grad)
m.grad = None
first, last = m[0], m[-1]
torch.stack([first, last]).mean(0).max().backward()
print(m.grad)
m.grad = None
for a, b in zip(m[:-1], m[1:]):
    ((b - a) ** 2).sum().backward()
print(m.grad)
m.grad = None
mask = m > 5
m[mask].sum().backward()
print(m.grad, mask.sum().item())
m.grad = None
torch.where(mask, m, -m).sum().backward()
print(m.grad)
