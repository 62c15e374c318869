import torch

S = torch.special
x = torch.tensor([0.5, -1.5, 2.5, 0.0], requires_grad=True)
w = torch.tensor([0.25, 3.0, 9.0, -12.0], requires_grad=True, dtype=torch.float64)
shares = torch.tensor([0.5, 0.1, 0.999, 1e-5], requires_grad=True)
degrees = torch.tensor([0.5, 2.0, 5.0, 30.0])


def derivatives(name, function, leaf):
    value = function(leaf)
    (slope,) = torch.autograd.grad(value.sum(), leaf, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), leaf)
    print(name)
    print(value)
    print(slope)
    print(bend)


for name in ("i0", "i0e", "i1", "i1e", "log_ndtr"):
    derivatives(name, getattr(S, name), x)
    derivatives(name, getattr(S, name), w)
derivatives("erfcx", S.erfcx, w)
derivatives("ndtri", S.ndtri, shares)
derivatives("gammainc", lambda v: S.gammainc(degrees, v * 30), shares)
derivatives("gammaincc", lambda v: torch.igammac(degrees, v * 30), shares)
derivatives("zeta", lambda v: S.zeta(degrees + 1, v + 1), shares)
derivatives("zeta of a number", lambda v: S.zeta(3, v + 1), shares)

# no derivatives: the results require no grad
for name in (
    "bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 "
    "scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 airy_ai"
).split():
    print(name, getattr(S, name)(x), getattr(S, name)(w), getattr(S, name)(torch.tensor([1, 2, 40])))
for name in (
    "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h "
    "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p"
).split():
    print(name, getattr(S, name)(x, 3), getattr(S, name)(0.25, torch.arange(10)), getattr(S, name)(w, torch.tensor([2, 0, -1, 4])))
    if name.startswith("chebyshev"):
        print(getattr(S, "shifted_" + name)(x, 3), getattr(S, "shifted_" + name)(torch.tensor([0.25, 1.0]), 12))

inf, nan = float("inf"), float("nan")
edges = torch.tensor([0.0, inf, -inf, nan, 1.0])
for name in ("i0", "i1e", "erfcx", "log_ndtr", "ndtri", "bessel_j0", "bessel_y1", "modified_bessel_k0", "spherical_bessel_j0", "airy_ai"):
    print(name, getattr(S, name)(edges))
a, b = torch.meshgrid(torch.tensor([0.0, 1.0, inf, -1.0, nan]), edges, indexing="ij")
print(S.gammainc(a, b), S.gammaincc(a, b))


def told(run):
    try:
        print(run())
    except Exception as error:
        print(type(error).__name__, error)


told(lambda: S.gammainc(shares, degrees).sum().backward())
told(lambda: S.zeta(shares + 2, degrees).sum().backward())
told(lambda: S.bessel_j0(x).sum().backward())
told(lambda: S.gammainc(torch.tensor([1]), torch.tensor([2])))
told(lambda: S.erfcx(torch.tensor([1.0]).half()))
told(lambda: S.legendre_polynomial_p(torch.tensor([1.0]).bfloat16(), 2))
told(lambda: S.chebyshev_polynomial_t(2.0, 2))
told(lambda: S.airy_ai(2.0))
told(lambda: S.i0(torch.tensor([1, 2])))
told(lambda: torch.i0_(x * 1))
told(lambda: (x * 1).igamma_(degrees).shape)
