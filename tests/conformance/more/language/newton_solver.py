import torch
def newton(f, x0, tol=1e-6, maxiter=20, verbose=False):
    x = torch.tensor(float(x0), requires_grad=True)
    for it in range(maxiter):
        fx = f(x)
        if verbose:
            print(f"  iter {it:2d}: x = {x.item():+.6f}, f(x) = {fx.item():+.3e}")
        if abs(fx.item()) < tol:
            return x.item(), it
        (g,) = torch.autograd.grad(fx, x)
        if g == 0:
            raise ZeroDivisionError("derivative vanished at x = {}".format(x.item()))
        x = (x - fx / g).detach().requires_grad_()
    raise RuntimeError(f"no convergence after {maxiter} iterations")
print(newton(lambda x: x ** 2 - 2, 1, verbose=True))
print(newton(lambda x: torch.cos(x) - x, 0.5))
for f, x0 in [(lambda x: x ** 2 + 1, 0.0), (lambda x: torch.exp(x), 0.)]:
    try:
        print(newton(f, x0))
    except (ZeroDivisionError, RuntimeError) as exc:
        print(type(exc).__name__, "-", exc)
