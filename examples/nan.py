import torch

x = torch.tensor([0.0, 4.0], requires_grad=True)
y = torch.where(x > 0, x.sqrt(), torch.zeros(2))
y.sum().backward()
print(x.grad)
