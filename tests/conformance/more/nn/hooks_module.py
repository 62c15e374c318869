# hooks module
import torch
from torch import nn
torch.manual_seed(0)
m = nn.Linear(2, 2)
def fh(mod, inp, out):
    print('forward', type(mod).__name__, inp, out.shape)
def ph(mod, inp):
    print('pre', inp)
h = m.register_forward_hook(fh)
m.register_forward_pre_hook(ph)
m.weight.register_hook(lambda g: print('wgrad', g))
y = m(torch.ones(1, 2))
y.sum().backward()
h.remove()
m(torch.zeros(1, 2))
