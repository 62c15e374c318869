import torch
x = torch.tensor([1., 2., 3.], requires_grad=True)
def mk(name):
    def p(t):
        print('pack', name)
        return t
    def u(t):
        print('unpack', name)
        return t
    return p, u
with torch.autograd.graph.saved_tensors_hooks(*mk('outer')):
    a = x * x
    with torch.autograd.graph.saved_tensors_hooks(*mk('inner')):
        b = a * x
    c = b * x
d = c * x
d.sum().backward()
print(x.grad)
