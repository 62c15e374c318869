import torch
x = torch.arange(6.).reshape(2, 3).requires_grad_()
print(torch.is_tensor(x), torch.is_tensor([1]), isinstance(x, torch.Tensor), isinstance(x, torch.nn.Parameter), type(x) is torch.Tensor, type(x) == torch.Tensor, isinstance(x.grad_fn, type(None)))
print(isinstance(1, (int, torch.Tensor)), isinstance(x.shape, tuple), isinstance(x.shape, torch.Size), isinstance(x.dtype, torch.dtype), isinstance(x.device, torch.device), isinstance(torch.no_grad(), torch.no_grad))
print(callable(x), callable(torch.sum), callable(x.sum), len(x), x.shape[0], x.size(-1), *x.shape)
print(x.sum().item(), x.mean(dim=1).tolist(), x.std().item(), x.var(unbiased=False).item(), x.norm().item())
r, c = x.shape
print(r, c, r * c == x.numel(), x.shape == (2, 3), x.shape == torch.Size([2, 3]), x.size() == [2, 3], x.shape + (1,), x.shape[1:], x.shape[-1:], list(x.shape), len(x.shape), x.shape.numel())
print({**{"a": x.sum()}, "b": 1}, [x.sum(), None], (x.detach(),), {x.dtype: 1})
print(x.detach().numpy().tolist(), x.detach().numpy().shape, x.detach().numpy())
print(max(x.detach().flatten().tolist()), sum(x.flatten()), max(x.flatten()), min(x[0], key=lambda t: -t.item()))
print([v.item() for v in x[0]], [[round(v, 1) for v in row] for row in x.tolist()], x[0].tolist() + [1])
print(x[0] @ x[1], x[0].dot(x[1]), (x[0] * x[1]).sum(), torch.inner(x[0], x[1]), sum(a * b for a, b in zip(x[0], x[1])))
print(x.data is x.data, x.grad is x.grad, x.shape is x.shape, x.T is x.T, id(x) == id(x), x is x.requires_grad_())
del x
try:
    x
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
