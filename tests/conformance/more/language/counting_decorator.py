import torch
counter = {"calls": 0}
def count_calls(fn):
    def wrapped(*args, **kwargs):
        counter["calls"] += 1
        return fn(*args, **kwargs)
    return wrapped
@count_calls
def loss_fn(w, *, reg=0.0):
    """squared loss"""
    return (w ** 2).sum() + reg * w.abs().sum()
w = torch.tensor([1.0, -2.0], requires_grad=True)
for reg in (0.0, 0.1, 1.0):
    w.grad = None
    loss_fn(w, reg=reg).backward()
    print(reg, w.grad, counter["calls"])
def apply_n(f, n, x):
    return x if n == 0 else apply_n(f, n - 1, f(x))
print(apply_n(lambda t: t * 2, 5, torch.tensor(1.)), apply_n(torch.sin, 3, torch.tensor(1.)))
def outer():
    total = torch.zeros(())
    def add(v):
        nonlocal total
        total = total + v
        return total
    return add
acc = outer()
for v in (1, 2.5, torch.tensor(3.)): print(acc(v), end=" ")
print()
