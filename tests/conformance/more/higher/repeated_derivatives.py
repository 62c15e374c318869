import torch
def fn(x):
    return x ** 4 + 3 * x ** 2 - 2 * x
x = torch.tensor(1.5, requires_grad=True, dtype=torch.double)
grads = []
g = fn(x)
for order in range(1, 6):
    g = torch.autograd.grad(g, x, create_graph=True)[0]
    grads.append(g.item())
    print(f"{order}-th derivative: {g.item():.6f} {g.requires_grad} {g.grad_fn}")
print(grads)
try:
    torch.autograd.grad(g, x)
except RuntimeError as err:
    print("RuntimeError:", err)
