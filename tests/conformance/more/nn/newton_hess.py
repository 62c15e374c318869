# newton hess
import torch
def f(x): return (x[0] - 1) ** 4 + (x[1] + 2) ** 2 * 3 + x[0] * x[1]
x = torch.tensor([3.0, 1.0])
for i in range(6):
    g = torch.func.grad(f)(x)
    H = torch.func.hessian(f)(x)
    x = x - torch.linalg.solve(H, g)
    print(i, x, f(x))
print(torch.linalg.eigvalsh(H))
