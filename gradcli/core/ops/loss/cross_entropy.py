"""The negative log likelihood of class indices, and cross entropy with class indices or probabilities.

The dimension of the classes is the second, or the only one. Weights are one number for each class; they are data, which
have no gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph import in_place
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.pointwise import check_into
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.kernels import Array, half_to_single
from gradcli.core.kernels.summation import in_broken_levels, in_levels, total
from gradcli.core.ops.activation.softmax import log_softmax
from gradcli.core.ops.checks import is_sample, require_floating, scalar_type_error, size
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.index.gather_scatter import gather
from gradcli.core.ops.index.masked import masked_fill
from gradcli.core.ops.loss.loss_reduction import checked_reduction, legacy_reduction
from gradcli.core.ops.loss.samples import SCORES, TARGETS
from gradcli.core.ops.reduce.sum_mean import sum as sum_along
from gradcli.core.ops.reduce.sum_mean import sum_all
from gradcli.core.ops.rules import check_no_gradient
from gradcli.core.ops.shape.views import reshape, view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

# --- the records; `target` is an array ---


def _class_axis(rank: int) -> int:
    return 0 if rank == 1 else 1


def _weighted(x: Array, target: Array, weight: Array | None, ignore_index: int) -> tuple[Array, Array]:
    """The class of each element, 0 where it is ignored, and its weight, 0 where it is ignored.

    Raises IndexError for a class that x does not have.
    """
    target = target.astype(np.int64)
    counts = target != ignore_index
    wrong = counts & ((target < 0) | (target >= x.shape[_class_axis(x.ndim)]))
    if wrong.any():
        raise ProgramError("IndexError", f"Target {target[wrong].flat[0]} is out of bounds.")
    target = np.where(counts, target, 0)
    return target, counts.astype(x.dtype) if weight is None else np.where(counts, weight[target], 0).astype(x.dtype)


def _forward(
    x: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int, rounded: Callable[[Array], Array] = np.asarray
) -> Any:
    axis = _class_axis(x.ndim)
    if not axis:
        target = target.reshape(())
    classes, each = _weighted(x, target, weight, ignore_index)
    chosen = np.take_along_axis(x, np.expand_dims(classes, axis), axis).squeeze(axis) if x.shape[axis] else 0.0  # all are ignored
    values = rounded(np.where(target != ignore_index, -chosen * each, 0).astype(x.dtype))
    if reduction == "none" and axis:
        return values
    counted = target != ignore_index
    added = _added(values, counted, rounded)
    if not axis:  # PyTorch subtracts from 0, and the result has no -0
        added = added + x.dtype.type(0)
    return added / _added(each, counted, rounded, weight is None) if reduction == "mean" else added


def _added(values: Array, counted: Array, rounded: Callable[[Array], Array], ones: bool = False) -> Any:
    """The sum of values in the order of PyTorch's kernel, where `rounded` rounds each step; `ones`: they are 1 where they are counted."""
    if ones or not values.size or not values.ndim:
        return rounded(np.asarray(total(values)))
    if rounded is np.asarray and values.ndim == 1 and counted.all():
        return in_levels(values)
    return in_broken_levels(values.reshape(-1), counted.reshape(-1), rounded)


def _forward_in_half(dtype: DType, x: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int) -> Any:
    weight = None if weight is None else half_to_single(weight)
    how = reduction, ignore_index, partial(dtypes.stored, dtype=dtype)
    return dtypes.cast(np.asarray(_forward(half_to_single(x), target, weight, *how)), dtype)


def _backward(
    grad: Array,
    x: Array,
    target: Array,
    weight: Array | None,
    reduction: str,
    ignore_index: int,
    rounded: Callable[[Array], Array] = np.asarray,
) -> Any:
    axis = _class_axis(x.ndim)
    if not axis:
        if target.shape not in ((), x.shape):
            raise shape_error(f"size mismatch (got input: {list(x.shape)}, target: {list(target.shape)})")
        target = target.reshape(())
    classes, each = _weighted(x, target, weight, ignore_index)
    if reduction == "mean":
        grad = rounded(np.asarray(grad / _added(each, target != ignore_index, rounded, weight is None)))
    values = np.where(target != ignore_index, np.asarray(-each * grad, x.dtype), x.dtype.type(0))
    out = np.zeros(x.shape, x.dtype)
    if x.shape[axis]:
        np.put_along_axis(out, np.expand_dims(classes, axis), np.expand_dims(values, axis), axis)
    return out


def _backward_in_half(dtype: DType, grad: Array, x: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int) -> Any:
    weight = None if weight is None else half_to_single(weight)
    how = reduction, ignore_index, partial(dtypes.stored, dtype=dtype)
    return dtypes.cast(_backward(half_to_single(grad), half_to_single(x), target, weight, *how), dtype)


def _total_weight(x: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int) -> Array:
    """The sum of the weights, which PyTorch keeps; 0 where nothing is reduced."""
    if reduction == "none":
        return np.zeros((), x.dtype)
    return np.asarray(total(_weighted(x, target if _class_axis(x.ndim) else target.reshape(()), weight, ignore_index)[1]), x.dtype)


def _records(suffix: str, dim: int) -> tuple[Op, Op]:
    """The loss and its derivative, for classes along `dim` in formulas."""
    attrs = "target weight reduction ignore_index"
    # minus grad times the weight at the target classes, 0 elsewhere and at ignored classes
    placed = (
        "k = target != ignore_index; t = target * k; w = k if weight is None else k * weight[t]; "
        'n = w.sum() if reduction == "mean" else 1; '
        f"zeros_like(input).scatter({dim}, t.unsqueeze({dim}), (-grad * w / n).where(k, 0).unsqueeze({dim}))"
    )
    if dim == -1:
        # without weights and ignored classes it is minus grad times one-hot, in a mean by the number of targets
        each = 'grad.unsqueeze(-1) if reduction == "none" and target.dim() else grad'
        count = 'target.numel() if reduction == "mean" else 1'
        plain = "weight is None and target.dtype == torch.int64 and (target != ignore_index).all()"
        placed = (
            f"g = {each}; m = {count}; {placed.rpartition('; ')[0]}; -g * F.one_hot(target, input.size(-1)) / m if {plain} else "
            + (placed.rpartition("; ")[2])
        )
    backward: Op = Op(
        f"NllLoss{suffix}BackwardBackward0",
        _backward,
        "grad_output input",
        attrs,
        in_half=_backward_in_half,
        # the input has no part in its own gradient, so that its tangent alone gives none
        jvp=lambda xp, inputs, attrs, tangents, _: None if tangents[0] is None else xp.call(backward, tangents[0], inputs[1], *attrs),
        grad_output=Rule(
            lambda xp, grad, attrs: xp.call(loss, grad, *attrs),
            "F.nll_loss(grad, target, weight, ignore_index=ignore_index, reduction=reduction)",
        ),
        input=Rule(lambda xp, grad: xp.zeros_like(grad), "zeros_like(input)"),
    )
    loss: Op = Op(
        f"NllLoss{suffix}Backward0",
        _forward,
        "input",
        attrs,
        in_half=_forward_in_half,
        saved="self target total_weight=? weight ignore_index reduction",
        computed={"total_weight": _total_weight},
        jvp=lambda xp, inputs, attrs, tangents, _: xp.call(loss, tangents[0], *attrs),
        input=Rule(lambda xp, grad, input, attrs: xp.call(backward, grad, input, *attrs), placed),
    )
    return loss, backward


NLL, NLL_BACKWARD = _records("", -1)
NLL2D, NLL2D_BACKWARD = _records("2D", 1)


# --- with class indices ---


def _likelihood(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int) -> Tensor:
    """`torch._C._nn.nll_loss_nd`."""
    rank = input.array.ndim
    if not rank:
        raise shape_error("Expected 1 or more dimensions (got 0)", "ValueError")
    rows = target.array.shape[0] if target.array.ndim else 0
    if rank != 1 and input.array.shape[0] != rows:
        sizes = f"{input.array.shape[0]}) to match target batch_size ({rows})."
        raise shape_error(f"Expected input batch_size ({sizes}", "ValueError")
    if rank <= 2:
        check_no_gradient("nll_loss_forward", weight=weight)
        _check_flat(input, target, weight)
        return NLL(input, watched(target), None if weight is None else weight.array, reduction, ignore_index)  # type: ignore[no-any-return]
    return _spatial(input, target, weight, reduction, ignore_index)


def _check_flat(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Raise the errors of one class index for each row."""
    if target.array.ndim > 1:
        raise shape_error("0D or 1D target tensor expected, multi-target not supported")
    if input.array.ndim == 2:
        size(target, 0)
    _check_indices(target)
    if input.array.ndim == 1 and target.array.ndim and (is_sample(input) or is_sample(target)):
        raise shape_error(f"size mismatch (got input: {input.shape}, target: {target.shape})")
    if input.array.ndim == 1 and target.array.size != 1:
        raise shape_error(f"For 1D input, 1D target must have size 1, but got target size: {target.array.size}", "ValueError")
    classes = input.array.shape[-1]
    if weight is not None and weight.array.shape != (classes,):
        raise shape_error(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: "
            f"{list(weight.array.shape)}",
        )
    _check("nll_loss_out_frame", input, weight)


def _check(kernel: str, input: Tensor, weight: Tensor | None) -> None:
    """Raise RuntimeError for dtypes that do not fit, NotImplementedError for a dtype that is not floating."""
    require_floating(kernel, input.dtype)
    if weight is not None and weight.dtype is not input.dtype:
        raise scalar_type_error(input.dtype, weight.dtype)


def _check_indices(target: Tensor) -> None:
    if target.dtype not in (dtypes.int64, dtypes.uint8):
        raise runtime_error(f"expected target dtype to be Long or Byte, but got {target.dtype.torch_name}")


def _spatial(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int) -> Tensor:
    """Inputs of three and more dimensions, which are viewed as images of four."""
    shape = input.array.shape
    wanted = (shape[0], *shape[2:])
    flat = len(shape) != 4
    if flat:
        if target.array.shape != wanted:
            raise shape_error(f"Expected target size {list(wanted)}, got {list(target.array.shape)}")
        input = view(input, (shape[0], shape[1], 1, -1))
        target = reshape(target, (shape[0], 1, -1))
    check_no_gradient("nll_loss2d_forward", weight=weight)
    if target.array.ndim != 3:
        raise shape_error(f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.array.ndim}")
    _check_indices(target)
    if weight is not None and weight.array.size != shape[1]:
        raise shape_error("weight tensor should be defined either for all or no classes")
    if not flat and target.array.shape != wanted:
        raise shape_error(f"size mismatch (got input: {list(shape)} , target: {list(target.array.shape)}")
    _check("nll_loss2d_forward_out_frame", input, weight)
    if target.dtype is not dtypes.int64:
        raise scalar_type_error(dtypes.int64, target.dtype)
    result: Tensor = NLL2D(input, watched(target), None if weight is None else weight.array, reduction, ignore_index)
    if flat and reduction == "none":
        result = view(result, wanted)
    return result


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Minus the log probabilities of the target classes, by default their weighted mean.

    Raises ValueError, IndexError, RuntimeError or NotImplementedError for arguments that do not fit.
    """
    return _NLL_LOSS(input, target, weight, checked_reduction(legacy_reduction(size_average, reduce, reduction)), ignore_index)


_NLL_LOSS = kernel("nll_loss_nd", "Tensor input, Tensor target, Tensor? weight, str reduction, int ignore_index", _likelihood)


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
    """Cross entropy of logits with class indices, or with probabilities of the same shape.

    Raises ValueError, IndexError or RuntimeError for arguments that do not fit.
    """
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    return _CROSS_ENTROPY(input, target, weight, reduction, ignore_index, label_smoothing)


def _cross_entropy_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int, label_smoothing: float
) -> Any:
    if input.array.shape == target.array.shape:
        return _soft_labels(input, target, weight, ignore_index, reduction, label_smoothing)
    _check_smoothing(label_smoothing)
    log = log_softmax(input, 0 if input.array.ndim == 1 else 1)
    loss = _likelihood(log, target, weight, reduction, ignore_index)
    if label_smoothing <= 0.0:
        return loss
    return _smoothed(log, loss, target, weight, ignore_index, reduction, label_smoothing)


_CROSS_ENTROPY = kernel(
    "cross_entropy_loss",
    "Tensor input, Tensor target, Tensor? weight, str reduction, int ignore_index, float label_smoothing",
    _cross_entropy_loss,
)


def _check_smoothing(label_smoothing: float) -> None:
    if label_smoothing > 1.0:
        raise runtime_error(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _soft_labels(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, label_smoothing: float) -> Any:
    """Cross entropy with probabilities."""
    axis = 0 if input.array.ndim == 1 else 1
    if not target.dtype.is_floating_point:
        raise runtime_error(f"Expected floating point type for target with class probabilities, got {target.dtype.torch_name}")
    classes = size(input, axis)
    if ignore_index >= 0:
        raise runtime_error("ignore_index is not supported for floating point target")
    if weight is not None and weight.array.shape != (classes,):
        raise shape_error(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got weight tensor "
            f"of shape: {list(weight.array.shape)}",
        )
    log = log_softmax(input, axis)
    if label_smoothing > 0.0:
        _check_smoothing(label_smoothing)
        target = scalars.plus(traced, scalars.times(traced, target, 1 - label_smoothing), label_smoothing / (classes or math.nan))
    product = log * target
    if weight is not None:
        product = product * _along(weight, axis, input.array.ndim)
    if reduction == "none":
        return -sum_along(product, (axis,))
    added = sum_all(product)
    if reduction == "mean" and not input.array.size:
        in_place.fill_(added, math.nan)
        return -added
    return scalars.over(traced, -added, input.array.size // classes) if reduction == "mean" else -added


def _along(weight: Tensor, axis: int, rank: int) -> Tensor:
    """The weights of the classes, in a shape that broadcasts along the dimension of the classes."""
    if rank == 1:
        return weight
    return reshape(weight, tuple(-1 if i == axis else 1 for i in range(rank)))


def _smoothed(
    log: Tensor, loss: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, label_smoothing: float
) -> Any:
    """The loss with a share `label_smoothing` spread evenly over all classes."""
    axis = 1 if log.array.ndim > 1 else 0
    classes = log.array.shape[axis]
    spread = log if weight is None else log * _along(weight, axis, log.array.ndim)
    ignored = np.asarray(target.array == ignore_index)
    spread = -sum_along(spread, (axis,))
    check_into(spread.array, ignored)
    spread = masked_fill(spread, Tensor(ignored, dtypes.bool_), 0.0)
    if reduction != "none":
        spread = sum_all(spread)
    if reduction == "mean":
        counted = Tensor(target.array[~ignored], target.dtype)
        spread = spread / (Tensor(np.asarray(counted.array.size), dtypes.int64) if weight is None else sum_all(gather(weight, 0, counted)))
    return scalars.times(traced, loss, 1 - label_smoothing) + scalars.times(traced, spread, label_smoothing / classes)


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        nll_loss,
        "nll_loss",
        "Negative log likelihood of class indices, from log probabilities.",
        unchecked=True,
        ops=(NLL, NLL_BACKWARD, NLL2D, NLL2D_BACKWARD),
        samples=(
            Sample("F.nll_loss(p, tensor([2, 0]))", lambda p: -(p[0, 2] + p[1, 0]) / 2, p=SCORES),
            Sample("F.nll_loss(p, tensor([2, 0]), reduction='sum')", lambda p: -(p[0, 2] + p[1, 0]), p=SCORES),
            Sample("F.nll_loss(p, tensor([2, 0]), tensor([2., 1., 0.5]).type_as(p))", lambda p: -(p[0, 2] + 4 * p[1, 0]) / 5, p=SCORES),
            Sample("F.nll_loss(p, tensor([2, 0]), ignore_index=2)", lambda p: -p[1, 0], p=SCORES),
        ),
    ),
    PythonFunction(
        cross_entropy,
        "cross_entropy",
        "Cross entropy of logits with class indices or probabilities.",
        unchecked=True,
        samples=(
            Sample("F.cross_entropy(p, tensor([2, 0]))", None, p=SCORES),
            Sample("F.cross_entropy(p, tensor([2, 0]), label_smoothing=0.1)", None, p=SCORES),
            Sample("F.cross_entropy(p, t)", None, p=SCORES, t=TARGETS),
            Sample("F.cross_entropy(p, tensor([2, 0]), tensor([2., 1., 0.5]).type_as(p), label_smoothing=0.2)", None, p=SCORES),
        ),
    ),
)
