import torch
grads = {}
def save(name):
    def hook(g):
        grads[name] = g
    return hook
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
c = a * b; c.register_hook(save("c"))
d = c.sin(); d.register_hook(save("d"))
e = d * c; e.register_hook(save("e"))
e.backward()
for k, v in grads.items():
    print(k, v)
print(list(grads))
