import torch
params = {'w': torch.tensor([1., 2.], requires_grad=True), 'b': torch.tensor(3., requires_grad=True)}
loss = (params['w'] * params['b']).sum()
g = torch.autograd.grad(loss, params, retain_graph=True)
print(g)
print(torch.autograd.grad(loss, list(params.values()), retain_graph=True))
loss.backward(inputs=params)
print({k: v.grad for k, v in params.items()})
loss = (params['w'] * params['b']).sum()
torch.autograd.backward(loss, inputs=params['w'])
print(params['w'].grad, params['b'].grad)
try:
    torch.autograd.grad(loss, {})
except RuntimeError as e:
    print(e)
g = torch.autograd.grad(outputs=[loss * 2, params['w']], inputs=params, grad_outputs=(None, torch.ones(2))) if False else None
l2 = params['w'].sum()
print(torch.autograd.grad(l2, params, allow_unused=True))
print(torch.autograd.grad(params['w'].sum(), params, materialize_grads=True))
