import torch
x = torch.tensor([1., 2.], requires_grad=True)
x.register_hook(lambda g: 5)
try:
    (x * 2).sum().backward()
except Exception as e:
    print(type(e).__name__, e)
y = torch.tensor([1., 2.], requires_grad=True)
h = y.register_hook(lambda g: g[:1])
try:
    (y * 2).sum().backward()
except Exception as e:
    print(type(e).__name__, e)
h.remove()
def pre(g):
    print('pre', g)
    return (g[0] * 10,)
def post(gi, go):
    print('post', gi, go)
z = (y * 2)
z.grad_fn.register_prehook(pre)
z.grad_fn.register_hook(post)
z.sum().backward()
print(y.grad)
try:
    z.grad_fn.register_hook(1)
except Exception as e:
    print(type(e).__name__, e)
try:
    y.register_hook(1)
    (y * 2).sum().backward()
except Exception as e:
    print(type(e).__name__, e)
