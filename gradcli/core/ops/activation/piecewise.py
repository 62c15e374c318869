"""Piecewise linear and quadratic activations: relu, relu6, hardtanh, threshold, hardsigmoid, hardswish, hardshrink, softshrink."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import SAME, Out
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph import inplace_forms
from gradcli.core.graph.namespaces import in_single
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import blocks, memory_format
from gradcli.core.kernels.elementary import in_vectors
from gradcli.core.ops.activation.functional import activation, functional, inplace_functions, nan_in_vectors, writing
from gradcli.core.ops.checks import Number, checked, not_implemented, require_floating
from gradcli.core.ops.operators import is_true, ordered
from gradcli.core.ops.rules import ZERO, not_differentiable
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error


def _masked(keep: Any, grad: Any) -> Any:
    return blocks.where(keep, grad, np.zeros((), grad.dtype))


# --- relu, threshold ---

_BELOW = "where(input <= threshold, 0 * grad, grad)"
THRESHOLD_BACKWARD: Op = Op(
    "ThresholdBackwardBackward0",
    lambda grad, x, threshold: _masked(~np.less_equal(x, threshold), grad),
    "grad_output input",
    "threshold",
    layout="reversed",
    jvp="backward",
    grad_output=Rule(lambda xp, grad, input, threshold: xp.call(THRESHOLD_BACKWARD, grad, input, threshold), _BELOW),
    input=ZERO,
)
RELU = Pointwise(
    "ReluBackward0",
    lambda x: np.maximum(np.zeros((), x.dtype), x),  # numpy returns the second of equal values, so that -0 stays -0
    "input",
    input=Rule(lambda xp, grad, out: xp.call(THRESHOLD_BACKWARD, grad, out, 0), "where(out <= 0, 0 * grad, grad)", "0 at 0"),
)
THRESHOLD, THRESHOLD_INPLACE = (
    Pointwise(
        f"ThresholdBackward{overload}",
        lambda x, threshold, value: blocks.where(np.less_equal(x, threshold), np.asarray(value).astype(x.dtype), x),
        "input",
        "threshold value",
        saved="self threshold",
        input=Rule(lambda xp, grad, input, threshold: xp.call(THRESHOLD_BACKWARD, grad, input, threshold), _BELOW, "0 at the threshold"),
    )
    for overload in (0, 1)
)


def relu(input: Tensor) -> Tensor:
    """max(input, 0)."""
    if input.dtype is dtypes.bool_:
        raise runtime_error("Boolean inputs not supported for relu")
    return RELU(input)


def threshold(input: Tensor, threshold: Number, value: Number) -> Tensor:
    """`input` where it is above the threshold, `value` elsewhere."""
    return _threshold(THRESHOLD, input, threshold, value)


def _threshold(op: Pointwise, input: Tensor, threshold: Number, value: Number) -> Tensor:
    if input.dtype is dtypes.bool_:
        raise not_implemented("threshold_cpu", input.dtype)
    return op(input, *(scalar_of(number, dtypes.widened(input.dtype)) for number in (threshold, value)))


# --- hardtanh ---


def _unordered(grad: Any, x: Any, *bounds: float) -> Any:
    """Where PyTorch's vector code makes the gradient 0 because an element or a bound is nan."""
    x = np.asarray(x)
    return in_vectors(x, 64, np.asarray(grad), x) if any(bound != bound for bound in bounds) else nan_in_vectors(x, 64, grad)


_, HARDTANH = activation(
    "Hardtanh",
    lambda x, min_val, max_val: np.minimum(x.dtype.type(max_val), np.maximum(x.dtype.type(min_val), x)),
    lambda grad, x, min_val, max_val: _masked(~((x <= min_val) | (x >= max_val) | _unordered(grad, x, min_val, max_val)), grad),
    "min_val max_val",
    formula="where((input <= min_val) | (input >= max_val), 0 * grad, grad)",
    note="0 at both edges",
)


def _limited(input: Tensor, min_val: Number, max_val: Number) -> Tensor:
    """`input` limited to [min_val, max_val], where max_val wins."""
    if input.dtype is dtypes.bool_:
        raise runtime_error("Bool inputs not supported for hardtanh")
    if input.dtype.category == 1:
        min_val, max_val = int(scalar_of(min_val, dtypes.int64)), int(scalar_of(max_val, dtypes.int64))
    if input.dtype is dtypes.uint8 and min(min_val, max_val) < 0:
        raise runtime_error("cannot do hardtanh on an unsigned type with negative limits")
    if not input.dtype.is_complex:
        min_val, max_val = scalar_of(min_val, input.dtype), scalar_of(max_val, input.dtype)
    out: Tensor = HARDTANH(input, min_val, max_val)
    out.array = memory_format.laid_out(out.array, memory_format.preserved(input.array))
    return out


_BOUNDS = "Number min_val=-1, Number max_val=1"
_write_limited = writing(_limited)
_HARDTANH = [kernel(name, f"Tensor input, {_BOUNDS}", run) for name, run in (("hardtanh", _limited), ("hardtanh_", _write_limited))]


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """`input` limited to [min_val, max_val]."""
    if ordered(min_val, ">", max_val):
        raise ProgramError("ValueError", "min_val cannot be greater than max_val")
    return _HARDTANH[is_true(inplace)](input, min_val, max_val)


def relu6(input: Tensor) -> Tensor:
    """`input` limited to [0, 6]."""
    return _limited(input, 0, 6)


# --- hardsigmoid, hardswish ---

#: a number of single precision in PyTorch's kernel
_SIXTH = np.float32(1) / np.float32(6)
HARDSIGMOID_BACKWARD = not_differentiable(
    "hardsigmoid_backward",
    memory_format.keeping("iterated", in_single(lambda grad, x: _masked((x > -3) & (x < 3), grad * x.dtype.type(_SIXTH)))),
    "grad_output input",
)
HARDSIGMOID = Pointwise(
    "HardsigmoidBackward0",
    lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
    "input",
    input=Rule(
        lambda xp, grad, input: xp.call(HARDSIGMOID_BACKWARD, grad, input),
        "where((input > -3) & (input < 3), grad / 6, 0 * grad)",
        "0 at -3 and 3",
    ),
)


def _hardswish_gradient(grad: Any, x: Any) -> Any:
    bent = blocks.where((x < 3) | nan_in_vectors(x, 128, grad), grad * (x / 3 + 0.5), grad)
    return blocks.where(x <= -3, np.zeros((), grad.dtype), bent)


def _hardswish_second(xp: Any, grad: Any, grad_output: Any, input: Any) -> Any:
    x = xp.plain(input)
    return xp.where((x > -3) & (x < 3), grad * grad_output / 3, 0.0)


_, HARDSWISH = activation(
    "Hardswish",
    lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6,
    _hardswish_gradient,
    formula="where(input <= -3, 0 * grad, where(input < 3, grad * (input / 3 + 0.5), grad))",
    note="0 at -3, 1 at 3",
    second=Rule(_hardswish_second, "where((input > -3) & (input < 3), grad * grad_output / 3, 0 * grad)"),
)
hardsigmoid = checked(HARDSIGMOID, require_floating, "hardsigmoid_cpu")
hardswish = checked(HARDSWISH, require_floating, "hardswish_cpu")

# --- hardshrink, softshrink ---


def _softshrink(x: Any, lambd: float, step: int = 64) -> Any:
    x = np.asarray(x)
    near = blocks.where(in_vectors(x, step) & ~np.isnan(x), x.dtype.type(0), 0 * x)  # the scalar code keeps the sign
    return blocks.where(x > lambd, x - lambd, blocks.where(x < -lambd, x + lambd, near))


HARDSHRINK, SOFTSHRINK = (
    activation(
        name,
        forward,
        lambda grad, x, lambd: _masked(~((x >= -lambd) & (x <= lambd) | _unordered(grad, x, lambd)), grad),
        "lambd",
        formula="where((input >= -lambd) & (input <= lambd), 0 * grad, grad)",
        note="0 at both edges",
        in_half=(in_half, None),
    )[1]
    for name, forward, in_half in (
        ("Hardshrink", lambda x, lambd: blocks.where((x >= -lambd) & (x <= lambd), np.zeros((), x.dtype), x), None),
        ("Softshrink", _softshrink, lambda dtype, x, lambd: _softshrink(x, lambd, 128)),
    )
)


def hardshrink(input: Tensor, lambd: Number = 0.5) -> Tensor:
    """`input` where it is beyond lambd, 0 between -lambd and lambd."""
    require_floating("hardshrink_cpu", input.dtype)
    return HARDSHRINK(input, scalar_of(lambd, input.dtype))


def softshrink(input: Tensor, lambd: Number = 0.5) -> Tensor:
    """`input` moved toward 0 by lambd, 0 between -lambd and lambd."""
    require_floating("softshrink_check", input.dtype)
    most = dtypes.largest(input.dtype)
    if not 0 <= lambd <= most:
        raise runtime_error(f"lambda must be in range [0, {most:.6g}] for input dtype {input.dtype.torch_name}, but found {lambd:g}")
    return SOFTSHRINK(input, lambd)


def _look_at_gaps(values: list[Any], out: Tensor) -> None:
    """An `out` whose elements do not follow each other is written by the scalar code, as `softshrink` computes an input with gaps."""
    x = values[0]
    if x.array.shape == out.array.shape and not np.any(in_vectors(x.array, 64, out.array, x.array)):
        values[0] = Tensor(np.repeat(x.array[..., None], 2, -1)[..., 0], x.dtype)


# --- the functions ---

_X = [0.5, -1.5, 2.0, 4.5]
_LIMIT = "Tensor input, Number threshold, Number value"
_write_relu = writing(relu)


def _write_threshold(input: Tensor, threshold: Number, value: Number) -> Tensor:
    return inplace_forms.fill(input, lambda t: _threshold(THRESHOLD_INPLACE, t, threshold, value), "threshold_")


FUNCTIONS = (
    Function(
        "relu",
        ("Tensor input", relu),
        doc="max(input, 0).",
        ops=(RELU,),
        samples=(Sample("relu(x)", lambda x: np.maximum(x, 0), x=_X), Sample("x.relu()", lambda x: np.maximum(x, 0), x=0.5)),
        torch_inplace=("relu_",),
    ),
    functional(
        "relu", "Tensor input", relu, "max(input, 0).", RELU, Sample("F.relu(x)", lambda x: np.maximum(x, 0), x=_X), write=_write_relu
    ),
    *inplace_functions("relu", "Tensor input", _write_relu, RELU),
    functional(
        "relu6",
        "Tensor input",
        relu6,
        "input limited to [0, 6].",
        HARDTANH,
        Sample("F.relu6(x)", lambda x: np.clip(x, 0, 6), x=_X),
        write=writing(relu6),
    ),
    PythonFunction(
        hardtanh,
        "hardtanh",
        "input limited to [min_val, max_val].",
        unchecked=True,
        ops=(HARDTANH,),
        samples=(Sample("F.hardtanh(x)", lambda x: np.clip(x, -1, 1), x=_X),),
    ),
    *inplace_functions("hardtanh", f"Tensor input, {_BOUNDS}", _write_limited, HARDTANH),
    Function(
        "threshold",
        (_LIMIT, threshold),
        doc="value where not above threshold.",
        ops=(THRESHOLD,),
        samples=(Sample("torch.threshold(x, 1., 2.)", None, x=_X),),
        method=False,
        out=Out(memory="unchecked", overlap="partial"),
    ),
    functional(
        "threshold",
        "Tensor input, Number threshold, Number value",
        threshold,
        "input where above threshold, value elsewhere.",
        THRESHOLD,
        Sample("F.threshold(x, 1., -5.)", lambda x: np.where(x > 1, x, -5), x=_X),
        write=_write_threshold,
        python="_threshold",
    ),
    *inplace_functions("threshold", _LIMIT, _write_threshold, THRESHOLD_INPLACE, ("torch", "torch.nn.functional")),
    functional(
        "hardsigmoid",
        "Tensor input",
        hardsigmoid,
        "input / 6 + 1/2, limited to [0, 1].",
        HARDSIGMOID,
        Sample("F.hardsigmoid(tensor([0.5, -4., 2.]))"),
        write=writing(hardsigmoid),
    ),
    functional(
        "hardswish",
        "Tensor input",
        hardswish,
        "input * hardsigmoid(input).",
        HARDSWISH,
        Sample("F.hardswish(x)", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), x=_X),
        write=writing(hardswish),
    ),
    Function(
        "hardshrink",
        ("Tensor input, Number lambd=0.5", hardshrink),
        doc="input where beyond lambd, 0 within.",
        ops=(HARDSHRINK,),
        samples=(Sample("torch.hardshrink(x, 1.)", lambda x: np.where(np.abs(x) > 1, x, 0), x=_X),),
        aliases=("nn.functional.hardshrink",),
        out=Out(SAME),
    ),
    functional(
        "softshrink",
        "Tensor input, Number lambd=0.5",
        softshrink,
        "input moved toward 0 by lambd, 0 within.",
        SOFTSHRINK,
        Sample("F.softshrink(x, 1.)", lambda x: np.sign(x) * np.maximum(np.abs(x) - 1, 0), x=_X),
        python="",
        out=Out(SAME, kernel_first=True, inspect=_look_at_gaps),
    ),
)
