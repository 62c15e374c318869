import torch
def print_grad(name):
    def hook(grad):
        print(f"{name}: {grad}")
    return hook
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(5.0, requires_grad=True)
z = x * y; z.register_hook(print_grad("z"))
w = z.log(); w.register_hook(print_grad("w"))
u = w + x ** 2; u.register_hook(print_grad("u"))
u.backward()
print(x.grad, y.grad)
print(f"{x.grad:.4f} {y.grad:.4f}")
