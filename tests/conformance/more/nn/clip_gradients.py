# clip gradients
import torch
from torch import nn
torch.manual_seed(0)
m = nn.Linear(3, 2)
x = torch.randn(5, 3)
(m(x) ** 2).sum().backward()
print(m.weight.grad, m.bias.grad)
print(nn.utils.clip_grad_norm_(m.parameters(), 1.0))
print(m.weight.grad, m.bias.grad)
print(nn.utils.clip_grad_norm_(m.parameters(), max_norm=0.5, norm_type=float('inf')))
print(m.weight.grad, m.bias.grad)
print(nn.utils.clip_grad_value_(m.parameters(), 0.1))
print(m.weight.grad, m.bias.grad)
print(torch.nn.utils.clip_grad_norm_(m.weight, 0.1, norm_type=1))
m.weight.grad[0, 0] = float('nan')
print(nn.utils.clip_grad_norm_(m.parameters(), 1.0))
try:
    nn.utils.clip_grad_norm_(m.parameters(), 1.0, error_if_nonfinite=True)
except RuntimeError as e:
    print(e)
print(nn.utils.clip_grad_norm_([], 1.0))
print(nn.utils.parameters_to_vector(m.parameters()))
v = torch.arange(8.)
nn.utils.vector_to_parameters(v, m.parameters())
print(m.weight, m.bias)
print(nn.utils.get_total_norm([torch.ones(3), torch.ones(4)]))
