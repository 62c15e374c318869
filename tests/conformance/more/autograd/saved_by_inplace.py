import torch
def pack(t):
    print('pack', t)
    return t
def unpack(t):
    print('unpack', t)
    return t
x = torch.tensor([1., 2.], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = x * 1
    y.mul_(x)
    print('mul_')
    y.exp_()
    print('exp_')
    y.sigmoid_()
    print('sig_')
    y.add_(1)
    y[0] = 5.
    print('setitem')
    y[torch.tensor([1])] = 2.
    print('index put')
    z = y[:1]
    z.mul_(3)
    print('view mul')
    w = x.clone().pow_(2)
    print('pow_')
    (y.sum() + w.sum()).backward()
print(x.grad)
