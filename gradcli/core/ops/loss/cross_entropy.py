"""The negative log likelihood of class indices: the record, and PyTorch's checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.kernels.summation import total
from gradcli.core.ops.reduce.dimensions import not_implemented
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError, runtime_error


def _picked(target: Array, classes: int, ignore_index: int) -> tuple[Array, Array]:
    """Indices with ignored ones as 0, and where they count. IndexError for a class that is not there."""
    target = target.astype(np.int64)
    counts = target != ignore_index
    wrong = counts & ((target < 0) | (target >= classes))
    if wrong.any():
        raise ProgramError("IndexError", f"Target {target[wrong].flat[0]} is out of bounds.")
    return np.where(counts, target, 0), counts


def _weights(target: Array, weight: Array | None, counts: Array, dtype: Any) -> Array:
    """The weight of each element, 0 where ignored."""
    return counts.astype(dtype) if weight is None else np.where(counts, weight[target], 0).astype(dtype)


def _class_axis(x: Array) -> int:
    return 0 if x.ndim == 1 else 1


def _forward(x: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int) -> Any:
    axis = _class_axis(x)
    target, counts = _picked(target, x.shape[axis], ignore_index)
    each = _weights(target, weight, counts, x.dtype)
    chosen = np.take_along_axis(x, np.expand_dims(target, axis), axis).squeeze(axis)
    values = np.where(counts, -chosen * each, 0).astype(x.dtype)
    if reduction == "none":
        return values
    added = total(values)
    return added / total(each) if reduction == "mean" else added


def _shares(shape: Any, dtype: Any, target: Array, weight: Array | None, reduction: str, ignore_index: int) -> tuple[Array, Array]:
    """The class of each element, and what its log probability counts in the result."""
    axis = 0 if len(shape) == 1 else 1
    target, counts = _picked(target, shape[axis], ignore_index)
    each = _weights(target, weight, counts, dtype)
    if reduction == "mean":
        each = np.asarray(each / total(each))
    return target, each


def _backward(grad: Array, x: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int) -> Any:
    axis = _class_axis(x)
    counts = target != ignore_index
    target, each = _shares(x.shape, x.dtype, target, weight, reduction, ignore_index)
    out = np.zeros_like(x)
    values = np.where(counts, np.asarray(-each * grad, x.dtype), x.dtype.type(0))
    np.put_along_axis(out, np.expand_dims(target, axis), np.expand_dims(values, axis), axis)
    return out


def _gathered(grad: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int) -> Any:
    axis = _class_axis(grad)
    target, each = _shares(grad.shape, grad.dtype, target, weight, reduction, ignore_index)
    values = -np.take_along_axis(grad, np.expand_dims(target, axis), axis).squeeze(axis) * each
    return values if reduction == "none" else total(values)


_ATTRS = "target weight reduction ignore_index"


def _records(suffix: str, dim: int) -> tuple[Op, Op]:
    """The loss and its derivative, for classes along dim."""
    # -grad with its weight at the target classes, 0 elsewhere and at ignored ones
    placed = (
        "k = target != ignore_index; t = target * k; w = k if weight is None else k * weight[t]; "
        'n = w.sum() if reduction == "mean" else 1; '
        f"zeros_like(input).scatter({dim}, t.unsqueeze({dim}), (-grad * w / n).where(k, 0).unsqueeze({dim}))"
    )
    scatter = Op(
        f"NllLoss{suffix}BackwardBackward0",
        _backward,
        "grad_output input",
        _ATTRS,
        grad_output=Rule(
            lambda xp, grad, target, weight, reduction, ignore_index: xp.call(gather, grad, target, weight, reduction, ignore_index),
            "F.nll_loss(grad, target, weight, ignore_index=ignore_index, reduction=reduction)",
        ),
        input=Rule(lambda xp, grad: xp.zeros_like(grad), "zeros_like(input)"),
    )
    gather = Op(
        f"NllLoss{suffix}Backward0",
        _gathered,
        "input",
        _ATTRS,
        input=Rule(
            lambda xp, grad, input, target, weight, reduction, ignore_index: xp.call(
                scatter, grad, input, target, weight, reduction, ignore_index
            ),
            placed,
        ),
    )
    loss = Op(
        f"NllLoss{suffix}Backward0",
        _forward,
        "input",
        _ATTRS,
        input=Rule(
            lambda xp, grad, input, target, weight, reduction, ignore_index: xp.call(
                scatter, grad, input, target, weight, reduction, ignore_index
            ),
            placed,
        ),
    )
    return loss, scatter


NLL, NLL_BACKWARD = _records("", -1)
NLL2D, NLL2D_BACKWARD = _records("2D", 1)


def likelihood(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int) -> Tensor:
    """`F.nll_loss` of log probabilities; the class dimension is the second, or the only one."""
    rank = input.array.ndim
    if not rank:
        raise ProgramError("ValueError", "Expected 1 or more dimensions (got 0)")
    if rank != 1 and (not target.array.ndim or input.array.shape[0] != target.array.shape[0]):
        sizes = f"{input.array.shape[0]}) to match target batch_size ({target.array.shape[0] if target.array.ndim else 0})."
        raise ProgramError("ValueError", f"Expected input batch_size ({sizes}")
    if rank <= 2:
        _check_flat(input, target, weight)
        indices = watched(target) if rank == 2 else watched(target).reshape(())
        result: Tensor = NLL(input, indices, None if weight is None else weight.array, reduction, ignore_index)
        return result
    return _spatial(input, target, weight, reduction, ignore_index)


def _check_flat(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    if target.array.ndim > 1:
        raise runtime_error("0D or 1D target tensor expected, multi-target not supported")
    if input.array.ndim == 1 and target.array.size != 1:
        raise ProgramError("ValueError", f"For 1D input, 1D target must have size 1, but got target size: {target.array.size}")
    _check(input, target, weight, input.array.shape[-1])


def _check(input: Tensor, target: Tensor, weight: Tensor | None, classes: int) -> None:
    if weight is not None and weight.array.shape != (classes,):
        raise runtime_error(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: "
            f"{list(weight.array.shape)}"
        )
    if not input.dtype.is_floating_point:
        raise not_implemented("nll_loss_out_frame", input.dtype)
    if target.dtype not in (dtypes.int64, dtypes.uint8):
        raise runtime_error(f"expected target dtype to be Long or Byte, but got {target.dtype.torch_name}")
    if weight is not None and weight.dtype is not input.dtype:
        raise runtime_error(f"expected scalar type {input.dtype.torch_name} but found {weight.dtype.torch_name}")


def _spatial(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int) -> Tensor:
    """Three and more dimensions: seen as four where they are not."""
    shape = input.array.shape
    wanted = (shape[0], *shape[2:])
    view = catalog.function("reshape")
    flat = len(shape) != 4
    if flat:
        if target.array.shape != wanted:
            raise runtime_error(f"Expected target size {list(wanted)}, got {list(target.array.shape)}")
        input = catalog.method("view").method(input, (shape[0], shape[1], 1, -1), {})
        target = view(target, (shape[0], 1, -1))
    elif target.array.shape != wanted:
        raise runtime_error(f"size mismatch (got input: {list(shape)} , target: {list(target.array.shape)}")
    _check(input, target, weight, shape[1])
    result: Tensor = NLL2D(input, watched(target), None if weight is None else weight.array, reduction, ignore_index)
    if flat and reduction == "none":
        result = catalog.method("view").method(result, wanted, {})
    return result
