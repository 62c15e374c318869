import torch
x = torch.tensor([1., 2., 3.], requires_grad=True)
y = x ** 2
print(torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True))
y = x.sin() * x.sum()
J, = torch.autograd.grad(y, x, grad_outputs=torch.eye(3), is_grads_batched=True, create_graph=True)
print(J.detach(), J.requires_grad)
