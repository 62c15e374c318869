import torch
a = torch.tensor([1., 2.], requires_grad=True)
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    x = a * 1
    y = x * x
    x.fill_(0)
    z = x.exp()
    z.mul_(3)
    w = y.sin()
    y += 1
    (y.sum() + z.sum() + w.sum()).backward()
print(a.grad)
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    x = a * 2
    v = x[:1]
    o = (x ** 2).sum()
    v.zero_()
    a.grad = None
    o.backward()
print(a.grad)
