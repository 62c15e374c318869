"""The records of gathering: elements picked or written by index tensors and masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.graph.record import Op, Rule, no_derivative
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.where import MASKED_FILL
from gradcli.core.tensor.tensor import Array
from gradcli.errors import ProgramError


def _error(text: str, kind: str = "RuntimeError") -> ProgramError:
    return ProgramError(kind, text)


def places_along(dim: int, index: Array, rank: int) -> tuple[Any, ...]:
    """An index for numpy that takes `index` along one dimension and each element's own place along the others."""
    if not rank:
        return (...,)
    if not index.ndim:
        return (index,)
    places: list[Any] = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    return tuple(places)


def _at(dim: int, index: Any, rank: int) -> tuple[Any, ...]:
    """An index for numpy of whole slices along a dimension."""
    return (slice(None),) * (dim % rank if rank else 0) + ((index,) if rank else (...,))


def _gather(a: Array, dim: int, index: Array) -> Array:
    return np.asarray(a[places_along(dim, index, a.ndim)]) if a.ndim else np.broadcast_to(a, index.shape).copy()


def _scattered(a: Array, src: Any, dim: int, index: Array, add: bool = False) -> Array:
    made = np.array(a)
    if isinstance(src, np.ndarray) and src.shape != index.shape and src.ndim:
        src = src[tuple(slice(0, n) for n in index.shape)]
    if not made.ndim:
        given = np.asarray(src).reshape(-1)[: index.size]
        made[...] = made + np.sum(given) if add else given[-1]
    elif add:
        np.add.at(made, places_along(dim, index, made.ndim), src)
    else:
        made[places_along(dim, index, made.ndim)] = src
    return made


def source_gradient(xp: Any, grad: Any, dim: int, index: Any, src_shape: Any, name: str) -> Any:
    # a scalar counts as a vector of one: the engine makes it a scalar again
    if tuple(src_shape) != index.shape and (src_shape or index.shape != (1,)):
        raise _error(
            f"Function {name} returned an invalid gradient at index 1 - got {list(index.shape)} but expected shape compatible with "
            f"{list(src_shape)}"
        )
    return xp.call(GATHER, grad, dim, index)


GATHER: Op = Op(
    "GatherBackward0",
    _gather,
    "input",
    "dim index",
    input=Rule(
        lambda xp, grad, dim, index, input_shape, input_dtype: xp.call(SCATTER_ADD, xp.zeros(input_shape, input_dtype), grad, dim, index),
        "zeros_like(input).scatter_add(dim, index, grad)",
    ),
)
_ZEROED = Rule(lambda xp, grad, dim, index: xp.call(SCATTER_NUMBER, grad, dim, index, 0), "grad.scatter(dim, index, 0)")
SCATTER: Op = Op(
    "ScatterBackward0",
    _scattered,
    "input src",
    "dim index",
    input=_ZEROED,
    src=Rule(
        lambda xp, grad, dim, index, src_shape: source_gradient(xp, grad, dim, index, src_shape, "ScatterBackward0"),
        "grad.gather(dim, index)",
    ),
)
SCATTER_NUMBER: Op = Op(
    "ScatterBackward1",
    lambda a, dim, index, value: _scattered(a, value, dim, index),
    "input",
    "dim index value",
    jvp="transpose",
    input=_ZEROED,
)
SCATTER_ADD: Op = Op(
    "ScatterAddBackward0",
    lambda a, src, dim, index: _scattered(a, src, dim, index, True),
    "input src",
    "dim index",
    input=Rule(lambda grad: grad, "grad"),
    src=Rule(
        lambda xp, grad, dim, index, src_shape: source_gradient(xp, grad, dim, index, src_shape, "ScatterAddBackward0"),
        "grad.gather(dim, index)",
    ),
)


def _index_select(a: Array, dim: int, index: Array) -> Array:
    return np.take(a, index, axis=dim) if a.ndim else a.copy()


def _index_add(a: Array, source: Array, dim: int, index: Array, alpha: Any) -> Array:
    made = np.array(a)
    source = source if alpha == 1 else source * alpha
    if made.ndim:
        np.add.at(
            made,
            _at(dim, index, made.ndim),
            source.reshape((*made.shape[: dim % made.ndim], index.size, *made.shape[dim % made.ndim + 1 :])),
        )
    else:
        made[...] += np.sum(source)
    return made


def _slices(xp: Any, grad: Any, dim: int, index: Any, source_shape: Any) -> Any:
    return xp.broadcast_to(xp.call(INDEX_SELECT, grad, dim, index), source_shape)


INDEX_SELECT: Op = Op(
    "IndexSelectBackward0",
    _index_select,
    "input",
    "dim index",
    input=Rule(
        lambda xp, grad, dim, index, input_shape, input_dtype: xp.call(INDEX_ADD, xp.zeros(input_shape, input_dtype), grad, dim, index, 1),
        "zeros_like(input).index_add(dim, index, grad)",
    ),
)
INDEX_ADD: Op = Op(
    "IndexAddBackward0",
    _index_add,
    "input source",
    "dim index alpha",
    input=Rule(lambda grad: grad, "grad"),
    source=Rule(
        lambda xp, grad, dim, index, alpha, source_shape: (
            _slices(xp, grad, dim, index, source_shape)
            if alpha == 1
            else scalars.times(xp, _slices(xp, grad, dim, index, source_shape), alpha)
        ),
        "alpha * grad.index_select(dim, index)",
    ),
)


def _scatter_reduced(a: Array, source: Array, dim: int, index: Array, reduce: str) -> Array:
    made = np.array(a)
    values = source[tuple(slice(0, n) for n in index.shape)] if source.ndim else source
    (np.add if reduce == "add" else np.multiply).at(made, places_along(dim, index, made.ndim), values)
    return made


def _no_derivative(grad: Any) -> Any:
    raise no_derivative("aten::scatter")


SCATTER_REDUCED = Op(
    "NotImplemented",
    _scatter_reduced,
    "input source",
    "dim index reduce",
    full_name="torch::autograd::NotImplemented",
    input=Rule(_no_derivative, ""),
    source=Rule(_no_derivative, ""),
)


def _filled(a: Array, value: Any, dim: int, index: Array) -> Array:
    made = np.array(a)
    made[_at(dim, index, made.ndim)] = value
    return made


_UNFILLED = Rule(lambda xp, grad, dim, index: xp.call(INDEX_FILL, grad, dim, index, 0), "grad.index_fill(dim, index, 0)")
INDEX_FILL: Op = Op(
    "IndexFillBackward0",
    lambda a, dim, index, value: _filled(a, value, dim, index),
    "input",
    "dim index value",
    jvp="transpose",
    input=_UNFILLED,
)
INDEX_FILL_TENSOR: Op = Op(
    "IndexFillBackward1",
    _filled,
    "input value",
    "dim index",
    input=_UNFILLED,
    value=Rule(lambda xp, grad, dim, index: xp.sum(xp.call(INDEX_SELECT, grad, dim, index)), "grad.index_select(dim, index).sum()"),
)
INDEX_COPY: Op = Op(
    "IndexCopyBackward0",
    _filled,
    "input source",
    "dim index",
    input=_UNFILLED,
    source=Rule(lambda xp, grad, dim, index, source_shape: _slices(xp, grad, dim, index, source_shape), "grad.index_select(dim, index)"),
)


def _masked_scatter(a: Array, source: Array, mask: Array) -> Array:
    shape = np.broadcast_shapes(a.shape, mask.shape)
    made = np.array(np.broadcast_to(a, shape))
    wide = np.broadcast_to(mask, shape)
    made[wide] = source.reshape(-1)[: np.count_nonzero(wide)]
    return made


def _masked_back(grad: Array, mask: Array, shape: Any) -> Array:
    made = np.zeros(shape, grad.dtype)
    taken = grad[np.broadcast_to(mask, grad.shape)]
    made.reshape(-1)[: taken.size] = taken
    return made


def _masked_select_rule(xp: Any, grad: Any, mask: Any, input_shape: Any, input_dtype: Any) -> Any:
    shape = np.broadcast_shapes(input_shape, mask.shape)
    return xp.call(MASKED_SCATTER, xp.zeros(shape, input_dtype), grad, mask)


MASKED_SELECT: Op = Op(
    "MaskedSelectBackward0",
    lambda a, mask: np.broadcast_to(a, np.broadcast_shapes(a.shape, mask.shape))[
        np.broadcast_to(mask, np.broadcast_shapes(a.shape, mask.shape))
    ],
    "input",
    "mask",
    input=Rule(_masked_select_rule, "zeros_like(input).masked_scatter(mask, grad)"),
)
MASKED_SCATTER: Op = Op(
    "MaskedScatterBackward0",
    _masked_scatter,
    "input source",
    "mask",
    input=Rule(lambda xp, grad, mask: xp.call(MASKED_FILL, grad, mask, 0.0), "grad.masked_fill(mask, 0)"),
    source=Rule(
        lambda xp, grad, mask, source_shape: xp.call(MASKED_SCATTER_BACK, grad, mask, source_shape),
        "taken = grad.masked_select(mask); F.pad(taken, (0, source.numel() - taken.numel())).reshape(source.shape)",
    ),
)
MASKED_SCATTER_BACK: Op = Op(
    "MaskedScatterBackwardBackward0",
    _masked_back,
    "input",
    "mask shape",
    input=Rule(
        lambda xp, grad, mask, input_shape, input_dtype: xp.call(MASKED_SCATTER, xp.zeros(input_shape, input_dtype), grad, mask),
        "zeros_like(input).masked_scatter(mask, grad)",
    ),
)


def _put(a: Array, source: Array, index: Array, accumulate: bool) -> Array:
    made = np.array(a, order="C")
    flat = made.reshape(-1)
    if accumulate:
        np.add.at(flat, index.reshape(-1), source.reshape(-1))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return made


def _put_rule(xp: Any, grad: Any, index: Any, accumulate: bool, input_dtype: Any) -> Any:
    return grad if accumulate else xp.call(PUT, grad, xp.zeros(index.shape, input_dtype), index, False)


TAKE: Op = Op(
    "TakeBackward0",
    lambda a, index: a.reshape(-1)[index],
    "input",
    "index",
    input=Rule(
        lambda xp, grad, index, input_shape, input_dtype: xp.call(PUT, xp.zeros(input_shape, input_dtype), grad, index, True),
        "zeros_like(input).put(index, grad, True)",
    ),
)
PUT: Op = Op(
    "PutBackward0",
    _put,
    "input source",
    "index accumulate",
    input=Rule(_put_rule, "grad if accumulate else grad.put(index, zeros_like(source))"),
    source=Rule(lambda xp, grad, index, source_shape: xp.reshape(xp.call(TAKE, grad, index), source_shape), "grad.take(index)"),
)
