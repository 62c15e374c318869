import torch
x = torch.tensor([1., 2., 3.], requires_grad=True)
# forgetting things
y = x.sum()
y.backward()
y2 = x.sum()
y2.backward()
print("accumulated", x.grad)
x.grad.data.zero_()
print("zeroed", x.grad)
y = (x*x)
try:
    y.backward()
except RuntimeError as e:
    print("Oops!", e)
y.sum().backward()
print(x.grad)
try:
    y.sum().backward()
except RuntimeError as e:
    print("Second time:", str(e)[:60], "...")
x = torch.tensor([1., 2.])
try:
    (x * 2).sum().backward()
except RuntimeError as e:
    print(type(e), e)
x = torch.arange(3)
try:
    x.requires_grad = True
except RuntimeError as e:
    print(e)
w = torch.tensor([1.], requires_grad=True)
w = w - 0.1 * 2
print(w.grad, w.is_leaf)
