import torch
x = torch.tensor([[1., 2.], [0.5, -1.]], requires_grad=True)
w = torch.tensor([[0.5], [-0.25]], requires_grad=True)
out = torch.tanh(x @ w)
gx, = torch.autograd.grad(out.sum(), x, create_graph=True)
penalty = ((gx.norm(dim=1) - 1) ** 2).mean()
penalty.backward()
print(gx.detach(), penalty.item() > 0)
print(w.grad)
