# sgd repr
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.SGD([x], lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
print(opt)
print(opt.param_groups)
print(opt.state_dict())
print(opt.defaults)
