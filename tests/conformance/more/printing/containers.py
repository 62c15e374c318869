import torch
print([torch.ones(2), torch.zeros(1)], (torch.tensor(1),), {"a": torch.ones(2, 2)}, [[torch.tensor(1.5)]], {1: [torch.tensor([1, 2])]})
w = torch.ones(2, requires_grad=True)
print([w, w * 2], {"w": w.sum()}, (w.detach(), None))
print(torch.nn.Parameter(torch.ones(2)), [torch.nn.Parameter(torch.tensor(1.))])
print(torch.Size([]), torch.Size([1]), torch.ones(2, 3).shape, list(torch.ones(2, 3).shape), [torch.ones(1).shape])
