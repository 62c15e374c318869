import torch
# Taylor series with autograd
def taylor(f, x0, n):
    x = torch.tensor(float(x0), requires_grad=True, dtype=torch.float64)
    coeffs = []
    y = f(x)
    fact = 1
    for k in range(n + 1):
        coeffs.append(y.item() / fact)
        if k < n:
            (y,) = torch.autograd.grad(y, x, create_graph=True)
            fact *= k + 1
    return coeffs
print(taylor(torch.exp, 0, 5))
print([round(c, 6) for c in taylor(lambda t: torch.sin(t) * torch.exp(t), 0, 4)])
def evaluate(cs, h): return sum(c * h ** k for k, c in enumerate(cs))
print(f"{evaluate(taylor(torch.cos, 0, 8), 0.5):.10f} {torch.cos(torch.tensor(0.5, dtype=torch.float64)):.10f}")
