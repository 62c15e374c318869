import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
for f in [lambda: setattr(y, "requires_grad", True), lambda: setattr(y, "requires_grad", False), lambda: setattr(x, "requires_grad", 1), lambda: torch.arange(3).requires_grad_(), lambda: y.requires_grad_(False), lambda: y.requires_grad_().requires_grad, lambda: torch.tensor([True], requires_grad=True)]:
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__ + ": " + str(e))
