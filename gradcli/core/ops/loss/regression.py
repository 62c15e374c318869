"""mse_loss, l1_loss, smooth_l1_loss and huber_loss: what the functions check, and how they reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph.record import Rule
from gradcli.core.ops.checks import require_floating, with_method
from gradcli.core.ops.loss.difference_losses import HUBER, HUBER_BACKWARD, MSE, MSE_BACKWARD, SMOOTH_L1, SMOOTH_L1_BACKWARD, DifferenceLoss
from gradcli.core.ops.loss.loss_reduction import checked_reduction, legacy_reduction, reduced
from gradcli.core.ops.loss.samples import SCORES, TARGETS
from gradcli.core.ops.operators import ordered
from gradcli.core.ops.reduce.sum_mean import sum_all
from gradcli.core.ops.rules import moves
from gradcli.core.ops.shape.broadcasting import broadcast_tensors
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


class _LossLikeInput(DifferenceLoss):
    """A loss in the dtype of the input, whatever the dtype of the target is."""

    __slots__ = ()
    dtype_of: Callable[[DType, DType], DType] = staticmethod(lambda input, target: input)


def _two_dtypes(found: str, expected: str) -> ProgramError:
    return runtime_error(f"Found dtype {found} but expected {expected}")


def _refuse_two_dtypes(found: str, expected: str) -> Any:
    raise _two_dtypes(found, expected)


#: the loss of tensors of two dtypes, for which there is no derivative
_HUBER_OF_TWO = _LossLikeInput(
    "HuberLossBackward0",
    HUBER.forward,
    "input target",
    "reduction delta found expected",
    in_bfloat16=HUBER.in_bfloat16,
    saved="self target reduction delta",
    input=Rule(_refuse_two_dtypes, ""),
    target=Rule(lambda found, expected: _refuse_two_dtypes(expected, found), ""),  # the two dtypes have changed places here
)


def _huber_loss(input: Tensor, target: Tensor, reduction: str, delta: float) -> Any:
    if delta <= 0:
        raise runtime_error("huber_loss does not support non-positive values for delta.")
    if target.dtype.category > input.dtype.category:
        raise runtime_error(f"result type {target.dtype.torch_name} can't be cast to the desired output type {input.dtype.torch_name}")
    _check_floating("huber_cpu", input, target)
    if input.dtype is target.dtype:
        return HUBER(input, target, reduction, delta)
    if moves(input, target):
        raise _two_dtypes(input.dtype.torch_name, target.dtype.torch_name)
    return _HUBER_OF_TWO(input, target, reduction, delta, target.dtype.torch_name, input.dtype.torch_name)


_HUBER = kernel("huber_loss", "Tensor input, Tensor target, str reduction, float delta", _huber_loss)

# --- the functions ---


def _warn_of_sizes(input: Tensor, target: Tensor) -> None:
    if with_method(target, "size").array.shape != with_method(input, "size").array.shape:
        warnings.emit(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size."
        )


def _check_floating(kernel: str, input: Tensor, target: Tensor) -> None:
    dtype = dtypes.promote(input.dtype, target.dtype)
    require_floating(kernel, dtype)


def _check_weight(weight: Any, input: Tensor) -> None:
    """Raise ValueError for a weight of another shape than the input, AttributeError for what is no tensor."""
    if with_method(weight, "size").array.shape != input.array.shape:
        raise shape_error("Weights and input must have the same size.", "ValueError")


def _weighted(loss: Tensor, weight: Tensor, reduction: str, average: bool) -> Any:
    """A loss with a weight for each element; the mean divides by the sum of the weights, or, with `average`, by their number."""
    values = loss * weight
    if reduction not in ("none", "mean", "sum"):
        raise ProgramError("ValueError", f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    if reduction == "mean" and not average:
        return sum_all(values) / sum_all(weight)
    return reduced(values, reduction)


def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Tensor | None = None
) -> Any:
    """The squared differences, by default their mean. Raises ValueError or NotImplementedError for arguments that do not fit."""
    _warn_of_sizes(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    x, y = broadcast_tensors((input, target))
    if weight is not None:
        _check_weight(weight, input)
        return _weighted((x - y) ** 2, weight, reduction, False)
    checked_reduction(reduction)
    _check_floating("mse_cpu", input, target)
    return MSE(x, y, reduction)


def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Tensor | None = None
) -> Any:
    """The absolute differences, by default their mean. Raises ValueError for arguments that do not fit."""
    _warn_of_sizes(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    x, y = broadcast_tensors((input, target))
    if weight is not None:
        _check_weight(weight, input)
    difference = catalog.function("abs")(x - y)
    if weight is not None:
        return _weighted(difference, weight, reduction, False)
    return reduced(difference, checked_reduction(reduction))


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Any:
    """Half the squared difference over beta where this is less than beta, else the absolute difference less half of beta.

    Raises RuntimeError for a negative beta, ValueError or NotImplementedError for other arguments that do not fit.
    """
    _warn_of_sizes(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = broadcast_tensors((input, target))
    if ordered(beta, "==", 0.0):
        return reduced(catalog.function("abs")(input - target), checked_reduction(reduction))
    return _SMOOTH_L1(input, target, checked_reduction(reduction), beta)


def _smooth_l1_loss(input: Tensor, target: Tensor, reduction: str, beta: float) -> Any:
    if beta < 0:
        raise runtime_error("smooth_l1_loss does not support negative values for beta.")
    _check_floating("smooth_l1_cpu", input, target)
    return SMOOTH_L1(input, target, reduction, beta)


_SMOOTH_L1 = kernel("smooth_l1_loss", "Tensor input, Tensor target, str reduction, float beta", _smooth_l1_loss)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None) -> Any:
    """Half the squared difference up to delta, then a line of slope delta.

    Raises RuntimeError unless delta is positive, ValueError or NotImplementedError for other arguments that do not fit.
    """
    _warn_of_sizes(input, target)
    x, y = broadcast_tensors((input, target))
    if weight is None:
        return _HUBER(x, y, checked_reduction(reduction), delta)
    _check_weight(weight, input)
    return _weighted(_HUBER(x, y, "none", delta), weight, reduction, True)


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        mse_loss,
        "mse_loss",
        "Mean squared error.",
        unchecked=True,
        ops=(MSE, MSE_BACKWARD),
        samples=(
            Sample("F.mse_loss(p, t)", lambda p, t: np.mean((p - t) ** 2), p=SCORES, t=TARGETS),
            Sample("F.mse_loss(p, t, reduction='sum')", lambda p, t: np.sum((p - t) ** 2), p=SCORES, t=TARGETS),
            Sample("F.mse_loss(p, t, reduction='none')", lambda p, t: (p - t) ** 2, p=SCORES, t=TARGETS),
        ),
    ),
    PythonFunction(
        l1_loss,
        "l1_loss",
        "Mean absolute error.",
        unchecked=True,
        samples=(
            Sample("F.l1_loss(p, t)", lambda p, t: np.mean(np.abs(p - t)), p=SCORES, t=TARGETS),
            Sample("F.l1_loss(p, t, reduction='sum')", lambda p, t: np.sum(np.abs(p - t)), p=SCORES, t=TARGETS),
        ),
    ),
    PythonFunction(
        smooth_l1_loss,
        "smooth_l1_loss",
        "Quadratic near 0, linear beyond beta.",
        unchecked=True,
        ops=(SMOOTH_L1, SMOOTH_L1_BACKWARD),
        samples=(
            Sample("F.smooth_l1_loss(p, t)", None, p=SCORES, t=TARGETS),
            Sample("F.smooth_l1_loss(p, t, beta=0.75, reduction='sum')", None, p=SCORES, t=TARGETS),
        ),
    ),
    PythonFunction(
        huber_loss,
        "huber_loss",
        "Quadratic near 0, linear beyond delta.",
        unchecked=True,
        ops=(HUBER, HUBER_BACKWARD),
        samples=(
            Sample("F.huber_loss(p, t, delta=0.75)", None, p=SCORES, t=TARGETS),
            Sample("F.huber_loss(p, t, 'none', 0.4)", None, p=SCORES, t=TARGETS),
        ),
    ),
)
