import torch
import torch.autograd.forward_ad as fwAD
torch.manual_seed(3)
x = torch.rand(2, 3) + 0.5
v = torch.randn(2, 3)
fs = [torch.sin, torch.cos, torch.exp, torch.log, torch.sqrt, torch.tanh, torch.sigmoid, torch.relu, lambda x: x * 2, lambda x: 3 / x, lambda x: x - 1, lambda x: x ** 2.5, lambda x: 2 ** x,
      lambda x: x.sum(), lambda x: x.mean(0), lambda x: x.prod(), lambda x: x.max(), lambda x: x.max(1).values, lambda x: x.T, lambda x: x.reshape(3, 2), lambda x: x[0], lambda x: x[:, 1:], lambda x: x @ x.T,
      lambda x: torch.softmax(x, 1), lambda x: torch.log_softmax(x, 0), lambda x: torch.cat([x, x * 2]), lambda x: torch.stack([x, x.cos()]), lambda x: x.norm(), lambda x: x.std(), lambda x: x.var(1), lambda x: x.cumsum(1),
      lambda x: torch.where(x > 1, x, x * 10), lambda x: x.clamp(0.7, 1.2), lambda x: x.abs(), lambda x: x.unsqueeze(0), lambda x: x.expand(2, 2, 3), lambda x: x.sort(1).values, lambda x: torch.logsumexp(x, 1), lambda x: x.double(),
      lambda x: torch.nn.functional.softplus(x), lambda x: torch.nn.functional.gelu(x), lambda x: torch.einsum('ij,ik->jk', x, x), lambda x: x.flatten(), lambda x: x.repeat(2, 1), lambda x: torch.atan2(x, x + 1), lambda x: x.clone(), lambda x: -x, lambda x: x.round(), lambda x: x * 0, lambda x: torch.linalg.inv(x @ x.T + torch.eye(2)), lambda x: torch.linalg.det(x @ x.T + torch.eye(2)), lambda x: x.gather(1, torch.tensor([[0], [2]])), lambda x: x.index_select(1, torch.tensor([0, 2])), lambda x: x.masked_fill(x > 1, 0.), lambda x: x.roll(1), lambda x: x.flip(0), lambda x: x.tril(), lambda x: torch.outer(x[0], x[1]), lambda x: torch.dot(x[0], x[1]), lambda x: torch.nn.functional.mse_loss(x, torch.zeros(2, 3)), lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([0, 2]))]
for i, f in enumerate(fs):
    with fwAD.dual_level():
        d = fwAD.make_dual(x, v)
        y = f(d)
        p, t = fwAD.unpack_dual(y)
        print(i, p, t)
