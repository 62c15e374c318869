import torch
print(torch.autograd.is_multithreading_enabled())
with torch.autograd.set_multithreading_enabled(False):
    print(torch.autograd.is_multithreading_enabled())
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    print(x.grad)
print(torch.autograd.is_multithreading_enabled())
torch.autograd.grad_mode.set_multithreading_enabled(False)
print(torch.autograd.is_multithreading_enabled())
torch.autograd.set_multithreading_enabled(True)
print(torch.autograd.is_view_replay_enabled())
