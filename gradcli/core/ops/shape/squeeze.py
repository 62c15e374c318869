"""Dimensions of size 1: squeeze, unsqueeze, atleast_1d, atleast_2d, atleast_3d."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import in_place
from gradcli.core.graph.record import Rule
from gradcli.core.graph.write_checks import check_writable
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import check_rank, is_sample, wrap_dim, wrap_dims
from gradcli.core.ops.list_function import ListFunction
from gradcli.core.ops.shape.views import reshape, view_and_inplace
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import shape_error


def _ones_back(xp: Any, grad: Any, input_shape: Any) -> Any:
    return xp.expand_dims(grad, tuple(i for i, n in enumerate(input_shape) if n == 1))


def _one_back(xp: Any, grad: Any, dim: int, input_shape: Any) -> Any:
    if not input_shape or input_shape[dim] != 1:
        return grad
    return xp.call(UNSQUEEZE, grad, dim)


def _some_back(xp: Any, grad: Any, dim: Any, input_shape: Any) -> Any:
    rank = len(input_shape)
    return xp.expand_dims(grad, tuple(sorted(d % rank for d in dim if input_shape[d] == 1))) if rank else grad


def _squeeze_dims(a: Array, dim: Any) -> Array:
    dims = (dim,) if isinstance(dim, int) else dim
    return a.squeeze(tuple({d % a.ndim for d in dims if a.shape[d] == 1})) if a.ndim else a.view()


_FORMULA = "grad.reshape(input.shape)"
SQUEEZE, SQUEEZE_INPLACE = view_and_inplace("Squeeze", (0, 3), np.squeeze, "", Rule(_ones_back, _FORMULA))
SQUEEZE_DIM, SQUEEZE_DIM_INPLACE = view_and_inplace("Squeeze", (1, 4), _squeeze_dims, "dim", Rule(_one_back, _FORMULA))
SQUEEZE_DIMS, SQUEEZE_DIMS_INPLACE = view_and_inplace("Squeeze", (2, 5), _squeeze_dims, "dim", Rule(_some_back, _FORMULA))


def _insert(a: Array, dim: int) -> Array:
    shape = a.shape
    check_rank(len(shape) + 1)
    at = dim if dim >= 0 else dim + len(shape) + 1
    if a.flags.c_contiguous and a.size and 1 not in shape:
        return a.reshape((*shape[:at], 1, *shape[at:]))
    step = shape[at] * a.strides[at] if at < len(shape) else a.itemsize
    strides = (*a.strides[:at], step, *a.strides[at:])
    return np.lib.stride_tricks.as_strided(a, (*shape[:at], 1, *shape[at:]), strides, writeable=a.flags.writeable)


_UNSQUEEZE_RULE = Rule(lambda xp, grad, dim: xp.call(SQUEEZE_DIM, grad, dim), "grad.squeeze(dim)")
UNSQUEEZE, UNSQUEEZE_INPLACE = view_and_inplace("Unsqueeze", (0, 1), _insert, "dim", _UNSQUEEZE_RULE)


def squeeze(input: Tensor) -> Tensor:
    """A view without the dimensions of size 1."""
    return SQUEEZE(input)  # type: ignore[no-any-return]


def squeeze_dim(input: Tensor, dim: int) -> Tensor:
    """A view without one dimension, if its size is 1."""
    if is_sample(input) and not input.array.ndim and dim not in (0, -1):
        raise shape_error(f"Dimension is out of range (expected to be in range of [-1, 0], but got [{dim}]")
    wrap_dim(dim, input.array.ndim)
    return SQUEEZE_DIM(input, dim)  # type: ignore[no-any-return]


def squeeze_dims(input: Tensor, dim: Sequence[int]) -> Tensor:
    """A view without the given dimensions that have size 1."""
    wrap_dims(dim, input.array.ndim)
    return SQUEEZE_DIMS(input, tuple(dim))  # type: ignore[no-any-return]


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A view with a new dimension of size 1."""
    wrap_dim(dim, input.array.ndim + 1)
    return UNSQUEEZE(input, dim)  # type: ignore[no-any-return]


def _squeeze_dim_(input: Tensor, dim: int) -> Tensor:
    check_writable(input)
    wrap_dim(dim, input.array.ndim)
    return in_place.reshape_(input, SQUEEZE_DIM_INPLACE, dim)


def _squeeze_dims_(input: Tensor, dim: Sequence[int]) -> Tensor:
    check_writable(input)
    wrap_dims(dim, input.array.ndim)
    return in_place.reshape_(input, SQUEEZE_DIMS_INPLACE, tuple(dim))


def _unsqueeze_(input: Tensor, dim: int) -> Tensor:
    check_writable(input)
    wrap_dim(dim, input.array.ndim + 1)
    return in_place.reshape_(input, UNSQUEEZE_INPLACE, dim)


def atleast_1d(input: Tensor) -> Tensor:
    """The tensor with at least one dimension."""
    return reshape(input, (1,)) if input.array.ndim == 0 else input


def atleast_2d(input: Tensor) -> Tensor:
    """The tensor with at least two dimensions; vectors become rows."""
    rank = input.array.ndim
    if rank == 0:
        return reshape(input, (1, 1))
    return unsqueeze(input, 0) if rank == 1 else input


def atleast_3d(input: Tensor) -> Tensor:
    """With at least three dimensions; vectors get one before and one behind, matrices one behind."""
    rank = input.array.ndim
    if rank == 0:
        return reshape(input, (1, 1, 1))
    if rank == 1:
        return unsqueeze(unsqueeze(input, 0), -1)
    return unsqueeze(input, -1) if rank == 2 else input


class _AtLeast(ListFunction):
    """atleast_1d and its kin, which return a tensor for one tensor and a tuple for several."""

    __slots__ = ()

    def __init__(self, name: str, run: Callable[[Tensor], Tensor], sample: Sample) -> None:
        overloads = ("Tensor input", run), ("Tensors tensors", lambda tensors: tuple(map(run, tensors)))
        super().__init__(name, *overloads, doc=run.__doc__ or "", samples=(sample,), method=False)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not isinstance(args[0], (list, tuple)) and not kwargs:
            return self.parser.call(args, {})
        return super().__call__(*args, **kwargs)


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_O: Any = [[[1.0], [2.0], [3.0]]]


FUNCTIONS = (
    Function(
        "squeeze",
        ("Tensor input", squeeze),
        ("Tensor input, int dim", squeeze_dim),
        ("Tensor input, ints dim", squeeze_dims),
        doc="Without dimensions of size 1.",
        ops=(SQUEEZE, SQUEEZE_DIM, SQUEEZE_DIMS),
        samples=(
            Sample("squeeze(x)", np.squeeze, x=_O),
            Sample("squeeze(x, -1)", lambda x: x[..., 0], x=_O),
            Sample("squeeze(x, (0, 2))", np.squeeze, x=_O),
        ),
    ),
    Function(
        "unsqueeze",
        ("Tensor input, int dim", unsqueeze),
        doc="With a new dimension of size 1.",
        ops=(UNSQUEEZE,),
        samples=(Sample("unsqueeze(x, -1)", lambda x: x[..., None], x=_M),),
    ),
    Function(
        "squeeze_",
        ("Tensor input", lambda a: in_place.reshape_(a, SQUEEZE_INPLACE)),
        ("Tensor input, int dim", _squeeze_dim_),
        ("Tensor input, ints dim", _squeeze_dims_),
        doc="Without dimensions of size 1, in place.",
        ops=(SQUEEZE_INPLACE, SQUEEZE_DIM_INPLACE, SQUEEZE_DIMS_INPLACE),
        function=False,
    ),
    Function(
        "unsqueeze_",
        ("Tensor input, int dim", _unsqueeze_),
        doc="With a new dimension of size 1, in place.",
        ops=(UNSQUEEZE_INPLACE,),
        function=False,
    ),
    _AtLeast("atleast_1d", atleast_1d, Sample("atleast_1d(x)", np.atleast_1d, x=[1.0, 2.0, 3.0])),
    _AtLeast("atleast_2d", atleast_2d, Sample("atleast_2d(x)", np.atleast_2d, x=[1.0, 2.0, 3.0])),
    _AtLeast("atleast_3d", atleast_3d, Sample("atleast_3d(x)", np.atleast_3d, x=[1.0, 2.0, 3.0])),
)
