"""Binary cross entropy: of probabilities, and of logits. Weights are data, which have no gradient."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.pointwise import check_into
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import result_dtype_error
from gradcli.core.kernels import Array, elementary, half_to_single, memory_format
from gradcli.core.ops.activation.smooth import LOG_SIGMOID, log_sigmoid
from gradcli.core.ops.checks import common_shape, require_floating, with_method
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import no_difference
from gradcli.core.ops.elementwise.exponential import LOGIT, SIGMOID
from gradcli.core.ops.elementwise.power import POW_SCALAR
from gradcli.core.ops.loss.loss_reduction import (
    N,
    OfSecond,
    W,
    checked_reduction,
    legacy_reduction,
    reduced,
    reduced_array,
    reduction_number,
    under_torch,
)
from gradcli.core.ops.loss.samples import SCORES, SQUARE, SQUARE_2, TARGETS
from gradcli.core.ops.rules import check_gradient, check_no_gradient, moves
from gradcli.core.ops.shape.broadcasting import broadcast_shapes, expand
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, runtime_error, shape_error

# --- of probabilities ---

#: PyTorch's least logarithm of a probability, and least denominator of its derivative
_LOWEST_LOG = -100
_LEAST = 1e-12


def _weighted(values: Any, weight: Array | None) -> Any:
    return values if weight is None else values * weight


def _bce(x: Array, target: Array, weight: Array | None, reduction: str, dtype: DType) -> Any:
    values: Any
    if dtype.itemsize == 2:
        x, target = half_to_single(x), half_to_single(target)
        stored = partial(dtypes.stored, dtype=dtype)
        losses = [stored(np.maximum(log, _LOWEST_LOG)) for log in (elementary.log1p_one_by_one(-x), elementary.log(x))]
        values = dtypes.cast(stored(stored(target - 1) * losses[0]) - stored(target * losses[1]), dtype)
    else:
        least = [np.maximum(log, _LOWEST_LOG) for log in (elementary.log1p_one_by_one(-x), elementary.log(x))]
        values = (target - 1) * least[0] - target * least[1]
    if weight is not None:
        values = dtypes.cast(dtypes.cast(values, dtype) * weight, dtype)
    return reduced_array(values, reduction)


def _bce_backward(grad: Array, x: Array, target: Array, weight: Array | None, reduction: str) -> Any:
    least = x.dtype.type(np.float32(_LEAST))  # a number of single precision in PyTorch's kernel
    values = _weighted(grad * (x - target) / np.maximum((1 - x) * x, least), weight)
    made = np.asarray(values / np.float64(x.size) if reduction == "mean" else values, x.dtype)
    return memory_format.laid_out(made, memory_format.preserved(x))


def _bce_backward_in_half(dtype: DType, grad: Array, x: Array, target: Array, weight: Array | None, reduction: str) -> Any:
    """As `_bce_backward`, where each step rounds."""
    stored = partial(dtypes.stored, dtype=dtype)
    grad, x, target = half_to_single(grad), half_to_single(x), half_to_single(target)
    slope = stored(grad * stored(x - target))
    values = stored(slope / stored(np.maximum(stored(stored(1 - x) * x), np.float32(_LEAST))))
    values = values if weight is None else stored(values * weight)
    return dtypes.cast(values / np.float32(x.size) if reduction == "mean" else values, dtype)


def _scaled(xp: Any, values: Any, weight: Array | None, x: Any, reduction: str) -> Any:
    """Gradients of the elements times the weight, divided by the number of elements for a mean."""
    if weight is not None:
        values = scalars.times_data(xp, values, weight)
    return scalars.over(xp, values, xp.plain(x).size) if reduction == "mean" else values


def _slope(xp: Any, grad: Any, input: Any, target: Any, weight: Any, reduction: str) -> Any:
    slope = (input - target) / (_above_zero(xp, input) * _above_zero(xp, scalars.from_number(xp, 1, input)))
    return _scaled(xp, slope * grad, weight, input, reduction)


def _above_zero(xp: Any, x: Any) -> Any:
    return scalars.plus(xp, x, _LEAST)


def _curvature(xp: Any, grad: Any, grad_output: Any, input: Any, target: Any, weight: Any, reduction: str) -> Any:
    """Each factor of the denominator is squared for itself, so that in half precision it may underflow, as in PyTorch."""
    squares = [xp.call(POW_SCALAR, _above_zero(xp, x), 2) for x in (input, scalars.from_number(xp, 1, input))]
    curvature = (input * input - scalars.times(xp, input, 2) * target + target) / (squares[0] * squares[1])
    return _scaled(xp, curvature * (grad * grad_output), weight, input, reduction)


def _mixed(xp: Any, grad: Any, grad_output: Any, input: Any, weight: Any, reduction: str) -> Any:
    """The derivative of the slope by the target."""
    mixed = -grad * grad_output
    if weight is not None:
        mixed = scalars.times_data(xp, mixed, weight)
    return _scaled(xp, mixed / xp.maximum(scalars.from_number(xp, 1, input) * input, _LEAST), None, input, reduction)


def _target_slope(xp: Any, grad: Any, input: Any, weight: Array | None, reduction: str) -> Any:
    return _scaled(xp, -xp.call(LOGIT, input, None) * grad, weight, input, reduction)


_BCE = W + N + "grad * (input - target) / (input * (1 - input)).clamp_min(1e-12) * w / n"
BCE_BACKWARD = Op(
    "BinaryCrossEntropyBackwardBackward0",
    _bce_backward,
    "grad_output input target",
    "weight reduction",
    in_half=_bce_backward_in_half,
    jvp="transpose",  # this tangent is not 0 where the target is 0
    grad_output=Rule(_slope, W + N + "grad * (input - target) / ((input + 1e-12) * (1 - input + 1e-12)) * w / n"),
    input=Rule(
        _curvature,
        W + N + "d = (input + 1e-12)**2 * (1 - input + 1e-12)**2; "
        "grad * grad_output * (input**2 - 2 * input * target + target) / d * w / n",
    ),
    target=Rule(_mixed, W + N + "-grad * grad_output / (input * (1 - input)).clamp_min(1e-12) * w / n"),
)
BCE = Op(
    "BinaryCrossEntropyBackward0",
    _bce,
    "input target",
    "weight reduction dtype",
    layout="preserved",
    jvp="transpose",  # the loss is affine in the target
    saved="self target! weight reduction",
    input=Rule(
        lambda xp, grad, input, target, attrs: xp.call(BCE_BACKWARD, grad, input, target, *attrs[:2]),
        _BCE,
        "at 0 and 1 the denominator is 1e-12",
    ),
    target=Rule(_target_slope, W + N + "-grad * logit(input) * w / n"),
)


# --- of logits ---


def _bce_logits(
    x: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str, kinds: tuple[DType, DType, DType]
) -> Any:
    """`kinds` are the dtypes of input, target and `pos_weight`: PyTorch writes each step into the result of an earlier one."""
    kind, of_target, of_weight = kinds
    log = dtypes.cast(log_sigmoid(half_to_single(x)), kind)  # half precision is rounded once
    if pos_weight is not None:
        mixed = dtypes.promote(of_weight, of_target)
        factor = dtypes.cast(dtypes.cast(dtypes.cast(pos_weight - 1, of_weight) * target, mixed) + 1, mixed)
        log = dtypes.cast(factor * log, kind)
    values = dtypes.cast(dtypes.cast(dtypes.cast(1 - target, of_target) * x, of_target) - log, of_target)
    # the first operation of PyTorch's is `1 - target`, into whose result the others write
    weighted = dtypes.cast(_weighted(values, weight), of_target)
    return reduced_array(memory_format.like_operands(weighted, (memory_format.NUMBER, target)), reduction)


def _logits_slope(
    xp: Any, grad: Any, input: Any, target: Any, weight: Array | None, pos_weight: Array | None, reduction: str, kinds: Any
) -> Any:
    if pos_weight is None:
        first = xp.call(SIGMOID, input)
        if xp is numeric:  # PyTorch subtracts in place where nothing is recorded
            check_into(input, target)
        result = (first - target) * grad
    else:
        first = scalars.data_times(xp, pos_weight, target, kinds[2])
        result = ((first + 1.0 - target) * xp.call(SIGMOID, input) - first) * grad
    slope = _scaled(xp, result, weight, input, reduction)
    return memory_format.like_operands(slope, (first,)) if xp is numeric else slope


def _logits_target_slope(
    xp: Any, grad: Any, input: Any, weight: Array | None, pos_weight: Array | None, reduction: str, target_shape: Any
) -> Any:
    values = -input
    if pos_weight is not None:
        values = xp.call(LOG_SIGMOID, -input) - scalars.times_data(xp, xp.call(LOG_SIGMOID, input), pos_weight)
    if xp is numeric:
        check_into(values, grad)
    values = values * grad
    if weight is not None:
        check_into(xp.plain(values), weight)
    slope = _scaled(xp, values, weight, input, reduction)
    check_gradient(BCE_LOGITS.grad_fn, 1, slope.shape, target_shape)
    return slope


def _logits_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, _: Any) -> Any:
    """The derivatives of the elements times the tangents, in the dtypes that the products have."""
    (input, target), (weight, pos_weight, reduction, kinds) = inputs, attrs
    parts = []
    if tangents[0] is not None:
        parts.append(_logits_slope(xp, tangents[0], input, target, weight, pos_weight, "none", kinds))
    if tangents[1] is not None:
        part = _logits_target_slope(xp, tangents[1], input, weight, pos_weight, "none", target.shape)
        parts.append(part if pos_weight is None else xp.cast(part, input.dtype))
    return reduced(sum(parts[1:], parts[0]), reduction)


BCE_LOGITS = OfSecond(
    "BinaryCrossEntropyWithLogitsBackward0",
    _bce_logits,
    "input target",
    "weight pos_weight reduction kinds",
    saved="self target! weight pos_weight reduction",
    jvp=_logits_jvp,
    input=Rule(
        _logits_slope,
        W + N + "s = sigmoid(input); "
        "d = s - target if pos_weight is None else (1 - target) * s - pos_weight * target * (1 - s); grad * d * w / n",
    ),
    target=Rule(
        _logits_target_slope,
        W + N + "d = -input if pos_weight is None else F.logsigmoid(-input) - pos_weight * F.logsigmoid(input); grad * d * w / n",
    ),
)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """Cross entropy of probabilities with targets between 0 and 1.

    Raises ValueError or RuntimeError for sizes, dtypes or values that do not fit.
    """
    checked = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    if with_method(target, "size").array.shape != with_method(input, "size").array.shape:
        raise shape_error(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size.",
            "ValueError",
        )
    if weight is not None:
        weight = expand(weight, broadcast_shapes([target.shape, with_method(weight, "size").shape]))
    return _BINARY_CROSS_ENTROPY(input, target, weight, checked)


def _check_probabilities(x: Array, target: Array) -> None:
    """Raise RuntimeError for the first element of both that is not between 0 and 1."""
    wrong = [~((values >= 0) & (values <= 1)).ravel() for values in (x, target)]
    found = wrong[0] | wrong[1]
    if found.any():
        name = "input" if wrong[0][found.argmax()] else "target"
        raise runtime_error(f"all elements of {name} should be between 0 and 1")


def _of_probabilities(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str) -> Any:
    check_no_gradient("binary_cross_entropy", weight=weight)
    if target.dtype is not input.dtype:
        text = f"Found dtype {target.dtype.torch_name} but expected {input.dtype.torch_name}"
        raise runtime_error(text, Code.DTYPES_DIFFER)
    require_floating("binary_cross_entropy", input.dtype)
    _check_probabilities(input.array, target.array)
    if moves(weight):
        raise runtime_error("Setting a forward grad that itself has a forward gradient at the same level0 is not supported.")
    if weight is not None:
        check_into(input.array, weight.array)
    factor = None if weight is None else np.broadcast_to(weight.array, input.array.shape)
    return BCE(input, target, factor, reduction, input.dtype)


_BINARY_CROSS_ENTROPY = kernel("binary_cross_entropy", "Tensor input, Tensor target, Tensor? weight, str reduction", _of_probabilities)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Any:
    """Cross entropy of logits with targets between 0 and 1; `pos_weight` is the weight of positive targets.

    Raises ValueError, RuntimeError or NotImplementedError for sizes or dtypes that do not fit.
    """
    number = reduction_number(size_average, reduce, reduction)
    if with_method(target, "size").array.shape != with_method(input, "size").array.shape:
        raise shape_error(f"Target size ({target.shape}) must be the same as input size ({input.shape})", "ValueError")
    return catalog.function("binary_cross_entropy_with_logits")(input, target, weight, pos_weight, number)


def _with_logits(input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: str) -> Any:
    """`torch.binary_cross_entropy_with_logits`, whose input and weight may be of any shape that broadcasts to that of the target."""
    check_no_gradient("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    require_floating("log_sigmoid_cpu", input.dtype)
    if pos_weight is not None:
        check_into(input.array, np.broadcast_to(False, common_shape([pos_weight.array.shape, target.array.shape])))
    if pos_weight is not None and pos_weight.dtype is dtypes.bool_:
        raise no_difference(pos_weight, 1)
    if target.dtype is dtypes.bool_:
        raise no_difference(target, target)
    check_into(target.array, input.array)
    if not target.dtype.is_floating_point:
        raise result_dtype_error(input.dtype.torch_name, target.dtype)
    if weight is not None:
        check_into(target.array, weight.array)
    if moves(weight, pos_weight):
        raise runtime_error("Setting a forward grad that itself has a forward gradient at the same level0 is not supported.")
    factor = None if weight is None else weight.array
    kinds = input.dtype, target.dtype, target.dtype if pos_weight is None else pos_weight.dtype
    return BCE_LOGITS(input, target, factor, None if pos_weight is None else pos_weight.array, reduction, kinds)


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        binary_cross_entropy,
        "binary_cross_entropy",
        "Cross entropy of probabilities with targets between 0 and 1.",
        unchecked=True,
        ops=(BCE, BCE_BACKWARD),
        samples=(
            Sample(
                "F.binary_cross_entropy(p, t)",
                lambda p, t: -np.mean(t * np.log(p) + (1 - t) * np.log(1 - p)),
                p=[0.25, 0.5, 0.75],
                t=[0.1, 0.9, 0.5],
            ),
            Sample("F.binary_cross_entropy(p, t, tensor([1., 2., 0.5]), reduction='sum')", None, p=[0.25, 0.5, 0.75], t=[0.1, 0.9, 0.5]),
        ),
    ),
    PythonFunction(
        binary_cross_entropy_with_logits,
        "binary_cross_entropy_with_logits",
        "Cross entropy of logits with targets between 0 and 1.",
        unchecked=True,
        ops=(BCE_LOGITS,),
        samples=(
            Sample(
                "F.binary_cross_entropy_with_logits(p, t)", lambda p, t: np.mean((1 - t) * p + np.log1p(np.exp(-p))), p=SCORES, t=TARGETS
            ),
            Sample("F.binary_cross_entropy_with_logits(p, t, pos_weight=tensor([2., 1., 0.5]))", None, p=SCORES, t=TARGETS),
        ),
    ),
    under_torch(
        "binary_cross_entropy_with_logits",
        _with_logits,
        "Tensor input, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=0",
        "Cross entropy of logits with targets between 0 and 1.",
        Sample("torch.binary_cross_entropy_with_logits(x, y / 3)", None, x=SQUARE, y=SQUARE_2),
    ),
)
