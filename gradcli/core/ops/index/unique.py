"""Distinct elements: unique, unique_consecutive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, without_jvp
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import refuse_complex, size, wrap_dim
from gradcli.core.ops.index.selection import check_sorting
from gradcli.core.ops.rules import recorded, underived
from gradcli.core.tensor.tensor import Tensor, wrap


def unique(input: Tensor, sorted: bool, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    """The distinct values in order, or with `dim` the distinct slices; on request their inverse indices and counts."""
    refuse_complex("unique", input.dtype)
    check_sorting(input.array)
    if dim is not None:
        size(input, dim)
        dim = wrap_dim(dim, input.array.ndim)
    values, inverse, counts = np.unique(input.array, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    parts: list[Tensor] = [recorded(UNIQUE if dim is None else UNIQUE_DIM, Tensor(_in_slices(values, dim), input.dtype), input)]
    if return_inverse:
        parts.append(wrap(np.asarray(inverse, np.int64).reshape(input.array.shape if dim is None else (-1,))))
    if return_counts:
        parts.append(wrap(np.asarray(counts, np.int64)))
    return parts[0] if len(parts) == 1 else tuple(parts)


def _in_slices(values: Array, dim: int | None) -> Array:
    """The values in memory slice by slice along `dim`."""
    return np.ascontiguousarray(values) if dim is None else np.moveaxis(np.ascontiguousarray(np.moveaxis(values, dim, 0)), 0, dim)


def _firsts(a: Array, dim: int | None) -> Array:
    """Which elements, or slices along dim, differ from the element before."""
    rows = a.reshape(-1, 1) if dim is None else np.moveaxis(a, dim, 0).reshape(a.shape[dim], -1)
    return np.concatenate([np.ones(min(len(rows), 1), bool), (rows[1:] != rows[:-1]).any(1)])


def unique_consecutive(input: Tensor, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    """The first of each run of equal elements or slices; on request the run that each belongs to, and the lengths of the runs."""
    refuse_complex("unique", input.dtype)
    if dim is not None:
        size(input, dim)
        dim = wrap_dim(dim, input.array.ndim)
    limits.check_elements(input.array.size, 8)
    first = _firsts(input.array, dim)
    kept = np.flatnonzero(first)
    values = RUNS(input, kept, dim)
    parts: list[Any] = [values]
    if return_inverse:
        inverse = np.cumsum(first, dtype=np.int64) - 1
        parts.append(wrap(inverse.reshape(input.array.shape) if dim is None else inverse))
    if return_counts:
        parts.append(wrap(np.diff(np.append(kept, first.size)).astype(np.int64)))
    return parts[0] if len(parts) == 1 else tuple(parts)


UNIQUE, UNIQUE_DIM = underived("Unique2Backward0", "_unique2"), underived("UniqueDimBackward0", "unique_dim")
RUNS = Op(
    "UniqueConsecutiveBackward0",
    lambda a, kept, dim: a.reshape(-1)[kept] if dim is None else _in_slices(np.take(a, kept, dim), dim),
    "input",
    "kept dim",
    saved="",
    jvp=without_jvp("unique_consecutive"),
    input=underived("UniqueConsecutiveBackward0", "unique_consecutive").rules["input"],
)
_ARGUMENTS = "bool return_inverse=False, bool return_counts=False, int? dim=None"


def _both(name: str, signature: str, run: Callable[..., Any], doc: str, x: str, checked_as: str, *ops: Op) -> list[Function]:
    """The function and the method, whose argument errors PyTorch words in different ways."""
    function, method = Sample(f"{name}(tensor({x}), return_counts=True)"), Sample(f"tensor({x}).{name}()")
    return [
        Function(name, (signature, run), doc=doc, ops=ops, samples=(function,), method=False, python=checked_as),
        Function(f"Tensor.{name}", (signature, run), doc=doc, samples=(method,), function=False, python=f"Tensor.{name}"),
    ]


FUNCTIONS = (
    *_both(
        "unique",
        f"Tensor input, bool sorted=True, {_ARGUMENTS}",
        unique,
        "The distinct values in order, on request with where each element went and how often each occurs.",
        "[3, 1, 3]",
        "_return_output",
    ),
    *_both(
        "unique_consecutive",
        f"Tensor input, {_ARGUMENTS}",
        unique_consecutive,
        "The first of each run of equal elements.",
        "[1, 1, 2, 1]",
        "_consecutive_return_output",
        RUNS,
    ),
)
