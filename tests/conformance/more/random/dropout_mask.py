import torch
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.ones(8, requires_grad=True)
y = F.dropout(x, p=0.5)
print(y)
y.sum().backward()
print(x.grad, (x.grad == y).all())
print(F.dropout(x, 0.5, training=False) is x, F.dropout(x, 0.0).grad_fn)
