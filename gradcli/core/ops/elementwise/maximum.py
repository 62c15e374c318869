"""The larger or smaller of two, elementwise: clamp, clamp_min, clamp_max, maximum, minimum, fmax, fmin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import SAME, Out
from gradcli.core.graph.pointwise import Pointwise, check_into
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import elementary, memory_format
from gradcli.core.kernels.memory_format import compared
from gradcli.core.ops.checks import Operand, check_broadcast, not_implemented, refuse_bool, refuse_complex
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.where import Choice, arrays_of
from gradcli.core.ops.index.masked import FILLED, MASKED_FILL
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, runtime_error

# --- clamp ---


def _larger(x: Any, y: Any) -> Any:
    """The maximum. Of equal values (-0 and 0) PyTorch returns the first, as numpy does in half precision; else numpy returns the second."""
    return np.maximum(x, y) if x.dtype == np.float16 else np.maximum(y, x)


def _smaller(x: Any, y: Any) -> Any:
    return np.minimum(x, y) if x.dtype == np.float16 else np.minimum(y, x)


def _with_tensor(chosen: Callable[[Any, Any], Any], step: int = 64) -> Callable[[Any, Any], Any]:
    """The maximum or minimum with a tensor: of -0 and 0 PyTorch's vector code, which takes `step` bytes at a time, returns the second."""

    def choose(x: Any, y: Any) -> Any:
        found = chosen(x, y)
        if found.size > elementary.LARGEST:
            return found
        made = np.asarray(found)
        zeros = (made == 0) & elementary.in_vectors(made, step, np.asarray(x), np.asarray(y))
        return np.where(zeros & np.equal(x, y), y, made) if zeros.any() else made

    return choose


def _clamp(x: Any, low: Any, high: Any, larger: Any = _larger, smaller: Any = _smaller) -> Any:
    if low is not None:
        x = larger(x, low)
    return x if high is None else smaller(x, high)


def _within(xp: Any, x: Any, low: Any, high: Any) -> Any:
    x, low, high = xp.plain(x), xp.plain(low), xp.plain(high)
    if low is None:
        return compared(np.less_equal, x, high)
    if high is None:
        return compared(np.greater_equal, x, low)
    return _joined(np.logical_and, compared(np.greater_equal, x, low), compared(np.less_equal, x, high))


def _joined(ufunc: Any, first: Any, second: Any) -> Any:
    """Both conditions in one. PyTorch writes it into the first, which is an error where that one is smaller."""
    if not isinstance(first, np.ndarray) or not isinstance(second, np.ndarray):
        return ufunc(first, second)
    if first.shape != second.shape:
        check_into(first, second)
    return ufunc(first, second, out=first)


def _held(bound: Any, dtype: DType) -> Any:
    """A bound that is a number, as a comparison with a tensor of this dtype takes it."""
    return dtypes.stored(np.asarray(bound, np.float32), dtype)[()] if dtype is dtypes.bfloat16 and type(bound) is float else bound


_CLAMP_RULE = Rule(
    lambda xp, grad, input, input_dtype, min, max: xp.where(
        _within(xp, input, _held(min, input_dtype), _held(max, input_dtype)), grad, 0.0
    ),
    "where((min is None or input >= min) & (max is None or input <= max), grad, 0)",
    "the gradient passes at the bounds themselves",
)


class _ClampNumbers(Choice):
    """clamp with numbers as bounds. They are plain arguments, but the result is promoted with them as with operands."""

    __slots__ = ()

    def __call__(self, *args: Any) -> Tensor:
        if state.mapped and (made := state.mapped[-1].on_batch(self, args)) is not None:
            return made  # type: ignore[no-any-return]
        x = args[0]
        dtype = dtypes.result_type([v for v in args if v is not None])
        result = np.asarray(self.forward(*arrays_of(args, dtype)))
        if result.ndim > 1:
            result = memory_format.like_operands(result, (x.array if dtype is x.dtype else memory_format.as_converted(x.array),))
        out = Tensor(self._special(result, dtype) if dtype.is_special else result, dtype)
        if state.enabled:
            self.record(out, (x,), args[1:])
        elif state.inference:
            out.meta = {"inference": True}
        if state.dual is not None:
            state.dual.push(self, (x,), args[1:], (out,))
        return out


CLAMP = _ClampNumbers("ClampBackward1", _clamp, "input", "min max", input=_CLAMP_RULE)


def _clamp_low(xp: Any, grad: Any, input: Any, min: Any, max: Any) -> Any:
    x, low = xp.plain(input), xp.plain(min)
    below = compared(np.less, x, low)
    return xp.where(below if max is None else _joined(np.logical_and, below, np.less(low, xp.plain(max))), grad, 0.0)


def _clamp_high(xp: Any, grad: Any, input: Any, min: Any, max: Any) -> Any:
    x, high = xp.plain(input), xp.plain(max)
    above = compared(np.greater, x, high)
    return xp.where(above if min is None else _joined(np.logical_or, above, np.less(high, xp.plain(min))), grad, 0.0)


def _either(xp: Any, chosen: Any, first: Any, second: Any, out: Tensor) -> Any:
    """The first tangent where `chosen` says so, else the second; None stands for zeros."""
    first, second = (xp.zeros_like(out) if t is None else t for t in (first, second))
    return xp.where(chosen, first, second)


def _clamp_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, out: Tensor) -> Any:
    """The tangent of `clamp`. As in PyTorch, that of a value at its only bound is the tangent of the bound."""
    x, low, high = (xp.plain(v) for v in inputs)
    if high is None:
        return _either(xp, np.greater(x, low), tangents[0], tangents[1], out)
    if low is None:
        return _either(xp, np.less(x, high), tangents[0], tangents[2], out)
    below = _either(xp, np.greater(x, high), tangents[2], tangents[0], out)
    return _either(xp, np.greater(low, high), tangents[2], _either(xp, np.less(x, low), tangents[1], below, out), out)


CLAMP_TENSORS = Choice(
    "ClampBackward0",
    lambda x, low, high: _clamp(x, low, high, _with_tensor(_larger), _with_tensor(_smaller)),
    "input min max",
    jvp=_clamp_jvp,
    input=_CLAMP_RULE,
    min=Rule(_clamp_low, "where((input < min) & (max is None or min < max), grad, 0)"),
    max=Rule(_clamp_high, "where((input > max) | (min is not None and max < min), grad, 0)"),
)


def clamp(input: Tensor, min: Operand | None, max: Operand | None) -> Tensor:
    """Values limited to [min, max]; max, where min is above it. Raises RuntimeError without any bound."""
    if min is None and max is None:
        raise runtime_error("torch.clamp: At least one of 'min' or 'max' must not be None")
    if type(min) is Tensor or type(max) is Tensor:
        refuse_complex("clamp", input.dtype)
        bounds = [v for v in (min, max) if type(v) is Tensor]
        dtype = dtypes.result_type((input, *bounds))
        if dtype.is_complex:
            check_broadcast([t.array for t in (input, *bounds)])
            raise not_implemented("maximum_cpu" if max is None else "minimum_cpu" if min is None else "clamp_cpu", dtype, Code.AFTER_CHECKS)
        if type(min) is Tensor and type(max) is Tensor:
            if dtype is dtypes.bool_:
                check_broadcast([t.array for t in (input, min, max)])
            refuse_bool("clamp_cpu", dtype)
        return CLAMP_TENSORS(input, min, max)
    kernel = "clamp_max_scalar_cpu" if min is None else "clamp_min_scalar_cpu" if max is None else "clamp_scalar_cpu"
    refuse_bool(kernel, dtypes.result_type([v for v in (input, min, max) if v is not None]))
    return CLAMP(input, min, max)


def _bound(name: str, forward: Any, inside: Callable[[Any, Any], Any], outside: Callable[[Any, Any], Any], sign: str) -> tuple[Op, Op]:
    """clamp_min or clamp_max, for a number and for a tensor."""
    note = "the gradient passes to input at the bound itself"
    beyond = "<" if sign == ">" else ">"
    number = Pointwise(
        f"Clamp{name}Backward0",
        forward,
        "input",
        "bound",
        saved=f"self {name.lower()}=bound",
        input=Rule(
            lambda xp, grad, input, input_dtype, bound: xp.where(compared(inside, xp.plain(input), _held(bound, input_dtype)), grad, 0.0),
            f"where(input {sign}= bound, grad, 0)",
            note,
        ),
    )
    tensor = Pointwise(
        f"Clamp{name}Backward1",
        _with_tensor(forward),
        "input bound",
        in_half=lambda dtype, x, bound: _with_tensor(forward, 128)(x, bound),
        saved=f"{name.lower()}=bound self",
        jvp=lambda xp, inputs, attrs, tangents, out: _either(xp, inside(*map(xp.plain, inputs)), tangents[0], tangents[1], out),
        input=Rule(
            lambda xp, grad, input, bound: xp.where(compared(inside, xp.plain(input), xp.plain(bound)), grad, 0.0),
            f"where(input {sign}= bound, grad, 0)",
            note,
        ),
        bound=Rule(
            lambda xp, grad, input, bound: xp.where(compared(outside, xp.plain(input), xp.plain(bound)), grad, 0.0),
            f"where(input {beyond} bound, grad, 0)",
        ),
    )
    return number, tensor


CLAMP_MIN, CLAMP_MIN_TENSOR = _bound("Min", _larger, np.greater_equal, np.less, ">")
CLAMP_MAX, CLAMP_MAX_TENSOR = _bound("Max", _smaller, np.less_equal, np.greater, "<")


def _check_numbers(values: list[Any], out: Tensor) -> None:
    """Check the dtype of `out` where numbers change that of integers, which PyTorch converts first: they share no memory with it."""
    input, *bounds = values
    dtype = dtypes.result_type([input, *(b for b in bounds if b is not None)])
    if dtype is input.dtype or input.dtype.is_differentiable or dtype.is_complex:
        return
    if out is input:
        raise runtime_error(f"result type {dtype.torch_name} can't be cast to the desired output type {out.dtype.c_name}")
    if out.dtype is not dtype:
        raise runtime_error(SAME.format(out=out.dtype.torch_name, result=dtype.torch_name))


def _bounded_out(input: Tensor, *bounds: Any) -> Out:
    return Out() if any(type(b) is Tensor for b in bounds) else Out(SAME, inspect=_check_numbers)


def _one_bound(name: str, number: Op, tensor: Op, doc: str, reference: np.ufunc) -> Function:
    """The function clamp_min or clamp_max, by the record for a number and that for a tensor."""

    def run(x: Tensor, bound: Operand) -> Any:
        if type(bound) is Tensor:
            dtype = dtypes.result_type((x, bound))
            if dtype.is_complex:
                check_broadcast([x.array, bound.array])
                raise not_implemented(f"{reference.__name__}_cpu", dtype, Code.AFTER_CHECKS)
            return tensor(x, bound)
        dtype = dtypes.result_type((x, bound))
        refuse_complex(name, dtype)
        refuse_bool(f"{name}_scalar_cpu", dtype)
        if dtype is not x.dtype:
            x = Tensor(memory_format.in_dtype(x.array, dtype.np), dtype)
        return number(x, scalar_of(bound, dtype))

    bound = name.removeprefix("clamp_")
    return Function(
        name,
        (f"Tensor input, Tensor {bound}", run),
        (f"Tensor input, Number {bound}", run),
        doc=doc,
        ops=(number, tensor),
        samples=(Sample(f"{name}(x, 0)", lambda x: reference(x, 0), x=_X), Sample(f"x.{name}(y)", reference, x=_X, y=_Y)),
        torch_inplace=(f"{name}_",),
        out=_bounded_out,
    )


# --- maximum, minimum ---


def _halved_on_ties(xp: Any, grad: Any, a: Any, b: Any, loses: Any) -> Any:
    a, b = np.asarray(xp.plain(a)), np.asarray(xp.plain(b))
    ties = compared(np.equal, a, b)
    return xp.call(FILLED, xp.where(ties, scalars.over(xp, grad, 2), grad), loses(a, b), 0)


def _extremum(grad_fn: str, forward: Any, loses: Any, wins: Any, sign: str) -> Pointwise:
    def jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, out: Tensor) -> Any:
        """The tangent of `other`, and of the difference as much as `input` takes part; a nan takes the tangent of `other`."""
        a, b = (xp.plain(value) for value in inputs)
        share = np.where(np.equal(a, b), 0.5, wins(a, b)).astype(out.array.dtype)
        mine, theirs = (0.0 if t is None else t for t in tangents)
        moved = mine - theirs
        return theirs + (scalars.times_data(xp, moved, share) if type(moved) is Tensor else moved)

    note = "halved where both are equal; to both where one is nan"
    return Pointwise(
        grad_fn,
        _with_tensor(forward),
        "input other",
        in_half=lambda dtype, x, y: _with_tensor(forward, 128)(x, y),
        jvp=jvp,
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

    def jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, out: Tensor) -> Any:
        """The tangent of `input` where it is chosen, in fmax at no tie, else that of `other`."""
        a, b = (xp.plain(value) for value in inputs)
        mine, theirs = (xp.zeros_like(out) if t is None else t for t in tangents)
        chosen = at_least(a, b) & (np.not_equal(a, b) | (sign == "<="))
        return theirs + xp.where(chosen | np.isnan(b), mine - theirs, 0.0)

    return Pointwise(
        grad_fn,
        forward,
        "input other",
        jvp=jvp,
        in_half=lambda dtype, x, y: forward(y, x) if dtype is dtypes.bfloat16 else forward(x, y),  # the second of -0 and 0 in bfloat16
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


def _not_nan(at_least: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The first of two where it is at least the second, or the second is nan: of equal values (-0 and 0) the first."""
    return lambda x, y: np.where(at_least(x, y) | np.isnan(y), x, y).astype(np.result_type(x, y))


FMAX = _ignoring_nan("FmaxBackward0", _not_nan(np.greater_equal), np.greater_equal, ">=")
FMIN = _ignoring_nan("FminBackward0", _not_nan(np.less_equal), np.less_equal, "<=")
_X, _Y = [0.5, -1.5, 2.0], [1.5, -2.5, 0.5]


def _pair(name: str, op: Pointwise, doc: str, reference: Any) -> Function:
    return Function(
        name,
        ("Tensor input, Tensor other", lambda x, y: op(x, y)),
        doc=doc,
        ops=(op,),
        samples=(Sample(f"{name}(x, y)", reference, x=_X, y=_Y), Sample(f"x.{name}(y)", reference, x=_X, y=0.7)),
        out=True,
    )


FUNCTIONS = (
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
        torch_inplace=("clamp_", "clip_"),
        overlap="partial",
        aliases=("clip",),
        out=_bounded_out,
    ),
    _one_bound("clamp_min", CLAMP_MIN, CLAMP_MIN_TENSOR, "Values of at least min.", np.maximum),
    _one_bound("clamp_max", CLAMP_MAX, CLAMP_MAX_TENSOR, "Values of at most max.", np.minimum),
    _pair("maximum", MAXIMUM, "The larger of each pair; nan wins.", np.maximum),
    _pair("minimum", MINIMUM, "The smaller of each pair; nan wins.", np.minimum),
    _pair("fmax", FMAX, "The larger of each pair; a number wins over nan.", np.fmax),
    _pair("fmin", FMIN, "The smaller of each pair; a number wins over nan.", np.fmin),
)
