# normal noncontig
import torch
torch.manual_seed(0)
x = torch.empty(4, 6).t()
x.normal_()
print(x)
y = torch.empty(6, 6)[:, ::2]
y.uniform_()
print(y)
z = torch.empty(20, 2)[:, 0]
z.normal_()
print(z)
z.exponential_(2.0)
print(z)
