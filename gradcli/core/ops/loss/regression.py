"""Loss functions, as `torch.nn.functional` has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.namespaces import traced
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.loss import binary_cross_entropy as loss_records
from gradcli.core.ops.loss import cross_entropy as nll
from gradcli.core.ops.loss import likelihoods as composed
from gradcli.core.ops.loss.loss_reduction import checked_reduction, legacy_reduction
from gradcli.core.ops.loss.loss_reduction import reduce as reduced
from gradcli.core.ops.reduce.dimensions import not_implemented
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error


def _sizes(input: Tensor, target: Tensor) -> None:
    """Warn where the sizes differ."""
    if input.array.shape != target.array.shape:
        warnings.emit(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size."
        )


def _broadcast(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    if input.array.shape == target.array.shape:
        return input, target
    a, b = catalog.function("broadcast_tensors")(input, target)
    return a, b


def _floating(kernel: str, input: Tensor, target: Tensor) -> None:
    dtype = dtypes.promote(input.dtype, target.dtype)
    if not dtype.is_floating_point:
        raise not_implemented(f"{kernel}", dtype)


def _weighted(loss: Tensor, input: Tensor, weight: Any, reduction: str, average: bool) -> Any:
    """A loss with a weight for each element; the mean divides by the sum of the weights, or (`average`) by the count."""
    if weight.array.shape != input.array.shape:
        raise ProgramError("ValueError", "Weights and input must have the same size.")
    values = loss * weight
    if reduction == "mean" and not average:
        return reduced(values, "sum") / catalog.function("sum")(weight)
    return reduced(values, reduction)


def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Tensor | None = None
) -> Any:
    """The mean of the squared differences."""
    _sizes(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _broadcast(input, target)
    if weight is not None:
        return _weighted((input - target) ** 2, input, weight, reduction, False)
    checked_reduction(reduction)
    _floating("mse_cpu", input, target)
    return loss_records.MSE(input, target, reduction)


def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Tensor | None = None
) -> Any:
    """The mean of the absolute differences."""
    _sizes(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _broadcast(input, target)
    difference = catalog.function("abs")(input - target)
    if weight is not None:
        return _weighted(difference, input, weight, reduction, False)
    return reduced(difference, checked_reduction(reduction))


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Any:
    """Half the squared difference over beta where it is less than beta, else the absolute difference less half of beta."""
    _sizes(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _broadcast(input, target)
    checked_reduction(reduction)
    if beta < 0:
        raise runtime_error("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced(catalog.function("abs")(input - target), reduction)
    _floating("smooth_l1_cpu", input, target)
    return loss_records.SMOOTH_L1(input, target, reduction, float(beta))


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None) -> Any:
    """Half the squared difference up to delta, beyond it growing linearly."""
    _sizes(input, target)
    input, target = _broadcast(input, target)
    checked_reduction(reduction)
    if delta <= 0:
        raise runtime_error("huber_loss does not support non-positive values for delta.")
    _floating("huber_cpu", input, target)
    if input.dtype.is_floating_point:
        target = to_dtype(target, input.dtype)  # the result has the input's dtype, whatever the target's
    if weight is not None:
        return _weighted(loss_records.HUBER(input, target, "none", float(delta)), input, weight, reduction, True)
    return loss_records.HUBER(input, target, reduction, float(delta))


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Minus the log probabilities of the target classes."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    checked_reduction(reduction)
    return nll.likelihood(input, target, weight, reduction, ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Cross entropy of logits with class indices, or with probabilities of the same shape."""
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    if input.array.shape == target.array.shape:
        return _soft_labels(input, target, weight, ignore_index, reduction, label_smoothing)
    if label_smoothing > 1.0:
        raise runtime_error(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    log = catalog.function("log_softmax")(input, 1 if input.array.ndim > 1 else 0)
    loss = nll.likelihood(log, target, weight, reduction, ignore_index)
    if label_smoothing <= 0.0:
        return loss
    return _smoothed(log, loss, target, weight, ignore_index, reduction, label_smoothing)


def _soft_labels(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, label_smoothing: float) -> Any:
    axis = 1 if input.array.ndim > 1 else 0
    classes = input.array.shape[axis] if input.array.ndim else 1
    if not target.dtype.is_floating_point:
        raise runtime_error(f"Expected floating point type for target with class probabilities, got {target.dtype.torch_name}")
    if ignore_index >= 0:
        raise runtime_error("ignore_index is not supported for floating point target")
    if weight is not None and weight.array.shape != (classes,):
        raise runtime_error(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got weight tensor "
            f"of shape: {list(weight.array.shape)}"
        )
    log = catalog.function("log_softmax")(input, axis)
    if label_smoothing > 0.0:
        target = scalars.plus(traced, scalars.times(traced, target, 1 - label_smoothing), label_smoothing / classes)
    product = log * target
    if weight is not None:
        product = product * _along(weight, axis, input.array.ndim)
    if reduction == "none":
        return catalog.function("neg")(catalog.function("sum")(product, (axis,)))
    total = catalog.function("neg")(catalog.function("sum")(product))
    return scalars.over(traced, total, input.array.size / classes) if reduction == "mean" else total


def _along(weight: Tensor, axis: int, rank: int) -> Tensor:
    """The weights of the classes, shaped to multiply along the class dimension."""
    return Tensor(weight.array.reshape([-1 if i == axis else 1 for i in range(rank)]), weight.dtype)


def _smoothed(
    log: Tensor, loss: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, label_smoothing: float
) -> Any:
    """A part of the loss is spread evenly over the classes."""
    axis = 1 if log.array.ndim > 1 else 0
    classes = log.array.shape[axis]
    spread = log if weight is None else log * _along(weight, axis, log.array.ndim)
    spread = catalog.function("neg")(catalog.function("sum")(spread, (axis,)))
    ignored = target.array == ignore_index
    spread = catalog.function("masked_fill")(spread, Tensor(ignored, dtypes.bool_), 0.0)
    if reduction != "none":
        spread = catalog.function("sum")(spread)
    if reduction == "mean":
        if weight is None:
            divisor = Tensor(np.asarray(np.sum(~ignored)), dtypes.int64)
        else:
            chosen = np.where(ignored, 0, weight.array[np.where(ignored, 0, target.array)])
            divisor = Tensor(np.asarray(chosen.sum(dtype=weight.dtype.np)), weight.dtype)
        spread = spread / divisor
    return scalars.times(traced, loss, 1 - label_smoothing) + scalars.times(traced, spread, label_smoothing / classes)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Cross entropy of probabilities with targets between 0 and 1."""
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    if input.array.shape != target.array.shape:
        raise ProgramError(
            "ValueError",
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size.",
        )
    if target.dtype is not input.dtype:
        raise runtime_error(f"Found dtype {target.dtype.torch_name} but expected {input.dtype.torch_name}")
    for name, tensor in (("input", input), ("target", target)):
        if not ((tensor.array >= 0) & (tensor.array <= 1)).all():
            raise runtime_error(f"all elements of {name} should be between 0 and 1")
    factor = None if weight is None else np.broadcast_to(weight.array, input.array.shape)
    return loss_records.BCE(input, target, factor, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Any:
    """Cross entropy of logits with targets between 0 and 1."""
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    if input.array.shape != target.array.shape:
        raise ProgramError("ValueError", f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if not input.dtype.is_floating_point:
        raise not_implemented("log_sigmoid_cpu", input.dtype)
    if not target.dtype.is_floating_point:
        names = (input.dtype.torch_name, target.dtype.torch_name)
        raise runtime_error("result type {} can't be cast to the desired output type {}".format(*names))
    for name, extra in (("weight", weight), ("pos_weight", pos_weight)):
        if extra is not None and extra.requires_grad:
            raise runtime_error(
                f"The function 'binary_cross_entropy_with_logits' is not differentiable with respect to argument '{name}'. "
                "This input cannot have requires_grad True."
            )
    factor = None if weight is None else weight.array
    return loss_records.BCE_LOGITS(input, target, factor, None if pos_weight is None else pos_weight.array, reduction)


def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    """`log(1 + exp(-target * input))` for targets 1 and -1."""
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    if target.requires_grad:
        raise runtime_error(
            "The function 'soft_margin_loss' is not differentiable with respect to argument 'target'. "
            "This input cannot have requires_grad True."
        )
    if not input.dtype.is_floating_point:
        raise runtime_error(f"result type Float can't be cast to the desired output type {input.dtype.torch_name}")
    input, target = _broadcast(input, target)
    return loss_records.SOFT_MARGIN(input, target.array.astype(input.array.dtype), reduction)


_P, _T = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], [[1.0, 0.5, 0.0], [0.25, 1.1, 0.4]]

FUNCTIONS = (
    PythonFunction(
        mse_loss,
        "mse_loss",
        "Mean squared error.",
        ops=(loss_records.MSE, loss_records.MSE_BACKWARD),
        samples=(
            Sample("F.mse_loss(p, t)", lambda p, t: np.mean((p - t) ** 2), p=_P, t=_T),
            Sample("F.mse_loss(p, t, reduction='sum')", lambda p, t: np.sum((p - t) ** 2), p=_P, t=_T),
            Sample("F.mse_loss(p, t, reduction='none')", lambda p, t: (p - t) ** 2, p=_P, t=_T),
        ),
    ),
    PythonFunction(
        l1_loss,
        "l1_loss",
        "Mean absolute error.",
        samples=(Sample("F.l1_loss(p, t)", lambda p, t: np.mean(np.abs(p - t)), p=_P, t=_T),),
    ),
    PythonFunction(
        smooth_l1_loss,
        "smooth_l1_loss",
        "Quadratic near 0, linear beyond beta.",
        ops=(loss_records.SMOOTH_L1, loss_records.SMOOTH_L1_BACKWARD),
        samples=(
            Sample("F.smooth_l1_loss(p, t)", None, p=_P, t=_T),
            Sample("F.smooth_l1_loss(p, t, beta=0.75, reduction='sum')", None, p=_P, t=_T),
        ),
    ),
    PythonFunction(
        huber_loss,
        "huber_loss",
        "Quadratic near 0, linear beyond delta.",
        ops=(loss_records.HUBER, loss_records.HUBER_BACKWARD),
        samples=(Sample("F.huber_loss(p, t, delta=0.75)", None, p=_P, t=_T),),
    ),
    PythonFunction(
        nll_loss,
        "nll_loss",
        "Negative log likelihood of class indices, from log probabilities.",
        checked_as="nll_loss_nd",
        ops=(nll.NLL, nll.NLL_BACKWARD, nll.NLL2D, nll.NLL2D_BACKWARD),
        samples=(
            Sample("F.nll_loss(p, tensor([2, 0]))", lambda p: -(p[0, 2] + p[1, 0]) / 2, p=_P),
            Sample("F.nll_loss(p, tensor([2, 0]), reduction='sum')", lambda p: -(p[0, 2] + p[1, 0]), p=_P),
        ),
    ),
    PythonFunction(
        cross_entropy,
        "cross_entropy",
        "Cross entropy of logits with class indices or probabilities.",
        checked_as="cross_entropy_loss",
        samples=(
            Sample("F.cross_entropy(p, tensor([2, 0]))", None, p=_P),
            Sample("F.cross_entropy(p, tensor([2, 0]), label_smoothing=0.1)", None, p=_P),
            Sample("F.cross_entropy(p, t)", None, p=_P, t=_T),
        ),
    ),
    PythonFunction(
        binary_cross_entropy,
        "binary_cross_entropy",
        "Cross entropy of probabilities with targets between 0 and 1.",
        ops=(loss_records.BCE, loss_records.BCE_BACKWARD),
        samples=(
            Sample(
                "F.binary_cross_entropy(p, t)",
                lambda p, t: -np.mean(t * np.log(p) + (1 - t) * np.log(1 - p)),
                p=[0.25, 0.5, 0.75],
                t=[0.1, 0.9, 0.5],
            ),
        ),
    ),
    PythonFunction(
        binary_cross_entropy_with_logits,
        "binary_cross_entropy_with_logits",
        "Cross entropy of logits with targets between 0 and 1.",
        ops=(loss_records.BCE_LOGITS,),
        samples=(
            Sample(
                "F.binary_cross_entropy_with_logits(p, t)",
                lambda p, t: np.mean((1 - t) * p + np.log1p(np.exp(-p))),
                p=_P,
                t=_T,
            ),
        ),
    ),
    PythonFunction(
        soft_margin_loss,
        "soft_margin_loss",
        "Logistic loss for targets 1 and -1.",
        checked_as="soft_margin_loss",
        ops=(loss_records.SOFT_MARGIN, loss_records.SOFT_MARGIN_BACKWARD),
        samples=(Sample("F.soft_margin_loss(p, tensor([1., -1., 1.]))", None, p=_P),),
    ),
    *composed.FUNCTIONS,
)
