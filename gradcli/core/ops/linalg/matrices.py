"""Checks of matrices, and the conventions of LAPACK that several functions follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gradcli import limits
from gradcli.core.graph.record import Op
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import check_size, common_shape, not_implemented
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError, runtime_error, shape_error

_Forward = TypeVar("_Forward", bound=Callable[..., Any])
#: kernels that PyTorch does not call for tensors without elements
NOT_CALLED = ("lu_cpu", "cholesky_cpu", "linalg_eigh_cpu", "linalg_svd_cpu", "ldl_factor_kernel_cpu", "ldl_solve_kernel_cpu")


def check_floats(name: str, A: Tensor, kernel: str = "", low: bool = False) -> None:
    """Raise RuntimeError unless the dtype is float32, float64 or complex, or, with `low`, any floating dtype.

    For half precision it is NotImplementedError where PyTorch's kernel raises it, which tensors without elements
    may never reach (NOT_CALLED).
    """
    if A.dtype.is_complex:
        return
    if not A.dtype.is_floating_point:
        raise runtime_error(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype.torch_name}")
    if not low and A.dtype in (dtypes.float16, dtypes.bfloat16):
        if kernel in NOT_CALLED and not A.array.size:
            return
        if kernel:
            raise not_implemented(kernel, A.dtype)
        raise runtime_error(f"{name}: Low precision dtypes not supported. Got {A.dtype.torch_name}")


def of_any_dtype(run: _Forward) -> _Forward:
    """The same function of matrices, also for those without elements of a dtype that numpy's library does not take."""

    def forward(a: Array, *more: Any) -> Any:
        if a.dtype.char in "fdFD":
            return run(a, *more)
        made = run(a.astype(np.float32), *(m.astype(np.float32) if isinstance(m, np.ndarray) else m for m in more))
        return tuple(m.astype(a.dtype) for m in made) if isinstance(made, tuple) else made.astype(a.dtype)

    return forward  # type: ignore[return-value]


def check_matrices(name: str, A: Tensor, symbol: str = "A") -> None:
    """Raise RuntimeError for less than two dimensions, LimitError for matrices that take too much work or memory."""
    if A.array.ndim < 2:
        raise shape_error(f"{name}: The input tensor {symbol} must have at least 2 dimensions.")
    rows, columns = A.array.shape[-2:]
    limits.check_work(20.0 * A.array.size * min(rows, columns))
    # a singular value decomposition needs the most: its factors and its workspace
    limits.check_room(10.0 * A.array.nbytes)


def check_squares(name: str, A: Tensor) -> None:
    """Raise RuntimeError unless the matrices are square."""
    check_matrices(name, A)
    n, m = A.array.shape[-2:]
    if n != m:
        raise runtime_error(f"{name}: A must be batches of square matrices, but they are {n} by {m} matrices")


def check_batches(B: Tensor, A: Tensor) -> None:
    """Raise RuntimeError unless the batches of both sides of systems broadcast, LimitError where that makes too many elements."""
    batch = common_shape([B.array.shape[:-2], A.array.shape[:-2]])
    for t in (B, A):
        check_size((*batch, *t.array.shape[-2:]), t.array.itemsize)


def check_square_floats(name: str, A: Tensor, kernel: str = "") -> None:
    """Raise RuntimeError unless the matrices are square and of dtype float32, float64 or complex; as `check_floats` for half precision."""
    check_squares(name, A)
    check_floats(name, A, kernel)


def is_vector(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether the right side of a linear system is a vector or a batch of vectors; `a` and `b` are the shapes of both sides."""
    return len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])


def to_column_major(a: Array) -> Array:
    """The same matrices, each of them column by column in memory, which is how LAPACK returns them."""
    shape = (*a.shape[:-2], a.shape[-1], a.shape[-2])
    columns = memory_format.empty(shape, memory_format.contiguous_strides(shape), a.dtype)
    columns[...] = a.swapaxes(-1, -2)
    return columns.swapaxes(-1, -2)


def as_data(like: Any, values: Array) -> Any:
    """The values for a rule: as an array, or as a tensor that needs no gradient where `like` is a tensor."""
    return wrap(values) if type(like) is Tensor else values


def first_failure(a: Array, run: Callable[[Array], Any]) -> tuple[str, Array]:
    """How error messages name the first matrix of a batch for which `run` raises LinAlgError, and that matrix."""
    for i, m in enumerate(a.reshape(-1, *a.shape[-2:])):
        try:
            run(m)
        except np.linalg.LinAlgError:
            return (f"(Batch element {i}): " if a.ndim > 2 else ""), m
    return "", a


class Call(NamedTuple):
    """A record and what it is called with."""

    op: Op
    inputs: tuple[Tensor, ...]
    attrs: tuple[Any, ...] = ()


def with_info(
    run: Callable[[], Tensor], check_errors: bool, rename: tuple[str, str], fallback: Callable[[], tuple[Array, Array]], call: Call
) -> tuple[Tensor, Tensor]:
    """The result of `run`, and an error number for each matrix, 0 where the computation succeeded.

    Where `run` fails, `fallback` gives both, as the result of `call`; with `check_errors` the error is raised, with the function's name
    replaced by `rename`.
    """
    A = call.inputs[0]
    try:
        return run(), wrap(np.zeros(A.array.shape[:-2], np.int32))
    except ProgramError as error:
        if not error.kind.endswith("_LinAlgError"):
            raise
        if check_errors:
            raise ProgramError("_LinAlgError", error.message.replace(*rename, 1)) from None
    values, info = fallback()
    out = Tensor(values, A.dtype)
    if state.enabled:
        call.op.record(out, call.inputs, call.attrs)
    if state.dual is not None:
        state.dual.push(call.op, call.inputs, call.attrs, (out,))
    return out, wrap(np.asarray(info, np.int32))
