"""Elements read or written at positions that an index gives along one dimension: gather, scatter, scatter_add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import Operand, is_sample, size, wrap_dim
from gradcli.core.ops.index.adding import combined_at
from gradcli.core.ops.rules import UNCHANGED, check_gradient, check_no_tangent, not_differentiable
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def places_along(dim: int, index: Array, rank: int) -> tuple[Any, ...]:
    """The index for numpy that has `index` along dimension `dim`, and along all others the element's own position."""
    if not rank:
        return (...,)
    if not index.ndim:
        return (index,)
    places: list[Any] = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    return tuple(places)


def _gather(a: Array, dim: int, index: Array) -> Array:
    if not a.ndim or not index.size:
        return np.full(index.shape, a.reshape(-1)[:1] if index.size else 0, a.dtype)
    return np.asarray(a[places_along(dim, index, a.ndim)])


def _scattered(a: Array, src: Any, dim: int, index: Array, add: bool = False) -> Array:
    made = np.array(a)
    if not index.size:
        return made
    if isinstance(src, np.ndarray) and src.shape != index.shape and src.ndim:
        src = src[tuple(slice(0, n) for n in index.shape)] if index.ndim else src.reshape(-1)[0]
    if not made.ndim:
        given = np.asarray(src).reshape(-1)[: index.size]
        made[...] = made + np.sum(given) if add else given[-1]
    elif add:
        return combined_at(made, places_along(dim, index, made.ndim), src)
    else:
        made[places_along(dim, index, made.ndim)] = src
    return made


def source_gradient(xp: Any, grad: Any, dim: int, index: Any, src_shape: Any, name: str) -> Any:
    """The gradient of what was scattered. Raises RuntimeError where `src` does not broadcast to the index, as PyTorch does."""
    check_gradient(name, 1, index.shape, src_shape)
    return xp.call(GATHER, grad, dim, index)


GATHER: Op = Op(
    "GatherBackward0",
    _gather,
    "input",
    "dim index",
    saved="index self dim sparse_grad=False",
    layout="contiguous",
    input=Rule(
        lambda xp, grad, dim, index, input_shape, input_dtype: xp.call(SCATTER_ADD, xp.zeros(input_shape, input_dtype), grad, dim, index),
        "zeros_like(input).scatter_add(dim, index, grad)",
    ),
    complex=True,
)
_ZEROED = Rule(lambda xp, grad, dim, index: xp.call(SCATTER_NUMBER, grad, dim, index, 0), "grad.scatter(dim, index, 0)")
SCATTER: Op = Op(
    "ScatterBackward0",
    _scattered,
    "input src",
    "dim index",
    saved="index dim",
    layout="contiguous",
    input=_ZEROED,
    src=Rule(
        lambda xp, grad, dim, index, src_shape: source_gradient(xp, grad, dim, index, src_shape, "ScatterBackward0"),
        "grad.gather(dim, index)",
    ),
    complex=True,
)
SCATTER_NUMBER: Op = Op(
    "ScatterBackward1",
    lambda a, dim, index, value: _scattered(a, value, dim, index),
    "input",
    "dim index value",
    saved="index dim",
    layout="contiguous",
    jvp="transpose",
    input=_ZEROED,
    complex=True,
)
SCATTER_ADD: Op = Op(
    "ScatterAddBackward0",
    lambda a, src, dim, index: _scattered(a, src, dim, index, True),
    "input src",
    "dim index",
    saved="index dim",
    layout="contiguous",
    input=UNCHANGED,
    src=Rule(
        lambda xp, grad, dim, index, src_shape: source_gradient(xp, grad, dim, index, src_shape, "ScatterAddBackward0"),
        "grad.gather(dim, index)",
    ),
    complex=True,
)


def _scatter_reduced(a: Array, source: Array, dim: int, index: Array, reduce: str) -> Array:
    made = np.array(a)
    if not index.size:
        return made
    values = source[tuple(slice(0, n) for n in index.shape)] if source.ndim else source
    places = places_along(dim, index, made.ndim)
    return combined_at(made, places, values, np.add if reduce == "add" else np.multiply)


SCATTER_REDUCED = not_differentiable("scatter", _scatter_reduced, "input source", "dim index reduce")


def out_of_range(index: Array, length: int, least: int = 0) -> int | None:
    """The first position that is not in the range from `least` to `length - 1`; None if all are."""
    if index.size and (index.min() < least or index.max() >= length):
        return int(index[(index < least) | (index >= length)].flat[0])
    return None


def out_of_bounds(text: str, kind: str = "RuntimeError") -> ProgramError:
    """The error of a kernel that meets a position out of range. Errors about shapes and dtypes come before it."""
    return ProgramError(kind, text, code=Code.OUT_OF_RANGE)


def _check_reduce(reduce: str | None) -> None:
    if reduce not in (None, "add", "multiply"):
        raise runtime_error("reduce argument must be either add or multiply.", Code.AFTER_CHECKS)


def check_gather(
    name: str, input: Tensor, dim: int, index: Tensor, src: Tensor | None = None, check_more: Callable[[], None] = lambda: None
) -> None:
    """Raise PyTorch's errors for an index (and a source) of another rank, dtype or size, and for positions out of range.

    `check_more` is called before the positions are looked at.
    """
    at = wrap_dim(dim, input.array.ndim)
    if index.array.size and index.dtype not in (dtypes.int64, dtypes.int32):
        raise runtime_error(f"{name}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype is not input.dtype:
        raise runtime_error(f"{name}(): Expected self.dtype to be equal to src.dtype")
    have, want = input.array.shape or (1,), index.array.shape or (1,)
    shown = f"index {list(index.array.shape)} to be no larger than self {list(input.array.shape)} apart from dimension"
    if not index.array.size:
        return check_more()
    other = "input" if name == "gather" else "self"
    if len(have) != len(want):
        raise shape_error(f"Index tensor must have the same number of dimensions as {other} tensor")
    small = all(n <= m for k, (n, m) in enumerate(zip(want, have, strict=True)) if k != at)
    if name == "gather":
        for k, (n, m) in enumerate(zip(want, have, strict=True)):
            if k != at and n > m:
                raise shape_error(f"Size does not match at dimension {k} expected {shown} {at}")
    elif src is not None:
        given = src.array.shape or (1,)
        fits = small
        for k, n in enumerate(want):
            fits = fits and ((not src.array.ndim and n <= 1) or (src.array.ndim > 0 and n <= size(src, k)))
        if len(given) != len(want):
            raise shape_error("Index tensor must have the same number of dimensions as src tensor")
        if not fits:
            raise shape_error(f"Expected {shown} {at} and to be no larger size than src {list(src.array.shape)}")
    elif not small:
        raise shape_error(f"Expected {shown} {at}")
    check_more()
    bad = out_of_range(index.array, have[at])
    if bad is not None:
        place = at + (is_sample(input) or is_sample(index))
        raise out_of_bounds(f"index {bad} is out of bounds for dimension {place} with size {have[at]}")


def gather(input: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    """Elements at the positions that `index` gives along dimension `dim`; the result has the shape of the index."""
    check_gather("gather", input, dim, index)
    if sparse_grad and input.requires_grad and state.enabled:
        raise runtime_error(
            "gather with sparse_grad=True of a tensor that requires grad is not part of gradcli, which has no sparse tensors"
        )
    limits.check_elements(index.array.size, input.dtype.itemsize)
    return GATHER(input, dim, watched(index))  # type: ignore[no-any-return]


def _number(value: Any, dtype: DType, index: Tensor) -> Any:
    """The number as it is written, which PyTorch does not look at where the index is empty."""
    return scalar_of(value, dtype) if index.array.size else 0


def scatter(input: Tensor, dim: int, index: Tensor, src: Operand) -> Tensor:
    """A copy with the elements of `src` (or one number) written at the positions that `index` gives along dimension `dim`."""
    tensor = src if type(src) is Tensor else None
    check_gather("scatter", input, dim, index, tensor, (lambda: None) if tensor is not None else lambda: _number(src, input.dtype, index))
    if tensor is None:
        return SCATTER_NUMBER(input, dim, watched(index), _number(src, input.dtype, index))  # type: ignore[no-any-return]
    return SCATTER(input, tensor, dim, watched(index))  # type: ignore[no-any-return]


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with the elements of `src` added at the positions that `index` gives along dimension `dim`."""
    check_gather("scatter", input, dim, index, src)
    return SCATTER_ADD(input, src, dim, watched(index))  # type: ignore[no-any-return]


_DEPRECATED = (
    "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch release. Use "
    "torch.scatter_reduce instead for more reduction options. (Triggered internally at "
    "/__w/pytorch/pytorch/aten/src/ATen/native/TensorAdvancedIndexing.cpp:225.)"
)


def scatter_with_reduce(input: Tensor, dim: int, index: Tensor, src: Operand, reduce: str) -> Tensor:
    """`scatter` that adds or multiplies (`reduce` is "add" or "multiply"); PyTorch defines no derivative."""
    check_no_tangent("aten::scatter", input, src)
    return _scatter_with_reduce_(input, dim, index, src, reduce)


def _scatter_with_reduce_(input: Tensor, dim: int, index: Tensor, src: Operand, reduce: str) -> Tensor:
    """The new values of `scatter_` with `reduce`."""
    tensor = src if type(src) is Tensor else None

    def check_more() -> None:
        _check_reduce(reduce)
        if tensor is None:
            _number(src, input.dtype, index)

    check_no_tangent("aten::scatter_", input, src)
    if tensor is not None:
        warnings.emit(_DEPRECATED, once="scatter")
    check_gather("scatter", input, dim, index, tensor, check_more)
    if tensor is None:
        tensor = wrap(dtypes.cast(np.asarray(_number(src, input.dtype, index), input.dtype.np), input.dtype))
    return SCATTER_REDUCED(input, tensor, dim, index.array, reduce)  # type: ignore[no-any-return]


def _overloads(reducing: Callable[..., Tensor]) -> tuple[Overload, ...]:
    return tuple(
        (f"Tensor input, int dim, Tensor index, {source}{more}", run)
        for source in ("Tensor src", "Number value")
        for more, run in (("", scatter), (", *, str reduce", reducing))
    )


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_S: Any = [[7.0, 8.0]]


def check_dim(values: list[Any], out: Tensor) -> None:
    """Raise IndexError for a dimension, the second argument, that the first one has not."""
    wrap_dim(values[1], values[0].array.ndim)


_GATHER_OUT = Out(EXACT, first=True, overlap=("any", "partial"), inspect=check_dim, shape=lambda values: values[2].array.shape)


FUNCTIONS = (
    Function(
        "gather",
        ("Tensor input, int dim, Tensor index, *, bool sparse_grad=False", gather),
        doc="Elements whose position along one dimension an index tells.",
        ops=(GATHER,),
        out=_GATHER_OUT,
        samples=(Sample("gather(x, 1, tensor([[0, 0, 2], [1, 2, 1]]))", None, x=_M),),
    ),
    Function(
        "scatter",
        *_overloads(scatter_with_reduce),
        doc="A copy with elements of src, or a number, written where the index tells.",
        ops=(SCATTER, SCATTER_NUMBER),
        samples=(
            Sample("scatter(x, 1, tensor([[2, 0]]), s)", None, x=_M, s=_S),
            Sample("scatter(x, 0, tensor([[1, 0]]), 5.0)", None, x=_M),
        ),
        written=_overloads(_scatter_with_reduce_),
        overlap="any",
        out=lambda *values: Out(EXACT, autograd="fallback" if type(values[-1]) is str else "derivative"),
    ),
    Function(
        "scatter_add",
        ("Tensor input, int dim, Tensor index, Tensor src", scatter_add),
        doc="A copy with elements of src added where the index tells.",
        ops=(SCATTER_ADD,),
        samples=(Sample("scatter_add(x, 1, tensor([[2, 2]]), s)", None, x=_M, s=_S),),
        inplace=True,
        out=Out(EXACT),
        overlap="any",
    ),
)
