import torch
print(type(torch.ones(1)), type(torch.ones(1)).__name__, torch.Tensor, torch.float32, type(torch.float32), type(torch.Size([1])).__name__, type(torch.nn.Parameter(torch.ones(1))))
print(int, float, str, list, dict, type(None), type(print), type(lambda: 1), ValueError, type(ValueError("x")))
print(torch.no_grad, torch.enable_grad, torch.no_grad(), torch.optim.SGD, torch.nn.Linear, torch.linalg.LinAlgError)
print(torch.ones(2, requires_grad=True).register_hook(lambda g: g), torch.autograd.set_detect_anomaly(False))
