import torch
import torch as T
import torch.nn.functional as Fn
from torch import tensor, ones as O, nn as N, no_grad, randn, manual_seed
from torch.autograd import grad as G, backward as B
from torch.nn import Linear, Parameter, MSELoss as Crit
from torch.optim import SGD, Adam
from math import pi, sqrt as root
import numpy as np
print(T.tensor(1), O(2), Fn.relu(tensor([-1., 1.])), round(root(2), 3), round(pi, 4), np.pi == pi)
p = Parameter(tensor([1., 2.]))
print(p, G((p ** 2).sum(), p))
opt = SGD([p], lr=0.5)
B([(p ** 2).sum()])
opt.step()
print(p.data, Crit()(p, O(2)))
with no_grad():
    print((p * 2).requires_grad)
manual_seed(0)
print(randn(2))
