"""Slices reduced into the slices that an index lists: index_reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule, without_jvp
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.graph.write_checks import check_memory, warn_of_samples
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import not_implemented, wrap_dim
from gradcli.core.ops.index.adding import combined_in_bfloat16, combined_in_steps
from gradcli.core.ops.index.gather_scatter import out_of_bounds, out_of_range
from gradcli.core.ops.index.index_select import INDEX_FILL, check_index_and_source, different_slices, shaped_as_input
from gradcli.core.ops.index.scatter_reduce import differentiable_once, gradient_of_input, gradient_of_source, reduced_into
from gradcli.core.ops.rules import check_no_tangent, in_half_precision
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

_ONCE = differentiable_once("index_reduce", "source")


def _spread(index: Array, dim: int, shape: tuple[int, ...]) -> Array:
    """An index of slices along dim, expanded to an index of elements."""
    if not shape:
        return index.reshape(())
    return np.broadcast_to(index.reshape([-1 if d == dim % len(shape) else 1 for d in range(len(shape))]), shape)


def _input_rule(xp: Any, grad: Any, input: Any, source: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool) -> Any:
    places = _spread(index, dim, xp.plain(source).shape)
    grad = gradient_of_input(xp, grad, input, source, out, dim, places, reduce, include_self)
    if not include_self and index.dtype != np.int64:
        raise ProgramError("IndexError", "index_fill_(): Expected dtype int64 for index.")
    return grad if include_self else xp.call(INDEX_FILL, grad, dim, index, 0)


def _source_rule(xp: Any, grad: Any, input: Any, source: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool) -> Any:
    places = _spread(index, dim, xp.plain(source).shape)
    return gradient_of_source(xp, grad, input, source, out, dim, places, reduce, include_self, _ONCE)


_AT = "at = index.view([-1 if d == dim % input.dim() else 1 for d in range(input.dim())]).expand(source.shape); "
_HITS = (
    "hits = (input == out).double().scatter_add(dim, at, (source == out.gather(dim, at)).double()); "
    "ones = zeros(input.shape).scatter_add(dim, at, torch.ones(source.shape)) + include_self; "
)


def _slices_reduced(into: Any) -> Callable[..., Array]:
    def reduced(a: Array, source: Array, dim: int, index: Array, reduce: str, include_self: bool) -> Array:
        return reduced_into(a, source, dim, _spread(index, dim, source.shape), reduce, include_self, into)

    return reduced


INDEX_REDUCE: Op = Op(
    "IndexReduceBackward0",
    _slices_reduced(combined_in_steps),
    "input source",
    "dim index reduce include_self",
    layout="contiguous",
    jvp=without_jvp("index_reduce"),
    input=Rule(
        _input_rule,
        f"{_AT}{_HITS}g = grad / ones.clamp(min=1) if reduce == 'mean' else grad * out / input if reduce == 'prod' else "
        "grad * (input == out) / hits; g if include_self else g.index_fill(dim, index, 0)",
        "shared equally among ties",
    ),
    source=Rule(
        _source_rule,
        f"{_AT}{_HITS}(grad / ones.clamp(min=1)).gather(dim, at) if reduce == 'mean' else (grad * out).gather(dim, at) / source if "
        "reduce == 'prod' else (grad / hits).gather(dim, at) * (source == out.gather(dim, at))",
        "shared equally among ties",
    ),
)
_INDEX_REDUCE_BFLOAT = in_half_precision(INDEX_REDUCE, _slices_reduced(combined_in_bfloat16), "contiguous")


def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True) -> Any:
    """A copy in which the slices of source are reduced into the slices of dimension `dim` that index lists.

    `reduce` is "mean", "prod", "amax" or "amin"; without `include_self` the slices of input do not take part.
    """
    warn_of_samples("index_reduce", input, index, source)
    check_no_tangent("index_reduce", input, source)
    return _index_reduced(input, dim, index, source, reduce, include_self, False)


def _index_reduce_(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool) -> Any:
    """The new values of `index_reduce_`."""
    return _index_reduced(input, dim, index, source, reduce, include_self, True)


def _check_reduce(reduce: str) -> None:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise runtime_error(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")


def _index_reduced(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, in_place: bool) -> Any:
    """The new values. Raises PyTorch's errors, among them that of a tensor that is written in place and whose elements share memory."""
    _check_reduce(reduce)
    at = wrap_dim(dim, input.array.ndim)
    a, values = input.array.shape, source.array.shape
    check_index_and_source("index_reduce", input, at, index, source)
    if (a[:at] + a[at + 1 :] if a else a) != (values[:at] + values[at + 1 :] if a and values else values):
        raise different_slices(input, source)
    if in_place:
        check_memory(input)
    warnings.emit(
        "index_reduce() is in beta and the API may change at any time. (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/TensorAdvancedIndexing.cpp:1523.)",
        once="index_reduce",
    )
    if len(a) > 1 and index.array.size and not a[at]:
        raise shape_error(f"select(): index 0 out of range for tensor of size {list(a)} at dimension {at}", "IndexError")
    length = a[at] if a else 1
    # PyTorch fills the places first, of which -1 is the last one
    bad = None if include_self else out_of_range(index.array, length, -length)
    if bad is not None:
        raise out_of_bounds(f"index {bad} is out of bounds for dimension {at} with size {length}", "IndexError")
    if index.array.size and not (index.array.min() >= 0 and index.array.max() < length):
        raise out_of_bounds("index out of range in self", "IndexError")
    if input.dtype is dtypes.bool_ and not include_self:
        raise not_implemented("index_reduce_func_exclude_input_init", input.dtype)
    if input.dtype is dtypes.bool_ and len(a) == 1:
        raise not_implemented("index_func_", input.dtype)
    if input.dtype is dtypes.bool_ and reduce == "mean":
        raise not_implemented("div_floor_cpu", input.dtype)
    check_no_tangent("index_reduce_", input, source)
    record = _INDEX_REDUCE_BFLOAT if input.dtype is dtypes.bfloat16 else INDEX_REDUCE
    return record(input, source, dim, watched(index), reduce, include_self)


def _check_index_reduce(values: list[Any], out: Tensor) -> None:
    input, dim, index, source, reduce, _ = values
    _check_reduce(reduce)
    check_index_and_source("index_reduce", input, wrap_dim(dim, input.array.ndim), index, source)


_SAMPLE = "x.index_reduce(1, tensor([2, 0, 2]), y, '{}'{})"
_X: Any = [[1.0, 2.5, 3.0], [4.0, 0.5, 6.0]]
_Y: Any = [[7.0, 8.0, 1.5], [0.25, 2.0, 9.0]]
_BY_INDEX = "Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True"
FUNCTIONS = (
    Function(
        "index_reduce",
        (_BY_INDEX, index_reduce),
        doc="A copy with the slices of source reduced into those that index gives along dim.",
        ops=(INDEX_REDUCE,),
        samples=tuple(
            Sample(_SAMPLE.format(how, more), None, x=_X, y=_Y)
            for how in ("mean", "prod", "amax", "amin")
            for more in ("", ", include_self=False")
        ),
        written=((_BY_INDEX, _index_reduce_),),
        overlap="any",
        out=shaped_as_input(_check_index_reduce),
    ),
)
