import torch
x = torch.tensor([1., 2.], requires_grad=True)
f = x[0] ** 2 * x[1] + torch.sin(x[1])
g = torch.autograd.grad(f, x, create_graph=True)[0]
rows = []
for i in range(2):
    rows.append(torch.autograd.grad(g[i], x, retain_graph=True)[0])
H = torch.stack(rows)
print(g, H, torch.allclose(H, H.T))
print(g.grad_fn, g[0].grad_fn)
