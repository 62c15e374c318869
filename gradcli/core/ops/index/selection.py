"""What operations share that select elements along a dimension and return their indices: max, median, sort, topk ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.named_tuples import NamedResult, named
from gradcli.core.functions.out import Shape
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.kernels.memory_format import Layout
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.divide_remainder import DIV
from gradcli.core.ops.index.gather_scatter import SCATTER
from gradcli.core.ops.index.masked import MASKED_FILL_TENSOR
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import shape_error


def check_sorting(x: Array) -> None:
    """Raise LimitError where sorting would take too long."""
    limits.check_work(x.size * max(x.size.bit_length(), 1))


def with_dimension(
    fits: Callable[[int, int, int], bool], rank: int, dim: int, keepdim: bool
) -> Callable[[Shape, Shape], tuple[Shape, Shape]]:
    """The shapes that a warning of `out` compares: PyTorch gives the dimension back to a result, and to an `out` whose rank `fits`.

    `fits` gets the ranks of `out` and of the input, and the dimension.
    """

    def compared(have: Shape, wanted: Shape) -> tuple[Shape, Shape]:
        if not rank or keepdim:
            return have, wanted
        at = wrap_dim(dim, rank)
        return (*have[:at], 1, *have[at:]) if fits(len(have), rank, at) else have, (*wanted[:at], 1, *wanted[at:])

    return compared


def check_nonempty(name: str, x: Tensor, dim: int) -> None:
    """Raise IndexError for a reduction without identity along an empty dimension."""
    at = wrap_dim(dim, x.array.ndim)
    if x.array.ndim and not x.array.shape[at]:
        raise shape_error(f"{name}(): Expected reduction dim {at} to have non-zero size.", "IndexError")


def of_nothing(x: Array, dim: int, count: int = 1) -> tuple[Array, Array]:
    """Values and indices for an array without elements; `count` is the size of the dimension in the result."""
    shape = (*x.shape[:dim], count, *x.shape[dim + 1 :])
    return np.zeros(shape, x.dtype), np.zeros(shape, np.int64)


class Selection(Op):
    """An operation that returns values and the indices they come from. The indices are the last plain argument of its node.

    `forward` takes the array, the dimension counted from 0 and the other plain arguments, and keeps the dimension. The plain
    arguments begin with `dim`; `keepdim` is the second, if the operation has it.
    """

    __slots__ = ()
    default_jvp = "transpose"  # applied to tangents, the operation would select other elements

    def __call__(self, *args: Any) -> tuple[Tensor, Tensor]:
        if state.mapped and (made := state.mapped[-1].on_batch(self, args)) is not None:
            return made  # type: ignore[no-any-return]
        x, dim = args[0], args[1]
        at = wrap_dim(dim, x.array.ndim)
        if x.dtype.is_special:
            self.check_real((x,))
        keepdim = "keepdim" not in self.attrs or args[2]
        rest = args[3:] if "keepdim" in self.attrs else args[2:]
        array = x.array if x.array.ndim else x.array.reshape(1)
        values, indices = self.forward(array, at, *rest)
        if not x.array.ndim:
            values, indices = values.reshape(()), indices.reshape(())
        elif not keepdim:
            values, indices = values.squeeze(at), indices.squeeze(at)
        out = Tensor(np.asarray(values), x.dtype)
        index = wrap(np.asarray(indices, np.int64))
        if state.enabled:
            self.record(out, (x,), (*args[1:], index))
        elif state.inference:
            out.meta = {"inference": True}
            index.meta = {"inference": True}
        if state.dual is not None:
            state.dual.push(self, (x,), (*args[1:], index), (out,))
        return out, index

    def kept_attrs(self, attrs: tuple[Any, ...], outs: Sequence[Tensor]) -> tuple[Any, ...]:
        return (*attrs, outs[1])


def _placed(xp: Any, grad: Any, shape: tuple[int, ...], dtype: DType, dim: int, indices: Any, keepdim: bool) -> Any:
    """The gradient of the selected values at their positions in the input, 0 elsewhere."""
    at = wrap_dim(dim, len(shape))
    plain = xp.plain(indices)
    if shape and not keepdim:
        grad, plain = xp.expand_dims(grad, at), np.expand_dims(plain, at)
    return xp.call(SCATTER, xp.zeros(shape, dtype), grad, at, plain)


_KEPT = "zeros_like(input).scatter(dim, indices, grad)"
_REDUCED = "zeros_like(input).scatter(dim, indices if keepdim else indices.unsqueeze(dim), grad if keepdim else grad.unsqueeze(dim))"
#: the formula of `spread_evenly`
SHARED = "at = input.isnan() if out.isnan() else input == out; grad * at / at.sum()"


def reducing(grad_fn: str, forward: Any, more: str = "", note: str = "") -> Selection:
    """The record of a selection of one element along a dimension, with keepdim; `more` are further plain arguments."""
    rule = Rule(
        lambda xp, grad, input_shape, input_dtype, dim, keepdim, indices: _placed(
            xp, grad, input_shape, input_dtype, dim, indices, keepdim
        ),
        _REDUCED,
        note,
    )
    return Selection(
        grad_fn,
        forward,
        "input",
        f"dim keepdim {more} indices",
        layout="contiguous",
        saved="indices dim keepdim self_sym_sizes",
        input=rule,
    )


def keeping(grad_fn: str, forward: Any, more: str = "", layout: Layout = "preserved") -> Selection:
    """The record of a selection that keeps the dimension, such as sort; `more` are further plain arguments."""
    rule = Rule(
        lambda xp, grad, input_shape, input_dtype, dim, indices: _placed(xp, grad, input_shape, input_dtype, dim, indices, True), _KEPT
    )
    return Selection(grad_fn, forward, "input", f"dim {more} indices", layout=layout, saved="indices dim self_sym_sizes", input=rule)


def result(name: str, pair: tuple[Tensor, Tensor]) -> NamedResult:
    """The pair as `torch.return_types.NAME(values=..., indices=...)`."""
    return named(name, "values", "indices")(pair)


def read_evenly(xp: Any, inputs: Any, _: Any, tangents: Any, out: Any) -> Any:
    """The mean of the tangents of the elements that equal a selected value; nan where none does, since that is nan."""
    mask = np.equal(inputs[0].array, out.array)
    share = xp.call(DIV, tangents[0], int(np.count_nonzero(mask)))
    return xp.sum(scalars.times_data(xp, share, mask.astype(inputs[0].array.dtype)))


def spread_evenly(xp: Any, grad: Any, input: Any, value: Any, input_dtype: DType) -> Any:
    """The gradient of a selected value shared equally among the elements that equal it."""
    x, v = xp.plain(input), xp.plain(value)
    mask = np.isnan(x) if np.isnan(v) else np.equal(x, v)
    share = xp.call(DIV, grad, int(np.count_nonzero(mask)))
    return xp.call(MASKED_FILL_TENSOR, xp.zeros(x.shape, input_dtype), share, mask)
