import torch
x = torch.ones(3, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: (print('pack'), t)[1], lambda t: (print('unpack'), t)[1]):
    y = x.exp().sin()
y.sum().backward(retain_graph=True)
print('again')
y.sum().backward()
print(x.grad)
try:
    y.sum().backward()
except RuntimeError as e:
    print(e)
