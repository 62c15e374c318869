"""Distinct elements: unique, unique_consecutive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import kernel
from gradcli.core.graph.record import Op, without_jvp
from gradcli.core.kernels import Array, memory_format, selection
from gradcli.core.ops.checks import check_not_mapped, refuse_complex, size, wrap_dim
from gradcli.core.ops.index.selection import check_sorting
from gradcli.core.ops.index.sorting import unstable_order
from gradcli.core.ops.operators import is_true
from gradcli.core.ops.rules import check_no_tangent, recorded, underived
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error

#: the distinct values, where each element went, and how often each occurs
Distinct = tuple[Tensor, Tensor, Tensor]


def _in_slices(values: Array, dim: int | None) -> Array:
    """The values in memory slice by slice along `dim`."""
    if dim is None:
        return np.ascontiguousarray(values)
    if not values.size:
        return memory_format.contiguous(np.ascontiguousarray(values))
    return np.moveaxis(memory_format.contiguous(np.ascontiguousarray(np.moveaxis(values, dim, 0))), 0, dim)


def _slices(a: Array, dim: int) -> Array:
    """The slices along dim as rows."""
    return np.moveaxis(a, dim, 0).reshape(a.shape[dim], a.size // max(a.shape[dim], 1))


def _firsts(rows: Array) -> Array:
    """Which rows differ from the row before."""
    return np.concatenate([np.ones(min(len(rows), 1), bool), (rows[1:] != rows[:-1]).any(1)])


def _runs(first: Array) -> tuple[Array, Array]:
    """The number of the run that each row belongs to, and the lengths of the runs."""
    return np.cumsum(first, dtype=np.int64) - 1, np.diff(np.append(np.flatnonzero(first), first.size)).astype(np.int64)


def _checked_dim(input: Tensor, dim: int) -> int:
    """The dimension counted from 0. Raises RuntimeError for slices without elements."""
    size(input, dim)
    at = wrap_dim(dim, input.array.ndim)
    if input.array.shape[:at].count(0) + input.array.shape[at + 1 :].count(0):
        if input.array.shape[at]:
            raise runtime_error("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
        raise runtime_error("Number of zero sized dimensions is more than one, so unique cannot be applied ")
    return at


def _unordered(rows: Array) -> Array:
    """The order in which std::sort leaves rows with nan, which is neither less nor greater than a number."""
    values = rows.tolist()

    def less(i: int, j: int) -> bool:
        return next((a < b for a, b in zip(values[i], values[j], strict=True) if a < b or a > b), False)

    order = list(range(len(values)))
    selection.sort(order, 0, len(order), less)
    return np.array(order)


def _unique2(input: Tensor, sorted: bool, return_inverse: bool, return_counts: bool) -> Distinct:
    """The distinct values in order."""
    check_no_tangent("_unique2", input)
    refuse_complex("unique", input.dtype)
    check_sorting(input.array)
    flat = input.array.reshape(-1)
    signs = np.signbit(flat[flat == 0])
    # PyTorch sorts unstably, which decides the sign of a zero that stands for both
    order = unstable_order(flat, 0, False) if signs.any() and not signs.all() else np.argsort(flat)
    ordered = flat[order]
    first = _firsts(ordered.reshape(-1, 1))
    runs, counts = _runs(first)
    inverse = np.empty(flat.size, np.int64)
    inverse[order] = runs
    out = recorded(_UNIQUE, Tensor(ordered[first], input.dtype), input)
    return out, wrap(inverse.reshape(input.array.shape)), wrap(counts)


def _unique_dim(input: Tensor, dim: int, sorted: bool, return_inverse: bool, return_counts: bool) -> Distinct:
    """The distinct slices in order."""
    check_no_tangent("unique_dim", input)
    refuse_complex("unique_dim", input.dtype)
    at, a = _checked_dim(input, dim), input.array
    check_sorting(a)
    rows = _slices(a, at)
    order = _unordered(rows) if np.isnan(a).any() else np.lexsort(rows.T[::-1]) if rows.size else np.arange(len(rows))
    first = _firsts(rows[order])
    runs, counts = _runs(first)
    inverse = np.empty(len(order), np.int64)
    inverse[order] = runs
    out = recorded(_UNIQUE_DIM, Tensor(_in_slices(np.take(a, order[first], at), at), input.dtype), input)
    return out, wrap(inverse), wrap(counts)


def _unique_consecutive(input: Tensor, return_inverse: bool, return_counts: bool, dim: int | None) -> Distinct:
    """The first of each run of equal elements or slices. What is not asked for may be missing."""
    check_no_tangent("unique_consecutive", input)
    a = input.array
    flat = dim is None or (dim == 0 and a.ndim == 1)
    refuse_complex("unique" if flat else "unique_dim", input.dtype)
    at = None if dim is None else _checked_dim(input, dim)
    limits.check_elements(a.size, 8)
    first = _firsts(a.reshape(-1, 1) if at is None else _slices(a, at))
    out = RUNS(input, np.flatnonzero(first), at)
    inverse, counts = _runs(first)
    if flat:
        nothing = np.zeros(0, np.int64)
        inverse, counts = (inverse if return_inverse else nothing), (counts if return_counts else nothing)
    return out, wrap(inverse.reshape(a.shape) if at is None and return_inverse else inverse), wrap(counts)


_UNIQUE, _UNIQUE_DIM = underived("Unique2Backward0", "_unique2"), underived("UniqueDimBackward0", "unique_dim")
RUNS = Op(
    "UniqueConsecutiveBackward0",
    lambda a, kept, dim: a.reshape(-1)[kept] if dim is None else _in_slices(np.take(a, kept, dim), dim),
    "input",
    "kept dim",
    saved="",
    jvp=without_jvp("unique_consecutive"),
    input=underived("UniqueConsecutiveBackward0", "unique_consecutive").rules["input"],
)
_FLAGS = "bool return_inverse=False, bool return_counts=False"
_UNIQUE2 = kernel("_unique2", f"Tensor input, bool sorted=True, {_FLAGS}", _unique2)
_OF_SLICES = kernel("unique_dim", f"Tensor input, int dim, bool sorted=True, {_FLAGS}", _unique_dim)
_CONSECUTIVE = kernel("unique_consecutive", f"Tensor input, {_FLAGS}, int? dim=None", _unique_consecutive)


def unique(input: Any, sorted: Any = True, return_inverse: Any = False, return_counts: Any = False, dim: Any = None) -> Distinct:
    """The distinct values in order, or with `dim` the distinct slices."""
    check_not_mapped("_unique2" if dim is None else "unique_dim", input)
    flags = {"sorted": sorted, "return_inverse": return_inverse, "return_counts": return_counts}
    return _UNIQUE2(input, **flags) if dim is None else _OF_SLICES(input, dim, **flags)  # type: ignore[no-any-return]


def unique_consecutive(input: Any, return_inverse: Any = False, return_counts: Any = False, dim: Any = None) -> Distinct:
    """The first of each run of equal elements or slices."""
    check_not_mapped("unique_consecutive" if dim is None else "unique_dim_consecutive", input)
    return _CONSECUTIVE(input, return_inverse=return_inverse, return_counts=return_counts, dim=dim)  # type: ignore[no-any-return]


def _chosen(results: Distinct, inverse: bool, counts: bool) -> Any:
    out, *rest = results
    parts = [t for t, wanted in zip(rest, (inverse, counts), strict=True) if wanted]
    return (out, *parts) if parts else out


class _Dispatched(Function):
    """A function of torch that PyTorch chooses by two flags, before it looks at the arguments, and that returns what they name.

    `places` are where it looks for return_inverse and return_counts among the positional arguments; for unique_consecutive these
    are not their own.
    """

    __slots__ = ("run", "prefix", "places")

    def __init__(self, name: str, signature: str, run: Callable[..., Distinct], prefix: str, places: tuple[int, int], **more: Any) -> None:
        super().__init__(name, (signature, run), **more)
        self.run, self.prefix, self.places = run, prefix, places

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        def flag(name: str, at: int) -> bool:
            return is_true(kwargs.get(name, args[at] if at < len(args) else False))

        inverse, counts = flag("return_inverse", self.places[0]), flag("return_counts", self.places[1])
        kind = ("output", "counts", "inverse", "inverse_and_counts")[2 * inverse + counts]
        self._check_python(f"{self.prefix}return_{kind}", args, kwargs)
        return _chosen(self.run(*args, **kwargs), inverse, counts)


class _Method(Function):
    """The method of a dispatched function, which reads its flags where they stand."""

    __slots__ = ("run",)

    def __init__(self, name: str, signature: str, run: Callable[..., Distinct], **more: Any) -> None:
        super().__init__(f"Tensor.{name}", (signature, run), function=False, **more)
        self.run = run

    def method(self, tensor: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._check_python(self.name, (tensor, *args), kwargs, "self")
        names = [p.name for p in self.parser.signatures[0].parameters][1:]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        inverse, counts = (is_true(given.get(name, False)) for name in ("return_inverse", "return_counts"))
        return _chosen(self.run(tensor, **given), inverse, counts)


def _both(name: str, signature: str, run: Callable[..., Distinct], doc: str, x: str, prefix: str, places: tuple[int, int], *ops: Op) -> Any:
    function, method = Sample(f"{name}(tensor({x}), return_counts=True)"), Sample(f"tensor({x}).{name}()")
    return (
        _Dispatched(name, signature, run, prefix, places, doc=doc, ops=ops, samples=(function,), method=False),
        _Method(name, signature, run, doc=doc, samples=(method,)),
    )


FUNCTIONS = (
    *_both(
        "unique",
        f"Tensor input, bool sorted=True, {_FLAGS}, int? dim=None",
        unique,
        "The distinct values in order, on request with where each element went and how often each occurs.",
        "[3, 1, 3]",
        "_",
        (2, 3),
    ),
    *_both(
        "unique_consecutive",
        f"Tensor input, {_FLAGS}, int? dim=None",
        unique_consecutive,
        "The first of each run of equal elements.",
        "[1, 1, 2, 1]",
        "_consecutive_",
        (2, 1),
        RUNS,
    ),
)
