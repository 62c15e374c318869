import torch
from torch import nn
from torch.func import stack_module_state, functional_call, vmap
torch.manual_seed(0)
models = [nn.Linear(3, 2) for _ in range(4)]
data = torch.randn(5, 3)
params, buffers = stack_module_state(models)
print({k: v.shape for k, v in params.items()}, buffers)
print(params['bias'].requires_grad, params['bias'].is_leaf, type(params['bias']).__name__)
def wrapper(params, buffers, data):
    return functional_call(models[0], (params, buffers), data)
out = vmap(wrapper, (0, 0, None))(params, buffers, data)
print(out.shape)
print(out[1])
print(models[1](data))
try:
    stack_module_state([])
except Exception as e:
    print(type(e).__name__, e)
try:
    stack_module_state([nn.Linear(2, 2), nn.ReLU()])
except Exception as e:
    print(type(e).__name__, e)
models[0].eval()
try:
    stack_module_state(models)
except Exception as e:
    print(type(e).__name__, e)
