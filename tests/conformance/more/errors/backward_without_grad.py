import torch
x = 3
y = x ** 2
print(y)
z = torch.tensor(2.0)
w = z * y
print(w)
w.backward()
