"""Choosing between values elementwise: where, clamp, maximum and minimum, masked_fill."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.signature import scalar_of
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule, broadcast_error
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.ops.elementwise import scalars
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import state
from gradcli.core.tensor.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError


def _cast(values: Sequence[Any], dtype: DType) -> list[Any]:
    """Arrays of one dtype from tensors and numbers; None stays None."""
    made: list[Any] = []
    for v in values:
        if v is None:
            made.append(None)
        elif type(v) is Tensor:
            made.append(v.array if v.array.dtype is dtype.np else v.array.astype(dtype.np))
        else:
            made.append(np.array(scalar_of(v, dtype), dtype.np))
    return made


class Choice(Op):
    """An operation whose operands are promoted among themselves: tensors, numbers or, for an absent bound, None.

    A condition is an attribute: PyTorch's nodes have no edge for it.
    """

    __slots__ = ()
    default_jvp = "elementwise"

    def __call__(self, *args: Any) -> Tensor:
        n = len(self.tensors)
        values = args[:n]
        dtype = dtypes.result_type([a for a in values if a is not None])
        arrays = _cast(values, dtype)
        data = [a.array for a in args[n:] if type(a) is Tensor]
        check_shapes([*data, *(a for a in arrays if a is not None)])
        result = np.asarray(self.forward(*arrays, *args[n:]))
        out = Tensor(dtypes.round_bfloat16(result) if dtype is dtypes.bfloat16 else result, dtype)
        if state.enabled:
            self.record(out, values, tuple([watched(a) if type(a) is Tensor else a for a in args[n:]]))
        elif state.inference:
            out.meta = {"inference": True}
        if state.dual is not None:
            state.dual.push(self, values, args[n:], (out,))
        return out


def _data(mask: Any) -> Array:
    return mask.array if type(mask) is Tensor else mask


def check_shapes(arrays: Sequence[Array]) -> None:
    """Refuse what does not broadcast, in the order of the arguments, and what would be too large."""
    shape = arrays[0].shape
    if all(a.shape == shape for a in arrays):
        return
    for a in arrays[1:]:
        try:
            shape = np.broadcast_shapes(shape, a.shape)
        except ValueError:
            raise broadcast_error(shape, a.shape) from None
    limits.check_elements(math.prod(shape), arrays[-1].itemsize)


WHERE = Choice(
    "WhereBackward0",
    lambda x, y, condition: np.where(_data(condition), x, y),
    "input other",
    "condition",
    input=Rule(lambda xp, grad, condition: xp.where(xp.plain(condition), grad, 0.0), "where(condition, grad, 0)"),
    other=Rule(lambda xp, grad, condition: xp.where(xp.plain(condition), 0.0, grad), "where(condition, 0, grad)"),
)


def where(condition: Tensor, input: Any, other: Any) -> Any:
    """Elements of `input` where `condition` holds, of `other` elsewhere; either may be a number."""
    if condition.dtype is dtypes.uint8:
        warnings.emit(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of PyTorch. "
            "Use a boolean condition instead. (Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/TensorCompare.cpp:621.)",
            once="where",
        )
        condition = wrap(condition.array.astype(bool))
    elif condition.dtype is not dtypes.bool_:
        raise ProgramError(
            "RuntimeError", f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.torch_name}"
        )
    return WHERE(input, other, condition)


def where_indices(condition: Tensor) -> tuple[Tensor, ...]:
    """The indices of what is true, one tensor a dimension: `nonzero(condition, as_tuple=True)`."""
    return tuple(wrap(i.astype(np.int64, copy=False)) for i in np.nonzero(np.atleast_1d(condition.array)))


# --- clamp ---


def _clamp(x: Any, low: Any, high: Any) -> Any:
    if low is not None:
        x = np.maximum(low, x)
    return x if high is None else np.minimum(high, x)


def _within(xp: Any, x: Any, low: Any, high: Any) -> Any:
    x, low, high = xp.plain(x), xp.plain(low), xp.plain(high)
    if low is None:
        return np.less_equal(x, high)
    if high is None:
        return np.greater_equal(x, low)
    return np.logical_and(np.greater_equal(x, low), np.less_equal(x, high))


_EDGES = "the gradient passes at the bounds themselves"


class _ClampNumbers(Choice):
    """clamp with numbers as bounds: they are attributes, but promote like operands."""

    __slots__ = ()

    def __call__(self, *args: Any) -> Tensor:
        x = args[0]
        dtype = dtypes.result_type([v for v in args if v is not None])
        result = np.asarray(self.forward(*_cast(args, dtype)))
        out = Tensor(dtypes.round_bfloat16(result) if dtype is dtypes.bfloat16 else result, dtype)
        if state.enabled:
            self.record(out, (x,), args[1:])
        elif state.inference:
            out.meta = {"inference": True}
        if state.dual is not None:
            state.dual.push(self, (x,), args[1:], (out,))
        return out


CLAMP = _ClampNumbers(
    "ClampBackward1",
    _clamp,
    "input",
    "min max",
    input=Rule(
        lambda xp, grad, input, min, max: xp.where(_within(xp, input, min, max), grad, 0.0),
        "where((min is None or input >= min) & (max is None or input <= max), grad, 0)",
        _EDGES,
    ),
)


def _clamp_low(xp: Any, grad: Any, input: Any, min: Any, max: Any) -> Any:
    x, low = xp.plain(input), xp.plain(min)
    below = np.less(x, low)
    return xp.where(below if max is None else below & np.less(low, xp.plain(max)), grad, 0.0)


def _clamp_high(xp: Any, grad: Any, input: Any, min: Any, max: Any) -> Any:
    x, high = xp.plain(input), xp.plain(max)
    above = np.greater(x, high)
    return xp.where(above if min is None else above | np.less(high, xp.plain(min)), grad, 0.0)


CLAMP_TENSORS = Choice(
    "ClampBackward0",
    _clamp,
    "input min max",
    input=Rule(
        lambda xp, grad, input, min, max: xp.where(_within(xp, input, min, max), grad, 0.0),
        "where((min is None or input >= min) & (max is None or input <= max), grad, 0)",
        _EDGES,
    ),
    min=Rule(_clamp_low, "where((input < min) & (max is None or min < max), grad, 0)"),
    max=Rule(_clamp_high, "where((input > max) | (min is not None and max < min), grad, 0)"),
)


def clamp(input: Tensor, min: Any, max: Any) -> Any:
    """Values limited to [min, max]; where min is above max, max wins."""
    if min is None and max is None:
        raise ProgramError("RuntimeError", "torch.clamp: At least one of 'min' or 'max' must not be None")
    if type(min) is Tensor or type(max) is Tensor:
        return CLAMP_TENSORS(input, min, max)
    return CLAMP(input, min, max)


def _larger(x: Any, y: Any) -> Any:
    """The larger; of equal ones, such as -0 and 0, the first, which is numpy's second."""
    return np.maximum(y, x)


def _smaller(x: Any, y: Any) -> Any:
    return np.minimum(y, x)


def _bound(name: str, forward: Any, inside: Callable[[Any, Any], Any], outside: Callable[[Any, Any], Any], sign: str) -> tuple[Op, Op]:
    """clamp_min or clamp_max, for a number and for a tensor."""
    note = "the gradient passes to input at the bound itself"
    beyond = "<" if sign == ">" else ">"
    number = Pointwise(
        f"Clamp{name}Backward0",
        lambda x, bound: forward(x, bound),
        "input",
        "bound",
        input=Rule(
            lambda xp, grad, input, bound: xp.where(inside(xp.plain(input), bound), grad, 0.0), f"where(input {sign}= bound, grad, 0)", note
        ),
    )
    tensor = Pointwise(
        f"Clamp{name}Backward1",
        forward,
        "input bound",
        input=Rule(
            lambda xp, grad, input, bound: xp.where(inside(xp.plain(input), xp.plain(bound)), grad, 0.0),
            f"where(input {sign}= bound, grad, 0)",
            note,
        ),
        bound=Rule(
            lambda xp, grad, input, bound: xp.where(outside(xp.plain(input), xp.plain(bound)), grad, 0.0),
            f"where(input {beyond} bound, grad, 0)",
        ),
    )
    return number, tensor


CLAMP_MIN, CLAMP_MIN_TENSOR = _bound("Min", _larger, np.greater_equal, np.less, ">")
CLAMP_MAX, CLAMP_MAX_TENSOR = _bound("Max", _smaller, np.less_equal, np.greater, "<")


def _one_bound(number: Op, tensor: Op) -> Callable[[Any, Any], Any]:
    def run(x: Any, bound: Any) -> Any:
        if type(bound) is Tensor:
            return tensor(x, bound)
        dtype = dtypes.result_type((x, bound))
        if dtype is not x.dtype:
            x = Tensor(x.array.astype(dtype.np), dtype)
        return number(x, bound)

    return run


# --- masked_fill ---


def _fill(x: Any, mask: Any, value: Any) -> Any:
    return np.where(_data(mask), np.asarray(value).astype(np.asarray(x).dtype), x)


def _masked(x: Any, mask: Any) -> Any:
    """What stands where the mask holds, in a row."""
    if type(x) is Tensor:
        return catalog.function("masked_select")(x, mask if type(mask) is Tensor else wrap(np.asarray(mask)))
    return x[np.broadcast_to(_data(mask), x.shape)]


_UNFILLED = Rule(lambda xp, grad, mask: xp.call(MASKED_FILL, grad, mask, 0), "grad.masked_fill(mask, 0)")
MASKED_FILL: Op = Op("MaskedFillBackward0", _fill, "input", "mask value", jvp="transpose", input=_UNFILLED)
MASKED_FILL_TENSOR = Op(
    "MaskedFillBackward1",
    lambda x, value, mask: _fill(x, mask, value),
    "input value",
    "mask",
    input=_UNFILLED,
    value=Rule(lambda xp, grad, mask: xp.sum(_masked(grad, mask)), "grad.masked_select(mask).sum()"),
)


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Any:
    """`input` with `value` where `mask` holds; shapes broadcast."""
    if type(value) is Tensor and value.array.ndim:
        raise ProgramError(
            "RuntimeError",
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.array.ndim} dimension(s).",
        )
    if mask.dtype is not dtypes.bool_:
        raise ProgramError("RuntimeError", f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.c_name}")
    check_shapes((mask.array, input.array))
    if type(value) is Tensor:
        return MASKED_FILL_TENSOR(input, value, watched(mask))
    return MASKED_FILL(input, watched(mask), scalar_of(value, input.dtype))


# --- maximum, minimum ---


def _halved_on_ties(xp: Any, grad: Any, a: Any, b: Any, loses: Any) -> Any:
    a, b = xp.plain(a), xp.plain(b)
    return xp.call(MASKED_FILL, xp.where(np.equal(a, b), scalars.over(xp, grad, 2), grad), loses(a, b), 0)


def _extremum(grad_fn: str, forward: Any, loses: Any, wins: Any, sign: str) -> Pointwise:
    note = "halved where both are equal; to both where one is nan"
    return Pointwise(
        grad_fn,
        forward,
        "input other",
        input=Rule(
            lambda xp, grad, input, other: _halved_on_ties(xp, grad, input, other, loses),
            f"where(input == other, grad / 2, where(other {sign} input, 0 * grad, grad))",
            note,
        ),
        other=Rule(
            lambda xp, grad, input, other: _halved_on_ties(xp, grad, input, other, wins),
            f"where(input == other, grad / 2, where(input {sign} other, 0 * grad, grad))",
            note,
        ),
    )


MAXIMUM = _extremum("MaximumBackward0", _larger, np.less, np.greater, ">")
MINIMUM = _extremum("MinimumBackward0", _smaller, np.greater, np.less, "<")


def _ignoring_nan(grad_fn: str, forward: Any, at_least: Any, sign: str) -> Pointwise:
    def chosen(xp: Any, a: Any, b: Any) -> Any:
        return np.logical_or(at_least(xp.plain(a), xp.plain(b)), np.isnan(xp.plain(b)))

    return Pointwise(
        grad_fn,
        forward,
        "input other",
        input=Rule(
            lambda xp, grad, input, other: xp.call(MASKED_FILL, grad, np.logical_not(chosen(xp, input, other)), 0),
            f"where((input {sign} other) | isnan(other), grad, 0 * grad)",
            "to input where both are equal",
        ),
        other=Rule(
            lambda xp, grad, input, other: xp.call(MASKED_FILL, grad, chosen(xp, input, other), 0),
            f"where((input {sign} other) | isnan(other), 0 * grad, grad)",
            "to input where both are equal",
        ),
    )


FMAX = _ignoring_nan("FmaxBackward0", np.fmax, np.greater_equal, ">=")
FMIN = _ignoring_nan("FminBackward0", np.fmin, np.less_equal, "<=")

_X, _Y = [0.5, -1.5, 2.0], [1.5, -2.5, 0.5]
_TWO = "Tensor input, Tensor other"


def _pair(name: str, op: Pointwise, doc: str, reference: Any) -> Function:
    return Function(
        name,
        (_TWO, lambda x, y: op(x, y)),
        doc=doc,
        ops=(op,),
        samples=(Sample(f"{name}(x, y)", reference, x=_X, y=_Y), Sample(f"x.{name}(y)", reference, x=_X, y=0.7)),
        out=True,
    )


FUNCTIONS = (
    Function(
        "where",
        ("Tensor condition |no out", where_indices),
        ("Tensor condition, Tensor input, Tensor other", where),
        ("Tensor condition, Number self, Tensor other |no out", where),
        ("Tensor condition, Tensor input, Number other |no out", where),
        ("Tensor condition, Number self, Number other |no out", where),
        doc="Elements of input where condition holds, of other elsewhere; with condition alone, the indices where it holds.",
        ops=(WHERE,),
        samples=(
            Sample("where(x > 0, x, y)", lambda x, y: np.where(x > 0, x, y), x=_X, y=_Y),
            Sample("where(x > 0, x, 3.)", lambda x: np.where(x > 0, x, 3.0), x=_X),
            Sample("where(x > 0, 2., x)", lambda x: np.where(x > 0, 2.0, x), x=_X),
        ),
        method=False,
        out=True,
    ),
    Function(
        "where",
        ("Tensor input, Tensor condition, Tensor other", lambda x, condition, y: where(condition, x, y)),
        ("Tensor input, Tensor condition, Number other", lambda x, condition, y: where(condition, x, y)),
        doc="The tensor where condition holds, other elsewhere.",
        ops=(WHERE,),
        samples=(Sample("x.where(x > 0, y)", lambda x, y: np.where(x > 0, x, y), x=_X, y=_Y),),
        function=False,
    ),
    Function(
        "clamp",
        ("Tensor input, Tensor? min=None, Tensor? max=None", clamp),
        ("Tensor input, Number? min=None, Number? max=None", clamp),
        doc="Values limited to the range from min to max, each a number, a tensor or absent.",
        ops=(CLAMP, CLAMP_TENSORS),
        samples=(
            Sample("clamp(x, -1, 1)", lambda x: np.clip(x, -1, 1), x=_X),
            Sample("x.clamp(min=0)", lambda x: np.maximum(x, 0), x=_X),
            Sample("x.clamp(max=0.7)", lambda x: np.minimum(x, 0.7), x=_X),
            Sample("clamp(x, y, y + 1.25)", lambda x, y: np.clip(x, y, y + 1.25), x=_X, y=_Y),
            Sample("clamp(x, min=y)", np.maximum, x=_X, y=_Y),
        ),
        inplace=True,
        aliases=("clip",),
        out=True,
    ),
    Function(
        "clamp_min",
        ("Tensor input, Tensor min", _one_bound(CLAMP_MIN, CLAMP_MIN_TENSOR)),
        ("Tensor input, Number min", _one_bound(CLAMP_MIN, CLAMP_MIN_TENSOR)),
        doc="Values of at least min.",
        ops=(CLAMP_MIN, CLAMP_MIN_TENSOR),
        samples=(
            Sample("clamp_min(x, 0)", lambda x: np.maximum(x, 0), x=_X),
            Sample("x.clamp_min(y)", np.maximum, x=_X, y=_Y),
        ),
        inplace=True,
        out=True,
    ),
    Function(
        "clamp_max",
        ("Tensor input, Tensor max", _one_bound(CLAMP_MAX, CLAMP_MAX_TENSOR)),
        ("Tensor input, Number max", _one_bound(CLAMP_MAX, CLAMP_MAX_TENSOR)),
        doc="Values of at most max.",
        ops=(CLAMP_MAX, CLAMP_MAX_TENSOR),
        samples=(
            Sample("clamp_max(x, 0)", lambda x: np.minimum(x, 0), x=_X),
            Sample("x.clamp_max(y)", np.minimum, x=_X, y=_Y),
        ),
        inplace=True,
        out=True,
    ),
    Function(
        "masked_fill",
        ("Tensor input, Tensor mask, Tensor value", masked_fill),
        ("Tensor input, Tensor mask, Number value", masked_fill),
        doc="input with value where mask holds.",
        ops=(MASKED_FILL, MASKED_FILL_TENSOR),
        samples=(
            Sample("x.masked_fill(x > 1, 9)", lambda x: np.where(x > 1, 9, x), x=_X),
            Sample("x.masked_fill(x > 1, y)", lambda x, y: np.where(x > 1, y, x), x=_X, y=0.7),
        ),
        inplace=True,
    ),
    _pair("maximum", MAXIMUM, "The larger of each pair; nan wins.", np.maximum),
    _pair("minimum", MINIMUM, "The smaller of each pair; nan wins.", np.minimum),
    _pair("fmax", FMAX, "The larger of each pair; a number wins over nan.", np.fmax),
    _pair("fmin", FMIN, "The smaller of each pair; a number wins over nan.", np.fmin),
)
