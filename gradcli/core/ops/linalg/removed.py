"""Linear algebra that PyTorch has removed: its functions and methods remain, and raise errors that name what took their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.functions.function import PythonMethod
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error

_REMOVED = "This function was deprecated since version 1.9 and is now removed."
_EIG = (
    f"{_REMOVED} `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking complex "
    "tensors.\n\nL, _ = torch.eig(A) should be replaced with:\nL_complex = torch.linalg.eigvals(A)\n\nand\n\nL, V = torch.eig(A, "
    "eigenvectors=True) should be replaced with:\nL_complex, V_complex = torch.linalg.eig(A)"
)
_SYMEIG = (
    f"{_REMOVED} The default behavior has changed from using the upper triangular portion of the matrix by default to using the lower "
    "triangular portion.\n\nL, _ = torch.symeig(A, upper=upper) should be replaced with:\nL = torch.linalg.eigvalsh(A, UPLO='U' if upper "
    "else 'L')\n\nand\n\nL, V = torch.symeig(A, eigenvectors=True) should be replaced with:\nL, V = torch.linalg.eigh(A, UPLO='U' if upper "
    "else 'L')"
)
_SOLVE = (
    f"{_REMOVED} `torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments reversed and does "
    "not return the LU factorization.\n\nTo get the LU factorization see `torch.lu`, which can be used with `torch.lu_solve` or "
    "`torch.lu_unpack`.\nX = torch.solve(B, A).solution should be replaced with:\nX = torch.linalg.solve(A, B)"
)
_LSTSQ = (
    f"{_REMOVED} `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\n`torch.linalg.lstsq` has reversed arguments and does not "
    "return the QR decomposition in the returned tuple (although it returns other information about the problem).\n\nTo get the QR "
    "decomposition consider using `torch.linalg.qr`.\n\nThe returned solution in `torch.lstsq` stored the residuals of the solution in the "
    "last m - n columns of the returned value whenever m > n. In torch.linalg.lstsq, the residuals are in the field 'residuals' of the "
    "returned named tuple.\n\nThe unpacking of the solution, as in\nX, _ = torch.lstsq(B, A).solution[:A.size(1)]\nshould be replaced "
    "with:\nX = torch.linalg.lstsq(A, B).solution"
)
_MATRIX_RANK = (
    f"{_REMOVED}\nPlease use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
    "`torch.linalg.matrix_rank()` to 'hermitian'."
)


def _eig(self: Any, eigenvectors: Any = False, *, e: Any = None, v: Any = None) -> Any:
    raise runtime_error(_EIG)


def _symeig(input: Any, eigenvectors: Any = False, upper: Any = True, *, out: Any = None) -> Any:
    raise runtime_error(_SYMEIG)


def _solve(input: Any, A: Any, *, out: Any = None) -> Any:
    raise runtime_error(_SOLVE)


def _lstsq(input: Any, A: Any, *, out: Any = None) -> Any:
    raise runtime_error(_LSTSQ)


def _matrix_rank(input: Any, tol: Any = None, symmetric: Any = False, *, out: Any = None) -> Any:
    raise runtime_error(_MATRIX_RANK)


def _of_pair(text: str) -> Callable[..., Any]:
    def run(self: Tensor, other: Any) -> Any:
        raise runtime_error(text)

    return run


def _of_one(text: str) -> Callable[..., Any]:
    def run(self: Tensor, eigenvectors: Any = False) -> Any:
        raise runtime_error(text)

    return run


_NAMED: dict[str, Callable[..., Any]] = {"eig": _eig, "symeig": _symeig, "solve": _solve, "lstsq": _lstsq, "matrix_rank": _matrix_rank}
#: the functions by name
ROUTINES = {name: Routine(run, "_symeig" if name == "symeig" else name) for name, run in _NAMED.items()}

FUNCTIONS = (
    PythonMethod(_of_one(_EIG), "eig", "Removed; torch.linalg.eig took its place."),
    PythonMethod(_of_one(_SYMEIG), "symeig", "Removed; torch.linalg.eigh took its place."),
    PythonMethod(_of_pair(_SOLVE), "solve", "Removed; torch.linalg.solve took its place."),
    PythonMethod(_of_pair(_LSTSQ), "lstsq", "Removed; torch.linalg.lstsq took its place."),
)
