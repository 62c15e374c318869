# maml
import torch
torch.manual_seed(0)
w = torch.tensor([0.5, -0.3], requires_grad=True)
x = torch.randn(4, 2); y = torch.randn(4)
inner = ((x @ w - y) ** 2).mean()
g, = torch.autograd.grad(inner, w, create_graph=True)
w2 = w - 0.1 * g
outer = ((x @ w2 - y) ** 2).mean()
outer.backward()
print(inner, outer, w.grad, w2.grad_fn)
