import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
fn = y.grad_fn
h = fn.register_hook(lambda gi, go: print("node hook", gi, go))
p = fn.register_prehook(lambda go: print("pre", go))
y.sum().backward()
print(x.grad)
h.remove(); p.remove()
y = x.exp()
y.grad_fn.register_hook(lambda gi, go: (gi[0] * 2,))
y.sum().backward()
print(x.grad)
acc = (x * 1).grad_fn.next_functions[0][0]
acc.register_hook(lambda gi, go: print("acc", gi, go))
acc.register_prehook(lambda go: print("accpre", go))
(x * 1).sum().backward()
