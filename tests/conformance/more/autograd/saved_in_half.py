import torch
class_names = []
def pack_half(t):
    class_names.append(t.dtype)
    return t.to(torch.float16) if t.dtype == torch.float32 else t
def unpack_half(t):
    return t.to(torch.float32) if t.dtype == torch.float16 else t
x = torch.linspace(0.1, 1, 5, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack_half, unpack_half):
    y = (x.sin() * x.exp()).sum()
y.backward()
print(x.grad)
print(class_names)
