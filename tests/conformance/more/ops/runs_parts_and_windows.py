import torch

x = torch.tensor([[1.0, 2.0, 0.5], [4.0, -3.0, 6.0]], requires_grad=True)
v = torch.tensor([3.0, 0.5, 0.0, float("nan"), 1.0], requires_grad=True)
w = torch.tensor([1.0, 0.5, 0.0, 1.0, float("inf")])

for reduce in ("mean", "prod", "amax", "amin"):
    for include_self in (True, False):
        y = x.index_reduce(1, torch.tensor([0, 0, 2]), x * 2 - 3, reduce, include_self=include_self)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        print(reduce, include_self, y, g, h)
print((x * 1).index_reduce_(0, torch.tensor([1, 1]), x.detach(), "amax"))

mantissa, exponent = torch.frexp(v)
print(mantissa, exponent, torch.autograd.grad(mantissa.sum(), v))
print(torch.frexp(w))
print(torch.nextafter(v, w), torch.autograd.grad(torch.nextafter(v, w).sum(), v))
print(torch.nextafter(w.bfloat16(), -w.bfloat16()).tolist())
for p, dim, most in ((2, 0, 3.0), (1, 1, 4.0), (3, -1, 5.0)):
    y = torch.renorm(x, p, dim, most)
    (g,) = torch.autograd.grad((y * torch.arange(6.0).view(2, 3)).sum(), x, create_graph=True)
    print(p, y, g)
print((x * 1).renorm_(2, 0, 1.0))
print(torch.norm_except_dim(x), torch.norm_except_dim(x, 2, 1), torch.norm_except_dim(x, 1, -1))

rows = torch.tensor([[1, 1, 2], [1, 1, 2], [0, 1, 2], [0, 1, 1]])
print(torch.unique_consecutive(rows, return_inverse=True, return_counts=True))
print(torch.unique_consecutive(rows, True, True, dim=0), rows.unique_consecutive(dim=1))
print(torch.unique_consecutive(v))
print(torch.nanquantile(v, 0.4), torch.nanquantile(v, torch.tensor([0.1, 0.9])), torch.autograd.grad(v.nanquantile(0.4), v))
print(torch.histogram(torch.tensor([1.0, 2.0, 2.0, 5.0]), 4), torch.histogram(x.detach(), torch.tensor([-3.0, 0.0, 4.0])))
print(torch.unravel_index(torch.tensor([3, 4]), (2, 3)), torch.nonzero_static(rows, size=2))

print(torch.angle(x), torch.autograd.grad(torch.angle(x).sum(), x), torch.conj_physical(x) is x, (x * 1).conj_physical_())
print(x.dim_order(), x.t().dim_order(), x.get_device(), x.is_conj(), torch.is_neg(x), x.is_set_to(x.view(2, 3)), torch.is_nonzero(x[0, 0]))
print((x.double() * 1).float_power_(2))
for window in (torch.bartlett_window, torch.blackman_window, torch.hann_window, torch.hamming_window, torch.kaiser_window):
    print(window(6), window(5, False), window(1), window(0), window(4, dtype=torch.float64, requires_grad=True))
print(torch.hamming_window(5, True, 0.5, 0.4), torch.kaiser_window(5, False, 3.0))


def told(run):
    try:
        print(run())
    except Exception as error:
        print(type(error).__name__, error)


told(lambda: torch.index_reduce(x, 0, torch.tensor([0]), x, "mean"))
told(lambda: torch.index_reduce(x, 0, torch.tensor([0, 5]), x, "mean"))
told(lambda: torch.index_reduce(x, 0, torch.tensor([0, 1]), x, "sum"))
told(lambda: torch.frexp(rows))
told(lambda: torch.nextafter(rows, rows))
told(lambda: torch.renorm(x, 0, 0, 1.0))
told(lambda: torch.renorm(v, 2, 0, 1.0))
told(lambda: torch.unique_consecutive(v).sum().backward())
told(lambda: torch.unravel_index(torch.tensor([1.0]), (2, 3)))
told(lambda: torch.imag(x))
told(lambda: torch.is_nonzero(x))
told(lambda: x.detach().float_power_(2))
told(lambda: torch.hann_window(-1))
told(lambda: torch.hann_window(5, dtype=torch.int64))
told(lambda: torch.hann_window(5, 3))
