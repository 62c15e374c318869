# init all
import torch
from torch import nn
torch.manual_seed(0)
w = torch.empty(3, 5)
print(nn.init.uniform_(w))
print(nn.init.uniform_(w, -1, 2))
print(nn.init.normal_(w))
print(nn.init.normal_(w, 2, 0.1))
print(nn.init.constant_(w, 0.3))
print(nn.init.ones_(w), nn.init.zeros_(w), nn.init.eye_(w))
print(nn.init.xavier_uniform_(w))
print(nn.init.xavier_uniform_(w, gain=nn.init.calculate_gain('relu')))
print(nn.init.xavier_normal_(w))
print(nn.init.kaiming_uniform_(w, mode='fan_in', nonlinearity='relu'))
print(nn.init.kaiming_uniform_(w, a=0.2))
print(nn.init.kaiming_normal_(w, mode='fan_out', nonlinearity='relu'))
print(nn.init.trunc_normal_(w))
print(nn.init.trunc_normal_(w, mean=1., std=2., a=-1., b=3.))
print(nn.init.orthogonal_(w))
print(nn.init.sparse_(w, sparsity=0.3))
for n in ['linear', 'sigmoid', 'tanh', 'relu', 'leaky_relu', 'selu', 'conv2d']:
    print(n, nn.init.calculate_gain(n))
print(nn.init.calculate_gain('leaky_relu', 0.2))
try:
    nn.init.calculate_gain('foo')
except ValueError as e:
    print(e)
try:
    nn.init.xavier_uniform_(torch.empty(3))
except ValueError as e:
    print(e)
try:
    nn.init.kaiming_uniform_(w, mode='foo')
except ValueError as e:
    print(e)
