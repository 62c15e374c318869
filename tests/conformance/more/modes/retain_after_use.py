import torch
x = torch.tensor(2., requires_grad=True)
y = x ** 2
z = y * 3
z.backward()
print(x.grad)
print(y.grad)
y.retain_grad()
try:
    z.backward()
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
