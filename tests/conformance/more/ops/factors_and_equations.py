import torch

L = torch.linalg
A = torch.tensor([[0.5, 2.0, 1.2], [3.1, 0.3, -1.1], [1.0, -1.5, 2.0]], dtype=torch.float64, requires_grad=True)
B = torch.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 1.5]], dtype=torch.float64, requires_grad=True)
S = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
G = torch.tensor([[4.0, 1.0], [1.0, 3.0]])


def derivatives(name, function, *leaves):
    value = function(*leaves)
    slopes = torch.autograd.grad(value.pow(2).sum(), leaves, create_graph=True)
    bends = torch.autograd.grad(sum((slope * slope).sum() for slope in slopes), leaves)
    print(name, value, slopes, bends)


derivatives("L", lambda a: L.lu(a)[1], A)
derivatives("U", lambda a: L.lu(a).U, A)
derivatives("lu_factor", lambda a: L.lu_factor(a).LU, A)
derivatives("wide", lambda b: L.lu(b.mT)[1] @ L.lu(b.mT)[2] ** 2, B)
derivatives("tall", lambda b: L.lu(b)[1] ** 2 @ L.lu(b)[2], B)
derivatives("lu_solve", lambda a, b: L.lu_solve(*L.lu_factor(a), b), A, B)
derivatives("lu_solve adjoint", lambda a, b: L.lu_solve(*L.lu_factor(a), b, adjoint=True), A, B)
derivatives("lu_solve right", lambda a, b: L.lu_solve(*L.lu_factor(a), b.mT, left=False), A, B)
derivatives("lu_unpack", lambda a: torch.lu_unpack(a, torch.tensor([2, 3, 3], dtype=torch.int32))[1].cumsum(0), A)
derivatives("matrix_exp", lambda a: torch.matrix_exp(a / 4), A)
derivatives("cholesky_inverse", lambda a: torch.cholesky_inverse(a + torch.eye(3)), A)
derivatives("cholesky_solve", lambda b, a: torch.cholesky_solve(b, a + torch.eye(3), True), B, A)
derivatives("triangular_solve", lambda b, a: torch.triangular_solve(b, a)[0], B, A)
derivatives("triangular_solve transposed", lambda b, a: torch.triangular_solve(b, a, False, True, True)[0], B, A)
derivatives("inv_ex", lambda a: L.inv_ex(a).inverse, A)
derivatives("solve_ex", lambda a, b: L.solve_ex(a, b).result, A, B)
derivatives("tensorinv", lambda a: L.tensorinv(a.reshape(3, 1, 3), ind=1), A)
derivatives("tensorsolve", lambda a, b: L.tensorsolve(a.reshape(3, 1, 3), b[:, :1]), A, B)

print(L.lu(G), L.lu_factor(torch.stack([S, G]).flip(0)[:1]), L.lu_factor_ex(torch.stack([S, G])))
print(L.inv_ex(torch.stack([S, G])), L.solve_ex(S, G))
print(L.cholesky_ex(torch.stack([G, -G])), L.cholesky_ex(torch.tensor([[1.0, 2.0], [2.0, 1.0]]), upper=True))
print(L.cholesky_ex(A @ A.mT), torch.triangular_solve(G, S.mT + G))
print(torch.lu_unpack(*L.lu_factor(G), unpack_data=False), torch.matrix_exp(torch.zeros(2, 2)), L.matrix_exp(torch.stack([S, S / 8])))


def told(run):
    try:
        print(run())
    except Exception as error:
        print(type(error).__name__, error)


told(lambda: L.lu_factor(S))
told(lambda: L.lu(G, pivot=False))
told(lambda: L.lu(torch.ones(3)))
told(lambda: L.lu_solve(G, torch.tensor([1, 2]), S))
told(lambda: L.lu_solve(G, torch.tensor([1, 2], dtype=torch.int32), torch.ones(3, 2)))
told(lambda: L.inv_ex(S, check_errors=True))
told(lambda: L.solve_ex(S, G, check_errors=True))
told(lambda: L.cholesky_ex(-G, check_errors=True))
told(lambda: L.tensorinv(torch.ones(2, 3, 4)))
told(lambda: L.tensorinv(torch.ones(2, 2), ind=0))
told(lambda: L.tensorsolve(torch.ones(3, 4), torch.ones(3)))
told(lambda: torch.cholesky_inverse(torch.ones(2, 3)))
told(lambda: torch.cholesky_inverse(torch.zeros(2, 2)))
told(lambda: torch.cholesky_solve(torch.ones(2), G))
told(lambda: torch.triangular_solve(torch.ones(3, 2), G))
told(lambda: torch.matrix_exp(torch.ones(2, 3)))
told(lambda: torch.lu_unpack(G, torch.tensor([1, 2])))
