"""What reductions share: sums as accurate as PyTorch's, reduced dimensions restored, operations that compute in another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.record import Op
from gradcli.core.kernels import Array, memory_format
from gradcli.core.kernels.summation import LARGEST, total
from gradcli.core.ops.checks import wrap_dims
from gradcli.core.ops.shape.casting import warn_of_discarded
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error

#: the dimensions that a function reduces: all for None and for ()
Dims = Sequence[int] | None

#: numpy's stubs have no overload for a keepdims that is a variable
_reduce: Any = np.add.reduce

#: numpy adds pairwise along the last axis only: longer sums along other axes are computed in double precision
_LONG = 256


def into_given_dtype(*values: Any) -> Out:
    """How sums and products take `out`: they compute in its dtype, unless the call, in its last argument, gives one."""
    return Out("" if values[-1] is None else EXACT, own_dtype=True, memory="unchecked", adds=True, shape=shape_of_real)


def shape_of_real(values: list[Any]) -> tuple[int, ...] | None:
    """The shape of a reduction of complex numbers to real ones: `out` has it before PyTorch warns of the parts that it leaves out."""
    input, dtype = values[0], values[-1]
    if not input.dtype.is_complex or dtype is None or dtype.is_complex or dtype is dtypes.bool_:
        return None
    return shape_of(input, *(values[1:3] if len(values) > 2 else (None, False)))


def shape_of(input: Tensor, dim: int | Dims, keepdim: bool) -> tuple[int, ...]:
    """The shape that a reduction leaves. Raises the errors of `wrap_dims`."""
    shape = input.array.shape
    dims = wrap_dims((dim,) if isinstance(dim, int) else dim, len(shape))
    return tuple(1 if d in dims else n for d, n in enumerate(shape) if keepdim or d not in dims)


def sum_dtype(x: Tensor, dtype: DType | None) -> DType:
    """The dtype that sums and products are computed in: the given one, else int64 for bool and integers."""
    return dtype or (x.dtype if x.dtype.is_differentiable else dtypes.int64)


def add_up(x: Array, dims: tuple[int, ...] | None = None, keepdim: bool = False) -> Any:
    """The sum over dimensions (None: all), an array or a scalar. Half precision is added up in single precision."""
    kind = x.dtype.type
    if kind is np.float16:
        return np.asarray(_reduce(x, axis=dims, keepdims=keepdim, dtype=np.float32)).astype(np.float16)
    if kind is np.float32 and x.size > LARGEST and dims is not None and x.ndim - 1 not in dims and any(x.shape[d] > _LONG for d in dims):
        return np.asarray(_reduce(x, axis=dims, keepdims=keepdim, dtype=np.float64)).astype(np.float32)
    return total(x, axis=dims, keepdims=keepdim)


def restored(xp: Any, value: Any, shape: Sequence[int], dim: Sequence[int] | None, keepdim: bool) -> Any:
    """A reduced value with its reduced dimensions restored as dimensions of size 1; `shape` is that of the input."""
    if keepdim or not shape:
        return value
    return xp.expand_dims(value, wrap_dims(dim, len(shape)))


def spread(xp: Any, grad: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a reduced value, repeated to the input's shape."""
    return xp.broadcast_to(restored(xp, grad, shape, dim, keepdim) if dim else grad, shape)


def count_of(shape: Sequence[int], dim: Sequence[int] | None) -> int:
    """The number of elements that are reduced to each result."""
    count = 1
    for d in wrap_dims(dim, len(shape)):
        count *= shape[d]
    return count


def logsumexp_jvp(xp: Any, x: Tensor, tangent: Any, dim: Any, keepdim: bool) -> Any:
    """The sum of the tangent, weighted by the softmax of x. Dimensions are a number, a tuple or None, for all."""
    dim = wrap_dims(dim if isinstance(dim, tuple) or dim is None else (dim,), x.array.ndim)
    top = x.array.max(dim, keepdims=True, initial=-np.inf)
    weights = xp.exp(x - Tensor(np.where(np.isfinite(top), top, 0).astype(x.dtype.np), x.dtype))
    return xp.sum(weights * tangent, dim, keepdim) / xp.sum(weights, dim, keepdim)


class Typed(Op):
    """An operation on one tensor whose last plain argument is the dtype that it computes in. The conversion has no node of its own."""

    __slots__ = ()
    #: whether results are real for a complex dtype
    real = False

    def __call__(self, *args: Any) -> Any:
        if state.mapped and (made := state.mapped[-1].on_batch(self, args)) is not None:
            return made
        x, dtype = args[0], args[-1]
        if dtype.is_complex and self.complex is None:
            raise self.no_complex(dtype)
        array = x.array if x.dtype is dtype else self.cast(x.array, dtype)
        result = np.asarray(self.forward(array, *args[1:]))
        if self.real:
            dtype = dtype.real
        if result.dtype is not dtype.np:
            result = result.astype(dtype.np)
        if result.ndim > 1:
            result = memory_format.contiguous(result)
        out = Tensor(self._special(result, dtype) if dtype.is_special else result, dtype)
        if state.enabled:
            if x.requires_grad:
                if not dtype.is_differentiable:
                    raise runtime_error(f"Autograd not support dtype: {dtype.torch_name}")
                self._link(out, args[:1], args[1:], (x.edge(),), 1)
        elif state.inference:
            out.meta = {"inference": True}
        if state.dual is not None:
            state.dual.push(self, args[:1], args[1:], (out,))
        return out

    def cast(self, x: Array, dtype: DType) -> Array:
        """The elements in the dtype that is computed in."""
        warn_of_discarded(x, dtype)
        return dtypes.cast(x, dtype)
