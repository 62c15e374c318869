import torch
a = torch.tensor([[1, 2], [3, 4]])
print(a.float().mean(), a.sum(), a.max(), a.dtype)
try:
    print(a.mean())
except RuntimeError as e:
    print(e)
print(a / 2, a // 2, a % 2, a ** 2, -a, a * 1.5, a == 2, a.double())
print(a + torch.tensor(0.5), (a + 0.5).dtype, (a * torch.tensor(2, dtype=torch.int8)).dtype, (a.to(torch.int8) + a).dtype)
print(torch.tensor([1, 2.]).dtype, torch.tensor([True, 2]).dtype, (torch.tensor(True) + 1).dtype, torch.arange(3).dtype, torch.arange(3.).dtype)
print(torch.result_type(a, 1.0), torch.promote_types(torch.int32, torch.float16), torch.can_cast(torch.float32, torch.int32))
b = a.float()
b.requires_grad = True
c = b.int()
print(c.requires_grad, b.long().requires_grad, b.double().requires_grad, b.half().grad_fn)
