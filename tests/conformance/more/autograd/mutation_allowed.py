import torch
a = torch.ones(2, requires_grad=True)
with torch.autograd.graph.allow_mutation_on_saved_tensors() as ctx:
    b = a.clone()
    out = b ** 2
    b.mul_(3)
    c = b * b
    b.zero_()
    print(type(ctx).__name__)
    (out + c).sum().backward()
    print(a.grad)
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    b = a.clone()
    out = b ** 2
    b.mul_(3)
try:
    out.sum().backward()
except Exception as e:
    print(type(e).__name__, e)
try:
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            pass
except Exception as e:
    print(type(e).__name__, e)
