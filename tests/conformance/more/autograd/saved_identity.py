import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
kept = []
def pack(t):
    kept.append(t)
    print(t is x, t is y)
    return t
with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    z = y * x
    w = z.exp()
print(kept[2] is w, kept[2].grad_fn is w.grad_fn)
print(z.grad_fn._saved_other is x, z.grad_fn._saved_self is y)
print(w.grad_fn._saved_result is w, w.grad_fn._saved_result)
w.sum().backward()
print(x.grad)
