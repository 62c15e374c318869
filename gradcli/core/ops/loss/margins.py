"""Losses of margins between the scores of classes.

The last dimension of the input is that of the classes. Targets are data, which have no gradient.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.pointwise import check_into
from gradcli.core.graph.record import Op, Rule, no_forward_derivative, without_jvp
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.graph.write_checks import result_dtype_error
from gradcli.core.kernels import Array, elementary, memory_format
from gradcli.core.ops.checks import not_implemented, refuse_half, require_floating, scalar_type_error, size, with_method
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.loss.loss_reduction import N, checked_reduction, legacy_reduction, reduced, reduced_array, share
from gradcli.core.ops.loss.samples import SCORES
from gradcli.core.ops.operators import BINARY, ordered
from gradcli.core.ops.reduce.sum_mean import sum as sum_along
from gradcli.core.ops.rules import check_no_gradient, moves, not_differentiable
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError, runtime_error, shape_error

# --- the soft margin of targets 1 and -1 ---


def _soft_margin(x: Array, target: Array, reduction: str) -> Any:
    target = target.astype(x.dtype, copy=False)
    return reduced_array(elementary.log1p(elementary.exp(-target * x)), reduction)


def _soft_margin_in_half(dtype: DType, x: Array, target: Array, reduction: str) -> Any:
    """Each of PyTorch's operations writes into the result, in its dtype."""
    target, x = (np.asarray(part, np.float32) for part in (target, x))
    values = dtypes.stored(elementary.exp(dtypes.stored(-target * x, dtype)), dtype)
    return dtypes.cast(np.asarray(reduced_array(dtypes.stored(elementary.log1p(values), dtype), reduction)), dtype)


def _negated(target: Array, x: Array) -> Array:
    """The negatives of targets, of bytes modulo 256, in the dtype of x. Raises RuntimeError for bool."""
    if target.dtype == np.bool_:
        catalog.function("neg")(wrap(target))
    return (-target).astype(x.dtype, copy=False)


def _soft_margin_backward(grad: Array, x: Array, target: Array, reduction: str) -> Any:
    negated = _negated(target, x)
    product = memory_format.like_operands(negated * x, (negated, x))
    z = memory_format.like_operands(elementary.exp(product), (product,))
    norm = np.result_type(x, np.float32).type(share(x, reduction))
    made = (target.astype(x.dtype, copy=False) * z * -norm).astype(x.dtype, copy=False)
    return memory_format.like_operands(made / (z + 1) * grad, (target, z))


def _soft_margin_backward_in_half(dtype: DType, grad: Array, x: Array, target: Array, reduction: str) -> Any:
    stored = partial(dtypes.stored, dtype=dtype)
    grad, negated, x, target = (np.asarray(part, np.float32) for part in (grad, _negated(target, x), x, target))
    z = stored(elementary.exp(stored(negated * x)))
    made = stored(stored(target * z) * -stored(np.asarray(share(x, reduction), np.float32)))
    return dtypes.cast(stored(made / stored(z + 1)) * grad, dtype)


def _soft_margin_slope(xp: Any, grad: Any, input: Any, target: Array, reduction: str) -> Any:
    if reduction == "none":
        return xp.call(SOFT_MARGIN_BACKWARD, grad, input, target, reduction)
    return grad * xp.call(SOFT_MARGIN_BACKWARD, xp.ones_like(grad), input, target, reduction)


def _soft_margin_curvature(xp: Any, grad: Any, grad_output: Any, input: Any, target: Array, reduction: str) -> Any:
    x = xp.plain(input)
    z = xp.exp(scalars.times_data(xp, input, np.broadcast_to(_negated(target, x), x.shape)))
    target = np.broadcast_to(target.astype(x.dtype, copy=False), x.shape)
    slope = scalars.times_data(xp, grad * grad_output, target * target) * z / ((z + 1) * (z + 1))
    return scalars.over(xp, slope, x.size) if reduction == "mean" else slope


_SOFT_MARGIN = N + "-grad * target * sigmoid(-target * input) / n"
SOFT_MARGIN_BACKWARD = Op(
    "SoftMarginLossBackwardBackward0",
    _soft_margin_backward,
    "grad_output input",
    "target reduction",
    in_half=_soft_margin_backward_in_half,
    jvp=without_jvp("soft_margin_loss_backward"),
    grad_output=Rule(_soft_margin_slope, _SOFT_MARGIN),
    input=Rule(_soft_margin_curvature, N + "z = exp(-target * input); grad * grad_output * target**2 * z / (z + 1)**2 / n"),
)
SOFT_MARGIN = Op(
    "SoftMarginLossBackward0",
    _soft_margin,
    "input",
    "target reduction",
    layout="iterated",
    in_half=_soft_margin_in_half,
    jvp=lambda xp, inputs, attrs, tangents, _: reduced(xp.call(SOFT_MARGIN_BACKWARD, tangents[0], inputs[0], attrs[0], "none"), attrs[1]),
    input=Rule(lambda xp, grad, input, attrs: xp.call(SOFT_MARGIN_BACKWARD, grad, input, *attrs), _SOFT_MARGIN),
)


def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    """`log(1 + exp(-target * input))` for targets 1 and -1. Raises ValueError or RuntimeError for arguments that do not fit."""
    return _KERNELS["soft_margin_loss"](input, target, checked_reduction(legacy_reduction(size_average, reduce, reduction)))


def _soft_margin_loss(input: Tensor, target: Tensor, reduction: str) -> Any:
    check_no_gradient("soft_margin_loss", target=target)
    if input.dtype is dtypes.bool_:
        catalog.function("neg")(input)  # raises the error of `-target`, which is made like the input
    check_into(input.array, target.array)
    if not input.dtype.is_floating_point:
        promoted = dtypes.result_type((input, target))  # the dtype of the product; PyTorch writes its exponential into the result
        raise result_dtype_error((promoted if promoted.is_floating_point else dtypes.float32).torch_name, input.dtype)
    if moves(target) and moves(input):
        raise no_forward_derivative("soft_margin_loss_backward")
    return SOFT_MARGIN(input, watched(target), reduction)


def _each(xp: Any, grad: Any, rows: int, reduction: str) -> Any:
    """The gradient of the loss of each row, so that it broadcasts along the classes."""
    if reduction == "mean":
        grad = scalars.over(xp, grad, rows)
    return xp.reshape(grad, (*grad.shape, 1))


#: for formulas: g is the gradient of the loss of each row
_EACH = "g = (grad / max(input.numel() // input.shape[-1], 1) if reduction == 'mean' else grad).unsqueeze(-1); "


# --- one class for each row ---


def _one_hot(shape: tuple[int, ...], target: Array, dtype: Any) -> Array:
    """1 at the class of each row, 0 elsewhere."""
    made = np.zeros(shape, dtype)
    np.put_along_axis(made, target.astype(np.int64).reshape(*shape[:-1], 1), 1, -1)
    return made


def _weights(shape: tuple[int, ...], target: Array, weight: Array | None, dtype: Any) -> Any:
    """The weight of the class of each row, so that it broadcasts along the classes."""
    return 1 if weight is None else weight[target.astype(np.int64)].reshape(*shape[:-1], 1).astype(dtype)


def _positive(x: Array) -> Array:
    """What is above 0; nan, which compares as false, counts as 0."""
    return np.where(x > 0, x, x.dtype.type(0))


def _margins(x: Array, target: Array, p: int, margin: float, weight: Array | None, reduction: str) -> Any:
    own = _one_hot(x.shape, target, x.dtype)
    weights = _weights(x.shape, target, weight, x.dtype)
    short = _positive(x.dtype.type(margin) + x - np.where(own == 1, x, 0).sum(-1, keepdims=True)) ** p
    losses = np.where((short > 0) & (own == 0), short * weights, 0).sum(-1) / x.shape[-1]
    return reduced_array(losses.astype(x.dtype).reshape(target.shape), reduction)


def _margins_rule(xp: Any, grad: Any, input: Any, target: Any, p: int, margin: float, weight: Any, reduction: str) -> Any:
    shape, dtype = tuple(input.shape), xp.plain(input).dtype
    own = _one_hot(shape, target, dtype)
    short = scalars.plus(xp, input - xp.sum(xp.where(own == 1, input, 0.0), -1, True), margin)
    counts = ((xp.plain(short) > 0) * (1 - own) * _weights(shape, target, weight, dtype) / shape[-1]).astype(dtype)
    slope = _each(xp, xp.reshape(grad, shape[:-1]) if reduction == "none" else grad, math.prod(shape[:-1]), reduction)
    pushed = xp.where(counts != 0, scalars.times_data(xp, slope if p == 1 else slope * short * 2, counts), 0.0)
    return xp.where(own == 1, pushed - xp.sum(pushed, -1, True), pushed)


_AT_EDGE = "nothing is pushed where the margin is just met"
MULTI_MARGIN_BACKWARD = not_differentiable(
    "multi_margin_loss_backward",
    lambda grad, input, *attrs: _margins_rule(numeric, grad, np.atleast_1d(input), *attrs).reshape(input.shape),
    "grad_output input",
    "target p margin weight reduction",
)
MULTI_MARGIN = Op(
    "MultiMarginLossBackward0",
    lambda input, *attrs: _margins(np.atleast_1d(input), *attrs),
    "input",
    "target p margin weight reduction",
    jvp=without_jvp("multi_margin_loss"),
    input=Rule(
        lambda xp, grad, input, attrs: xp.call(MULTI_MARGIN_BACKWARD, grad, input, *attrs),
        "t = F.one_hot(target, input.shape[-1]).reshape(input.shape); z = margin + input - (t * input).sum(-1, True); "
        "w = 1 if weight is None else weight[target].unsqueeze(-1); " + _EACH + "d = (1 - t) * (z > 0) * (1 if p == 1 else 2 * z) * w * g "
        "/ input.shape[-1]; d - t * d.sum(-1, True)",
        _AT_EDGE,
    ),
)


def _check_kernel(name: str, input: Tensor) -> None:
    """Raise NotImplementedError for dtypes other than float32 and float64."""
    require_floating(name, input.dtype)
    refuse_half(name, input.dtype)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The sum over other classes of how far they come within the margin of the right class, to the power p.

    Raises ValueError or RuntimeError for arguments that do not fit.
    """
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    if ordered(p, "!=", 1) and ordered(p, "!=", 2):
        raise ProgramError("ValueError", "only p == 1 and p == 2 supported")
    if weight is not None and with_method(weight, "dim").array.ndim != 1:
        raise shape_error("weight must be one-dimensional", "ValueError")
    return _KERNELS["multi_margin_loss"](input, target, p, margin, weight, reduction)


def _refuse_empty(name: str, input: Tensor, reduction: str) -> None:
    """Refuse what PyTorch answers with memory that it has not set."""
    if reduction != "none" and input.array.ndim == 2 and not input.array.size:
        raise ProgramError("NotImplementedError", f"{name} of no rows is not part of gradcli")


def _multi_margin_loss(input: Tensor, target: Tensor, p: float, margin: float, weight: Tensor | None, reduction: str) -> Any:
    check_no_gradient("multi_margin_loss", weight=weight)
    if moves(input):
        raise no_forward_derivative("multi_margin_loss")
    shape = input.array.shape
    rows = shape[0] if len(shape) == 2 else 1
    if len(shape) > 2 or 0 in shape[-1:]:
        raise shape_error(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}")
    if target.array.ndim > 1 or target.array.size != rows:
        raise shape_error(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected target "
            f"size [{rows}], but got {list(target.array.shape)}. Input has shape {list(shape)}.",
        )
    classes = shape[-1] if shape else 1
    if weight is not None and weight.array.shape != (classes,):
        raise shape_error(f"inconsistent weight size, expected {classes} but got {list(weight.array.shape)}")
    _refuse_empty("multi_margin_loss", input, reduction)
    if input.array.size:
        _check_kernel("multi_margin_loss_cpu_kernel", input)
        if target.dtype is not dtypes.int64:
            raise scalar_type_error(dtypes.int64, target.dtype)
        if weight is not None and weight.dtype is not input.dtype:
            raise scalar_type_error(input.dtype, weight.dtype)
        if target.array.min() < 0 or target.array.max() >= classes:
            raise runtime_error("target out of range")
    return MULTI_MARGIN(
        input, watched(target), p if type(p) is bool else int(p), margin, None if weight is None else weight.array, reduction
    )


# --- several classes for each row: the target lists them, up to the first -1 ---


def _listed(target: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """How often each class is listed."""
    counts = np.cumprod(target >= 0, -1).astype(dtype)
    made = np.zeros(shape, dtype)
    places: list[Any] = list(np.indices(target.shape, sparse=True))
    places[-1] = np.maximum(target, 0)
    np.add.at(made, tuple(places), counts)
    return made


def _pairs(x: Array, target: Array) -> tuple[Array, Array]:
    """For each pair of a listed class and another: by how much the margin of 1 is missed, and how often the pair counts."""
    own = _listed(target.reshape(x.shape), x.shape, x.dtype)  # the target may be a number, which lists one class
    return 1 - x[..., :, None] + x[..., None, :], own[..., :, None] * (own == 0)[..., None, :]


def _labels(x: Array, target: Array, reduction: str) -> Any:
    short, counts = _pairs(x, target)
    return reduced_array(np.asarray(np.where(counts > 0, _positive(short) * counts, 0).sum((-1, -2)) / x.shape[-1], x.dtype), reduction)


def _labels_rule(xp: Any, grad: Any, input: Any, target: Any, reduction: str) -> Any:
    values = xp.plain(input)
    short, counts = _pairs(values, target)
    pushed = (short > 0) * counts / values.shape[-1]
    slopes = (pushed.sum(-2) - pushed.sum(-1)).astype(values.dtype)
    return scalars.times_data(xp, _each(xp, grad, math.prod(values.shape[:-1]), reduction), slopes)


MULTILABEL_MARGIN_BACKWARD = not_differentiable(
    "multilabel_margin_loss_backward",
    lambda grad, input, *attrs: _labels_rule(numeric, grad, np.atleast_1d(input), *attrs).reshape(input.shape),
    "grad_output input",
    "target reduction",
)
MULTILABEL_MARGIN = Op(
    "MultilabelMarginLossBackward0",
    lambda input, *attrs: _labels(np.atleast_1d(input), *attrs),
    "input",
    "target reduction",
    saved="is_target=? self target reduction",
    computed={"is_target": lambda x, target, reduction: np.asarray(_listed(target.reshape(x.shape), x.shape, x.dtype) > 0, x.dtype)},
    jvp=without_jvp("multilabel_margin_loss_forward"),
    input=Rule(
        lambda xp, grad, input, attrs: xp.call(MULTILABEL_MARGIN_BACKWARD, grad, input, *attrs),
        "t = zeros_like(input).scatter_add(-1, target.clamp(min=0), (target >= 0).long().cumprod(-1).to(input.dtype)); "
        "z = 1 - input.unsqueeze(-1) + input.unsqueeze(-2); a = (z > 0) * t.unsqueeze(-1) * (t == 0).unsqueeze(-2); "
        + _EACH
        + "(a.sum(-2) - a.sum(-1)) * g / input.shape[-1]",
        _AT_EDGE,
    ),
)


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    """The sum over pairs of a listed class and another of how far the margin of 1 is missed.

    Raises ValueError or RuntimeError for arguments that do not fit.
    """
    return _KERNELS["multilabel_margin_loss"](input, target, checked_reduction(legacy_reduction(size_average, reduce, reduction)))


def _multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str) -> Any:
    if moves(input):
        raise no_forward_derivative("multilabel_margin_loss_forward")
    shape = input.array.shape
    if len(shape) > 2 or 0 in shape[-1:]:
        raise shape_error(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}")
    if target.array.shape != shape and not {target.array.shape, shape} <= {(), (1,)}:
        raise shape_error(f"inconsistent target size: {list(target.array.shape)} for input of size: {list(shape)}")
    _refuse_empty("multilabel_margin_loss", input, reduction)
    if input.array.size:
        if target.dtype.is_complex:
            raise not_implemented("min_all", target.dtype)
        least, most = (scalar_of(find(target.array).item(), dtypes.int64) for find in (np.min, np.max))
        if least < -1 or most >= (shape[-1] if shape else 1):
            raise runtime_error("argument #2 'target' is out of range")
        _check_kernel("multilabel_margin_loss_forward_out_frame", input)
    if target.dtype is not dtypes.int64:
        raise scalar_type_error(dtypes.int64, target.dtype)
    limits.check_elements(input.array.size * (shape[-1] if shape else 1), input.dtype.itemsize)
    return MULTILABEL_MARGIN(input, watched(target), reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The mean over the classes of their binary cross entropies, from logits. Raises ValueError for an unknown reduction."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    log, plus, minus, times = catalog.function("nn.functional.logsigmoid"), *(BINARY[symbol] for symbol in "+-*")
    loss = -plus(times(target, log(input)), times(minus(1, target) if type(target) is Tensor else 1 - target, log(-input)))
    if weight is not None:
        loss = times(loss, weight)
    dim = input.array.ndim - 1
    classes = size(input, dim)
    loss = sum_along(loss, (dim,)) / classes
    checked_reduction(reduction, " is not valid", joined=True)
    return reduced(loss, reduction)


#: the functions of C++ that check the types of the arguments
_KERNELS = {
    name: kernel(name, f"Tensor input, Tensor target, {more}str reduction", run)
    for name, more, run in (
        ("soft_margin_loss", "", _soft_margin_loss),
        ("multi_margin_loss", "Number p, Number margin, Tensor? weight, ", _multi_margin_loss),
        ("multilabel_margin_loss", "", _multilabel_margin_loss),
    )
}
_X = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.6]]

FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        soft_margin_loss,
        "soft_margin_loss",
        "Logistic loss for targets 1 and -1.",
        unchecked=True,
        ops=(SOFT_MARGIN, SOFT_MARGIN_BACKWARD),
        samples=(Sample("F.soft_margin_loss(p, tensor([1., -1., 1.]))", None, p=SCORES),),
    ),
    PythonFunction(
        multi_margin_loss,
        "multi_margin_loss",
        "How far the other classes come within a margin of the right one.",
        unchecked=True,
        ops=(MULTI_MARGIN,),
        samples=(
            Sample("F.multi_margin_loss(x, tensor([0, 2]))", None, x=_X),
            Sample("F.multi_margin_loss(x, tensor([0, 2]), 2, 0.7, x.new_tensor([1., 2., 0.5]), reduction='none')", None, x=_X),
            Sample("F.multi_margin_loss(x, tensor(1), reduction='sum')", None, x=_X[0]),
        ),
    ),
    PythonFunction(
        multilabel_margin_loss,
        "multilabel_margin_loss",
        "How far other classes come within 1 of the listed ones.",
        unchecked=True,
        ops=(MULTILABEL_MARGIN,),
        samples=(
            Sample("F.multilabel_margin_loss(x, tensor([[1, -1, 0], [2, 0, -1]]))", None, x=_X),
            Sample("F.multilabel_margin_loss(x, tensor([[1, -1, 0], [2, 0, -1]]), reduction='none')", None, x=_X),
        ),
    ),
    PythonFunction(
        multilabel_soft_margin_loss,
        "multilabel_soft_margin_loss",
        "Binary cross entropy of each class, the mean of a row's.",
        unchecked=True,
        samples=(Sample("F.multilabel_soft_margin_loss(x, tensor([[1., 0., 1.], [0., 1., 1.]]))", None, x=_X),),
    ),
)
