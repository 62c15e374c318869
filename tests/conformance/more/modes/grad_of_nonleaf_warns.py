import torch
x = torch.tensor([2.], requires_grad=True)
y = x * 2
print(y.grad)
print(y.grad)
y.backward()
print(y.grad)
a = y.detach()
print(a.grad)
