import torch
# closures as layers
def make_linear(n_in, n_out, *, seed=0):
    g = torch.Generator().manual_seed(seed)
    W = torch.randn(n_out, n_in, generator=g).mul_(0.1).requires_grad_()
    b = torch.zeros(n_out, requires_grad=True)
    def forward(x):
        return x @ W.T + b
    def params():
        return [W, b]
    return forward, params
l1, p1 = make_linear(3, 4)
l2, p2 = make_linear(4, 1, seed=1)
compose = lambda *fs: (lambda x: x if not fs else compose(*fs[1:])(fs[0](x)))
net = compose(l1, torch.relu, l2)
x = torch.ones(2, 3)
out = net(x)
loss = (out - 1).pow(2).mean()
loss.backward()
for p in [*p1(), *p2()]:
    print(tuple(p.shape), round(p.grad.abs().sum().item(), 4))
print(out.grad_fn, loss.item() > 0)
