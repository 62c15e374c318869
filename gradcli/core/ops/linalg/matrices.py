"""Checks of matrices, and what the functions on LAPACK have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError, runtime_error


def check_floats(name: str, A: Tensor, low: bool = False) -> None:
    if not A.dtype.is_floating_point:
        raise runtime_error(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype.torch_name}")
    if not low and A.dtype in (dtypes.float16, dtypes.bfloat16):
        raise runtime_error(f"{name}: Low precision dtypes not supported. Got {A.dtype.torch_name}")


def check_matrices(name: str, A: Tensor, symbol: str = "A") -> None:
    if A.array.ndim < 2:
        raise runtime_error(f"{name}: The input tensor {symbol} must have at least 2 dimensions.")
    rows, columns = A.array.shape[-2:]
    limits.check_work(20.0 * A.array.size * min(rows, columns))
    # what the greediest, a singular value decomposition, takes for its factors and to work in
    limits.check_room(10.0 * A.array.nbytes)


def check_squares(name: str, A: Tensor) -> None:
    check_matrices(name, A)
    n, m = A.array.shape[-2:]
    if n != m:
        raise runtime_error(f"{name}: A must be batches of square matrices, but they are {n} by {m} matrices")


def check_square_floats(name: str, A: Tensor) -> None:
    check_squares(name, A)
    check_floats(name, A)


def is_vector(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether the right side of a system is a vector, or a batch of vectors."""
    return len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])


def to_column_major(a: Array) -> Array:
    """The same matrices with each lying column by column in memory, as LAPACK leaves them."""
    return np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)


def first_failure(a: Array, run: Any) -> tuple[str, Array]:
    """The first matrix of a batch for which `run` fails, and how messages speak of it."""
    for i, m in enumerate(a.reshape(-1, *a.shape[-2:])):
        try:
            run(m)
        except np.linalg.LinAlgError:
            return (f"(Batch element {i}): " if a.ndim > 2 else ""), m
    return "", a


def with_info(run: Callable[[], Tensor], A: Tensor, check_errors: bool, rename: tuple[str, str], fallback: Any) -> tuple[Tensor, Tensor]:
    """The result and zeros; where it fails PyTorch's error under another name, or what `fallback` makes, with information."""
    try:
        return run(), wrap(np.zeros(A.array.shape[:-2], np.int32))
    except ProgramError as error:
        if not error.kind.endswith("_LinAlgError"):
            raise
        if check_errors:
            raise ProgramError("_LinAlgError", error.message.replace(*rename, 1)) from None
    values, info = fallback()
    return Tensor(values, A.dtype), wrap(np.asarray(info, np.int32))
