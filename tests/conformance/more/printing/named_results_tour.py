import torch
x = torch.tensor([[3., 1.], [2., 5.]], requires_grad=True)
print(x.max(dim=1)); print(x.sort(dim=0)); print(x.topk(1)); print(x.kthvalue(1)); print(x.mode(0)); print(x.median(1)); print(x.cummax(0)); print(x.min(1, keepdim=True)); print(torch.linalg.eigh(x.detach() + x.detach().T)); print(torch.slogdet(x)); print(torch.linalg.slogdet(x)); print(torch.unique(torch.tensor([1, 2, 2]), return_counts=True)); print(torch.aminmax(x)); print(torch.linalg.qr(x.detach())[1].abs()); print(torch.std_mean(x), torch.var_mean(x.detach(), dim=0)); print(torch.linalg.svd(x.detach()).S)
r = x.max(dim=1)
print(r.values, r.indices, r[0], r[1], len(r), type(r), isinstance(r, tuple))
v, i = r
print(v, i)
try:
    r.foo
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    r[2]
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
print(r == r, str(r)[:20], f"{r}"[:30], [r][0].indices)
