"""Records of losses of the difference between input and target: squared, and squared near 0 but linear beyond (smooth L1, Huber)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, blocks, elementary, half_to_single, memory_format
from gradcli.core.kernels.memory_format import Layout
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.loss.loss_reduction import N, OfSecond, reduced_array, share
from gradcli.core.ops.rules import moves
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error

#: gets differences and the parameter of a loss, and gives the derivative: a factor of the difference, and a constant where that is 0
Pieces = Callable[..., tuple[Any, Any]]


def _cast(array: Array, dtype: DType) -> Array:
    """An array in another dtype; repeated elements are one element there, too, which the layout of results depends on."""
    once = array[tuple(slice(None) if stride else slice(1) for stride in array.strides)]
    return np.broadcast_to(dtypes.cast(once, dtype), array.shape)


class DifferenceLoss(Op):
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
) -> tuple[DifferenceLoss, Op]:
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
    first = DifferenceLoss(
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
    "MseLoss", "", lambda d: d * d, lambda d: (d.dtype.type(2), 0), "2 * grad * (input - target)", "2 * grad * grad_output", _mse_in_half
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
