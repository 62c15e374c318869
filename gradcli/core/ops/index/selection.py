"""Operations that pick elements by index along a dimension: their results, and where the gradient goes back to."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import NamedResult, named
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops import checks
from gradcli.core.tensor.node import state
from gradcli.core.tensor.tensor import Array, Tensor, wrap


def _scatter(grad: Array, indices: Array, dim: int, shape: tuple[int, ...]) -> Array:
    made = np.zeros(shape, grad.dtype)
    if shape:
        np.put_along_axis(made, indices, grad, dim)
    else:
        made[...] = grad
    return made


def _gather(x: Array, indices: Array, dim: int) -> Array:
    return np.take_along_axis(x, indices, dim) if x.ndim else x.copy()


SCATTER: Op = Op(
    "ScatterBackward0",
    _scatter,
    "src",
    "indices dim shape",
    src=Rule(lambda xp, grad, indices, dim: xp.call(GATHER, grad, indices, dim), "grad.gather(dim, indices)"),
)
GATHER: Op = Op(
    "GatherBackward0",
    _gather,
    "input",
    "indices dim",
    input=Rule(
        lambda xp, grad, input_shape, indices, dim: xp.call(SCATTER_ADD, grad, indices, dim, input_shape),
        "zeros_like(input).scatter_add(dim, indices, grad)",
    ),
)


def _scatter_add(grad: Array, indices: Array, dim: int, shape: tuple[int, ...]) -> Array:
    made = np.zeros(shape, grad.dtype)
    if not shape:
        return made + grad
    places: list[Any] = list(np.indices(indices.shape, sparse=True))
    places[dim] = indices
    np.add.at(made, tuple(places), grad)
    return made


SCATTER_ADD: Op = Op(
    "ScatterAddBackward0",
    _scatter_add,
    "src",
    "indices dim shape",
    src=Rule(lambda xp, grad, indices, dim: xp.call(GATHER, grad, indices, dim), "grad.gather(dim, indices)"),
)


class Selection(Op):
    """An operation that returns values and the indices they come from; the indices are the last attribute of its node.

    `forward` takes the array, the dimension counted from 0 and the other attributes, with the dimension kept.
    Attributes begin with `dim`; `keepdim`, where there is one, is second.
    """

    __slots__ = ()
    default_jvp = "transpose"  # the operation would select by the tangents

    def __call__(self, *args: Any) -> tuple[Tensor, Tensor]:
        x, dim = args[0], args[1]
        at = checks.wrap_dim(dim, x.array.ndim)
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


def _placed(xp: Any, grad: Any, shape: tuple[int, ...], dim: int, indices: Any, keepdim: bool) -> Any:
    """The gradient of the selected values at their places, 0 elsewhere."""
    at = checks.wrap_dim(dim, len(shape))
    plain = xp.plain(indices)
    if shape and not keepdim:
        grad, plain = xp.expand_dims(grad, at), np.expand_dims(plain, at)
    return xp.call(SCATTER, grad, plain, at, shape)


_KEPT = "zeros_like(input).scatter(dim, indices, grad)"
_REDUCED = "zeros_like(input).scatter(dim, indices if keepdim else indices.unsqueeze(dim), grad if keepdim else grad.unsqueeze(dim))"
#: of a value that equal elements share
SHARED = "at = input.isnan() if out.isnan() else input == out; grad * at / at.sum()"


def reducing(grad_fn: str, forward: Any, more: str = "", note: str = "") -> Selection:
    """A selection of one element along a dimension, with keepdim."""
    rule = Rule(lambda xp, grad, input_shape, dim, keepdim, indices: _placed(xp, grad, input_shape, dim, indices, keepdim), _REDUCED, note)
    return Selection(grad_fn, forward, "input", f"dim keepdim {more} indices", input=rule)


def keeping(grad_fn: str, forward: Any, more: str = "") -> Selection:
    """A selection that keeps the dimension, such as sort."""
    rule = Rule(lambda xp, grad, input_shape, dim, indices: _placed(xp, grad, input_shape, dim, indices, True), _KEPT)
    return Selection(grad_fn, forward, "input", f"dim {more} indices", input=rule)


def result(name: str, pair: tuple[Tensor, Tensor]) -> NamedResult:
    """The pair as `torch.return_types.NAME(values=..., indices=...)`."""
    return named(name, "values", "indices")(pair)


def spread_evenly(xp: Any, grad: Any, input: Any, value: Any) -> Any:
    """The gradient of a selected value shared equally among the elements that equal it."""
    x, v = xp.plain(input), xp.plain(value)
    mask = np.isnan(x) if np.isnan(v) else np.equal(x, v)
    share = xp.call(_OVER, grad, int(np.count_nonzero(mask)))
    return xp.call(_SPREAD, share, mask)


_OVER: Op = Op(
    "DivBackward0", np.true_divide, "input", "other", input=Rule(lambda xp, grad, other: xp.call(_OVER, grad, other), "grad / other")
)
_SPREAD = Op(
    "MaskedFillBackward1",
    lambda value, mask: np.where(mask, value, np.zeros((), value.dtype)),
    "value",
    "mask",
    value=Rule(lambda xp, grad, mask: xp.sum(xp.where(mask, grad, 0.0)), "where(mask, grad, 0).sum()"),
)
