import torch
a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
torch.autograd.graph.register_multi_grad_hook((a, b), lambda gs: print("all", gs))
torch.autograd.graph.register_multi_grad_hook((a, b), lambda g: print("any", g), mode="any")
(a * b * 2).sum().backward()
a.sum().backward()
