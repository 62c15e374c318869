import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
z = y.exp()
log = []
x.register_hook(lambda g: log.append('x hook'))
y.register_hook(lambda g: log.append('y hook'))
z.register_hook(lambda g: log.append('z hook'))
y.grad_fn.register_hook(lambda a, b: log.append('y node post'))
y.grad_fn.register_prehook(lambda a: log.append('y node pre'))
z.grad_fn.register_hook(lambda a, b: log.append('z node post'))
acc = y.grad_fn.next_functions[0][0]
acc.register_prehook(lambda a: log.append('acc pre'))
acc.register_hook(lambda a, b: log.append('acc post'))
x.register_post_accumulate_grad_hook(lambda p: log.append('post acc'))
with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append('pack'), t)[1], lambda t: (log.append('unpack'), t)[1]):
    w = z.sin()
w.register_hook(lambda g: log.append('w hook'))
w.sum().backward()
for l in log:
    print(l)
log.clear()
y = x * 2
y.register_hook(lambda g: log.append('y hook'))
x.register_hook(lambda g: log.append('x hook 2'))
torch.autograd.grad(y.sum(), x)
print(log)
log.clear()
y = x * 2
y.sum().backward(inputs=[x])
print(log)
