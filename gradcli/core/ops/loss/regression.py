"""Losses of the difference between input and target: squared, absolute, and both in pieces (smooth L1, Huber)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, blocks, elementary, half_to_single, memory_format
from gradcli.core.kernels.memory_format import Layout
from gradcli.core.ops.checks import require_floating, with_method
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.loss.loss_reduction import N, OfSecond, checked_reduction, legacy_reduction, reduced, reduced_array, share
from gradcli.core.ops.loss.samples import SCORES, TARGETS
from gradcli.core.ops.operators import ordered
from gradcli.core.ops.reduce.sum_mean import sum_all
from gradcli.core.ops.rules import moves
from gradcli.core.ops.shape.broadcasting import broadcast_tensors
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError, runtime_error, shape_error

#: gets differences and the parameter of a loss, and gives the derivative: a factor of the difference, and a constant where that is 0
Pieces = Callable[..., tuple[Any, Any]]


def _cast(array: Array, dtype: DType) -> Array:
    """An array in another dtype; repeated elements are one element there, too, which the layout of results depends on."""
    once = array[tuple(slice(None) if stride else slice(1) for stride in array.strides)]
    return np.broadcast_to(dtypes.cast(once, dtype), array.shape)


class _DifferenceLoss(Op):
    """A loss of two tensors of any dtypes, which are converted to one without nodes of their own."""

    __slots__ = ("in_bfloat16",)
    #: the dtype of the result, from those of input and target
    dtype_of: Callable[[DType, DType], DType] = staticmethod(dtypes.promote)

    def __init__(self, *args: Any, in_bfloat16: Callable[..., Any], layout: Layout | None = None, **more: Any) -> None:
        super().__init__(*args, layout=layout, **more)
        #: computes the loss of bfloat16 tensors
        self.in_bfloat16 = in_bfloat16 if layout is None else memory_format.keeping(layout, in_bfloat16)

    def __call__(self, *args: Any) -> Tensor:
        if state.mapped and (made := state.mapped[-1].on_batch(self, args)) is not None:
            return made  # type: ignore[no-any-return]
        dtype = self.dtype_of(args[0].dtype, args[1].dtype)
        if args[0].dtype is args[1].dtype is not dtypes.bfloat16:
            return super().__call__(*args)  # type: ignore[no-any-return]
        rounds = dtypes.promote(args[0].dtype, args[1].dtype) is dtypes.bfloat16
        forward = self.in_bfloat16 if rounds else self.forward
        for other, whole in (args[:2], args[1::-1]):
            if moves(other) and not whole.dtype.is_floating_point:  # PyTorch makes the tangent of the other in this dtype, too
                text = f"result type {other.dtype.torch_name} can't be cast to the desired output type {whole.dtype.torch_name}"
                raise runtime_error(text)
        arrays = [t.array if t.dtype is dtype else _cast(t.array, dtype) for t in args[:2]]
        out = self._wrap(forward(*arrays, *args[2:]), (Tensor(arrays[0], dtype),))
        if state.enabled:
            self.record(out, args[:2], args[2:])
        if state.dual is not None:
            state.dual.push(self, args[:2], args[2:], (out,))
        return out


def _slope(xp: Any, difference: Any, pieces: tuple[Any, Any], reduction: str, constant: bool) -> Any:
    """The derivative by a difference, of which `pieces` has factors and constants; `constant`: where a factor is 0, the constant counts."""
    values = xp.plain(difference)
    part = values.dtype.type(share(values, reduction))
    factor = np.asarray(pieces[0])
    line = scalars.times_data(xp, difference, np.asarray(factor * part))
    if not constant:
        return line
    flat = np.asarray(pieces[1] * part)
    return xp.where(np.asarray((factor == 0) & (flat != 0)), Tensor(flat, line.dtype) if type(line) is Tensor else flat, line)


def _floating(xp: Any, value: Any, like: Any) -> Any:
    """One of the two tensors, of whole numbers, in the dtype of the other, whose gradient is asked for."""
    array = xp.plain(value)
    if array.dtype.kind == "f":
        return value
    made = array.astype(xp.plain(like).dtype)
    return wrap(made) if type(value) is Tensor else made


_rounded = dtypes.round_bfloat16


def _rounded_square(d: Array) -> Any:
    return _rounded(d * d)


def _difference_loss(
    name: str,
    parameter: str,
    value: Callable[..., Any],
    pieces: Pieces,
    slope: str,
    curvature: str,
    half_slope: Callable[..., Any],
    rounded_value: Callable[..., Any] = _rounded_square,
    note: str = "",
    layout: Layout = "iterated",
    once: DType | None = None,
) -> tuple[_DifferenceLoss, Op]:
    """A loss of `input - target`, and its derivative, which has a derivative itself.

    `value` is the loss of an element; `pieces` its derivative, which is linear piece by piece; `parameter` the name of
    where the pieces meet, or "". `slope` and `curvature` are the formulas of both derivatives by `input`, which a mean
    divides by n. `half_slope` gives the derivative in half precision, from the dtype and, in single precision, the gradient, the
    difference and the factor of a mean. Of the dtypes in half precision, `once` is the one in which a loss is computed in single
    precision and rounded once; `rounded_value` is the loss of an element of bfloat16 otherwise.
    """

    count = 2 if parameter else 1

    def forward(x: Array, target: Array, *attrs: Any) -> Any:
        if once is dtypes.float16:
            values = value(half_to_single(x) - half_to_single(target), *attrs[1:count])
            return reduced_array(np.asarray(values, x.dtype), attrs[0])
        return reduced_array(value(x - target, *attrs[1:count]), attrs[0])

    def in_bfloat16(x: Array, target: Array, *attrs: Any) -> Any:
        if once is dtypes.bfloat16:
            return reduced_array(dtypes.round_bfloat16(value(x - target, *attrs[1:count])), attrs[0])
        return reduced_array(rounded_value(_rounded(x - target), *attrs[1:count]), attrs[0])

    def backward(grad: Array, x: Array, target: Array, *attrs: Any) -> Any:
        difference = x - target
        return (slope_of(numeric, difference, attrs) * grad).astype(x.dtype, copy=False)

    def backward_in_half(dtype: DType, grad: Array, x: Array, target: Array, *attrs: Any) -> Array:
        difference = x.astype(np.float32) - target.astype(np.float32)
        grad = np.broadcast_to(grad.astype(np.float32), difference.shape)
        return dtypes.cast(half_slope(dtype, grad, difference, share(x, attrs[0]), *attrs[1:]), dtype)

    def slope_of(xp: Any, difference: Any, attrs: tuple[Any, ...]) -> Any:
        return _slope(xp, difference, pieces(xp.plain(difference), *attrs[1:]), attrs[0], bool(parameter))

    def second_slope(xp: Any, grad: Any, grad_output: Any, input: Any, target: Any, attrs: Any) -> Any:
        difference = np.asarray(xp.plain(input) - xp.plain(target))
        curvature = pieces(difference, *attrs[1:])[0] * share(difference, attrs[0])
        return scalars.times_data(xp, grad * grad_output, np.asarray(curvature, difference.dtype))

    second = OfSecond(
        f"{name}BackwardBackward0",
        backward,
        "grad_output input target",
        f"reduction {parameter}",
        layout="contiguous",
        in_half=backward_in_half,
        grad_output=Rule(lambda xp, grad, input, target, attrs: grad * slope_of(xp, input - target, attrs), f"{N}{slope} / n"),
        input=Rule(second_slope, f"{N}{curvature} / n"),
        target=Rule(
            lambda xp, grad, grad_output, input, target, attrs: -second_slope(xp, grad, grad_output, input, target, attrs),
            f"{N}-{curvature} / n",
        ),
    )
    first = _DifferenceLoss(
        f"{name}Backward0",
        forward,
        "input target",
        f"reduction {parameter}",
        in_bfloat16=in_bfloat16,
        layout=layout,
        input=Rule(
            lambda xp, grad, input, target, attrs: xp.call(second, grad, input, _floating(xp, target, input), *attrs),
            f"{N}{slope} / n",
            note,
        ),
        target=Rule(
            lambda xp, grad, input, target, attrs: xp.call(second, grad, target, _floating(xp, input, target), *attrs), f"{N}-{slope} / n"
        ),
    )
    return first, second


def _smooth(d: Array, beta: float) -> Any:
    z = np.abs(d)
    return blocks.where(z < beta, z * z * 0.5 / beta, z - 0.5 * beta)


def _smooth_in_half(dtype: DType, grad: Array, d: Array, part: float, beta: float) -> Any:
    slope, bound = np.float32(part), np.float32(beta)
    return np.where(np.abs(d) >= bound, np.sign(d) * slope * grad, slope * d * grad / bound)


def _smooth_pieces(d: Array, beta: float) -> tuple[Any, Any]:
    near = np.abs(d) < beta
    return near / d.dtype.type(beta), blocks.where(near, 0, np.sign(d)).astype(d.dtype)


def _huber(d: Array, delta: float) -> Any:
    z = np.abs(d)
    return blocks.where(z < delta, 0.5 * z * z, delta * (z - 0.5 * delta))


def _rounded_huber(d: Array, delta: float) -> Any:
    z, bound = np.abs(d), _rounded(np.asarray(delta))
    return _rounded(blocks.where(z < bound, 0.5 * z * z, bound * _rounded(z - 0.5 * bound)))


def _huber_in_half(dtype: DType, grad: Array, d: Array, part: float, delta: float) -> Any:
    d, slope, bound = (dtypes.stored(np.asarray(x, np.float32), dtype) for x in (d, part, delta))
    # the scalar code multiplies by a delta of double precision
    bound = np.where(elementary.in_vectors(d, 128, d, d, grad), bound, np.float64(delta))
    line = dtypes.stored(slope * d, dtype) * grad
    return np.where(np.abs(d) >= bound, (np.sign(d) * dtypes.stored(slope * grad, dtype) * bound).astype(np.float32), line)


def _mse_in_half(dtype: DType, grad: Array, d: Array, part: float) -> Any:
    d, slope = (dtypes.stored(np.asarray(x, np.float32), dtype) for x in (d, 2 * part))
    return dtypes.stored(slope * d, dtype) * grad


def _huber_pieces(d: Array, delta: float) -> tuple[Any, Any]:
    near = np.abs(d) < delta
    return near.astype(d.dtype), blocks.where(near, 0, np.sign(d) * d.dtype.type(delta)).astype(d.dtype)


MSE, MSE_BACKWARD = _difference_loss(
    "MseLoss",
    "",
    lambda d: d * d,
    lambda d: (d.dtype.type(2), 0),
    "2 * grad * (input - target)",
    "2 * grad * grad_output",
    _mse_in_half,
)
SMOOTH_L1, SMOOTH_L1_BACKWARD = _difference_loss(
    "SmoothL1Loss",
    "beta",
    _smooth,
    _smooth_pieces,
    "grad * ((input - target) / beta).clamp(-1, 1)",
    "grad * grad_output * ((input - target).abs() < beta) / beta",
    _smooth_in_half,
    note="the pieces meet with one derivative where abs(input - target) == beta",
    once=dtypes.bfloat16,
)
HUBER, HUBER_BACKWARD = _difference_loss(
    "HuberLoss",
    "delta",
    _huber,
    _huber_pieces,
    "grad * (input - target).clamp(-delta, delta)",
    "grad * grad_output * ((input - target).abs() < delta)",
    _huber_in_half,
    _rounded_huber,
    "the pieces meet with one derivative where abs(input - target) == delta",
    "preserved",
    dtypes.float16,
)


class _LossLikeInput(_DifferenceLoss):
    """A loss in the dtype of the input, whatever the dtype of the target is."""

    __slots__ = ()
    dtype_of: Callable[[DType, DType], DType] = staticmethod(lambda input, target: input)


def _two_dtypes(found: str, expected: str) -> ProgramError:
    return runtime_error(f"Found dtype {found} but expected {expected}")


def _refuse_two_dtypes(found: str, expected: str) -> Any:
    raise _two_dtypes(found, expected)


#: of tensors of two dtypes, for which there is no derivative
_HUBER_OF_TWO = _LossLikeInput(
    "HuberLossBackward0",
    HUBER.forward,
    "input target",
    "reduction delta found expected",
    in_bfloat16=HUBER.in_bfloat16,
    saved="self target reduction delta",
    input=Rule(_refuse_two_dtypes, ""),
    target=Rule(lambda found, expected: _refuse_two_dtypes(expected, found), ""),  # where the two have changed places
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
