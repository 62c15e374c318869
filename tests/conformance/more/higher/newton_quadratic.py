import torch
A = torch.tensor([[2., 1.], [1., 3.]])
b = torch.tensor([1., -1.])
x = torch.zeros(2, requires_grad=True)
quad = lambda v: 0.5 * v @ A @ v - b @ v
g = torch.autograd.grad(quad(x), x)[0]
H = torch.autograd.functional.hessian(quad, x)
print(g, H, torch.equal(H, A))
step = torch.linalg.solve(H, -g)
with torch.no_grad():
    x += step
print(x, quad(x).item())
print(torch.autograd.grad(quad(x), x)[0].abs().max() < 1e-6)
