"""Records of arithmetic: sums, products, quotients, remainders, powers and interpolation, with PyTorch's overload names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import NONDIFF, Rule, no_derivative
from gradcli.core.kernels import elementary
from gradcli.core.ops.elementwise import scalars
from gradcli.core.tensor.node import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

# --- tangents of sums, products and quotients, in the order and with the steps of PyTorch's formulas ---


def _negative_zero(like: Tensor) -> Tensor:
    """-0, which changes no number that it is added to. PyTorch records an addition also where one tangent is zero."""
    return Tensor(np.array(-0.0, like.dtype.np), like.dtype)


def _times(tangent: Tensor | None, factor: Any, like: Tensor) -> Any:
    """`tangent * factor`. A zero tangent gives -0, which has the factor's history, if the factor has one."""
    if tangent is None:
        recorded = type(factor) is Tensor and factor.requires_grad and state.enabled
        return factor * -0.0 if recorded else _negative_zero(like)
    return tangent * factor


def _product_jvp(_: Any, inputs: Sequence[Any], __: Any, tangents: Sequence[Tensor | None], out: Tensor) -> Any:
    (a, b), (a_t, b_t) = inputs, tangents
    return _times(b_t, a, out) + _times(a_t, b, out)


def _quotient_jvp(_: Any, inputs: Sequence[Any], __: Any, tangents: Sequence[Tensor | None], out: Tensor) -> Any:
    a_t, b_t = tangents
    moved = 0.0 if b_t is None and not out.requires_grad else _times(b_t, out, out)
    return ((_negative_zero(out) if a_t is None else a_t) - moved) / inputs[1]


def _sum_jvp(_: Any, __: Any, ___: Any, tangents: Sequence[Tensor | None], out: Tensor) -> Any:
    a_t, b_t = tangents
    return (_negative_zero(out) if a_t is None else a_t) + (_negative_zero(out) if b_t is None else b_t)


# --- sums, products, quotients ---

ADD = Pointwise(
    "AddBackward0",
    np.add,
    "input other",
    jvp=_sum_jvp,
    input=Rule(lambda grad: grad, "grad"),
    other=Rule(lambda grad: grad, "grad"),
)


def _minus(a: Any, b: Any, alpha: Any) -> Any:
    """`a - alpha * b`."""
    floating = isinstance(a, np.ndarray) and a.dtype.kind == "f"
    return elementary.fused(b, -alpha, a) if floating else np.subtract(a, b * alpha)


ADD_SCALED = Pointwise(
    "AddBackward0",
    lambda a, b, alpha: elementary.fused(b, alpha, a),
    "input other",
    "alpha",
    input=Rule(lambda grad: grad, "grad"),
    other=Rule(lambda xp, grad, alpha: scalars.times(xp, grad, alpha), "grad * alpha"),
)
SUB = Pointwise(
    "SubBackward0",
    np.subtract,
    "input other",
    input=Rule(lambda grad: grad, "grad"),
    other=Rule(lambda grad: -grad, "-grad"),
)
SUB_SCALED = Pointwise(
    "SubBackward0",
    lambda a, b, alpha: _minus(a, b, alpha),
    "input other",
    "alpha",
    input=Rule(lambda grad: grad, "grad"),
    other=Rule(lambda xp, grad, alpha: scalars.times(xp, -grad, alpha), "-grad * alpha"),
)
RSUB = Pointwise(
    "RsubBackward1",
    lambda a, b, alpha: np.subtract(b, a) if alpha == 1 else np.subtract(b, a * alpha),
    "input other",
    "alpha",
    input=Rule(lambda xp, grad, alpha: -grad if alpha == 1 else scalars.times(xp, -grad, alpha), "-grad * alpha"),
    other=NONDIFF,
)
RSUB_TENSOR = Pointwise(
    "RsubBackward0",
    lambda a, b, alpha: np.subtract(b, a) if alpha == 1 else _minus(b, a, alpha),
    "input other",
    "alpha",
    input=Rule(lambda xp, grad, alpha: -grad if alpha == 1 else scalars.times(xp, -grad, alpha), "-grad * alpha"),
    other=Rule(lambda grad: grad, "grad"),
)
MUL = Pointwise(
    "MulBackward0",
    np.multiply,
    "input other",
    jvp=_product_jvp,
    input=Rule(lambda grad, other: grad * other, "grad * other"),
    other=Rule(lambda grad, input: grad * input, "grad * input"),
)
DIV = Pointwise(
    "DivBackward0",
    np.true_divide,
    "input other",
    jvp=_quotient_jvp,
    kind="float",
    input=Rule(lambda grad, other: grad / other, "grad / other"),
    other=Rule(lambda grad, input, other: -grad * ((input / other) / other), "-grad * input / other**2"),
)
NEG = Pointwise("NegBackward0", np.negative, "input", input=Rule(lambda grad: -grad, "-grad"))
RECIPROCAL = Pointwise(
    "ReciprocalBackward0",
    lambda a: np.true_divide(1, a),
    "input",
    kind="float",
    input=Rule(lambda grad, out: -grad * (out * out), "-grad * out**2"),
)


def _floor_mode(a: Any, b: Any, mode: Any) -> Any:
    if mode == "floor":
        return np.floor_divide(a, b) if np.asarray(a).dtype.kind in "iu" else _float_floor(a, b)
    quotient = np.true_divide(a, b)
    return np.trunc(quotient) if mode == "trunc" else quotient


def _float_floor(a: Any, b: Any) -> Any:
    """Floor of the exact quotient; a division by zero keeps its infinity as torch does."""
    b = np.asarray(b)
    return np.where(b == 0, np.true_divide(a, b), np.floor_divide(a, b))


DIV_MODE = Pointwise(
    "DivBackward2",
    _floor_mode,
    "input other",
    "rounding_mode",
    input=Rule(
        lambda xp, grad, other, rounding_mode: grad / other if rounding_mode is None else xp.zeros_like(grad),
        "grad / other if rounding_mode is None else 0 * grad",
        "0 where rounded",
    ),
    other=Rule(
        lambda xp, grad, input, other, rounding_mode: -grad * ((input / other) / other) if rounding_mode is None else xp.zeros_like(grad),
        "-grad * input / other**2 if rounding_mode is None else 0 * grad",
    ),
)
FLOOR_DIVIDE = Pointwise(
    "NotImplemented",
    lambda a, b: _floor_mode(a, b, "floor"),
    "input other",
    full_name="torch::autograd::NotImplemented",
    input=Rule(lambda grad: _no_derivative(), ""),
    other=Rule(lambda grad: _no_derivative(), ""),
)


def _no_derivative(name: str = "floor_divide") -> Any:
    raise no_derivative(f"aten::{name}")


def _remainder(a: Any, b: Any) -> Any:
    """The sign of the divisor; of a zero the sign of the dividend."""
    rest = np.remainder(a, b)
    return np.where(rest == 0, np.copysign(rest, a), rest) if rest.dtype.kind == "f" else rest


REMAINDER = Pointwise(
    "RemainderBackward1",
    _remainder,
    "input other",
    input=Rule(lambda grad: grad, "grad"),
    other=Rule(
        lambda xp, grad, input, other: -grad * xp.call(DIV_MODE, input, other, "floor"),
        "-grad * torch.div(input, other, rounding_mode='floor')",
    ),
)
REMAINDER_NUMBER = Pointwise("RemainderBackward0", _remainder, "input other", input=Rule(lambda grad: grad, "grad"), other=None)
NUMBER_REMAINDER = Pointwise(
    "NotImplemented",
    _remainder,
    "input other",
    full_name="torch::autograd::NotImplemented",
    input=None,
    other=Rule(lambda grad: _no_derivative("remainder"), ""),
)
FMOD_NUMBER = Pointwise("FmodBackward0", np.fmod, "input other", input=Rule(lambda grad: grad, "grad"), other=None)
FMOD = Pointwise(
    "FmodBackward1",
    np.fmod,
    "input other",
    input=Rule(lambda grad: grad, "grad"),
    other=Rule(lambda xp, grad, input, other: -grad * xp.call(DIV_MODE, input, other, "trunc"), "-grad * trunc(input / other)"),
)


def _pow_scalar_rule(xp: Any, grad: Any, input: Any, exponent: Any) -> Any:
    # x**0 is constant, also at 0 where 0 * 0**-1 would be nan
    if exponent == 0:
        return xp.zeros_like(grad)
    if type(input) is not Tensor and exponent == 2:
        return grad * (input * 2)
    return grad * scalars.times(xp, xp.call(POW_SCALAR, input, exponent - 1), exponent)


def _pow_base_rule(xp: Any, grad: Any, input: Any, exponent: Any) -> Any:
    zero = xp.plain(exponent) == 0
    return xp.where(zero, xp.zeros_like(grad), grad * (exponent * input ** scalars.minus(xp, exponent, 1)))


def _pow_exponent_rule(xp: Any, grad: Any, input: Any, exponent: Any, out: Any) -> Any:
    # 0**y has derivative 0 for y >= 0: log(0) * 0 would be nan
    base, power = xp.plain(input), xp.plain(exponent)
    flat = (base == 0) & (power >= 0)
    return grad * xp.where(flat, xp.zeros_like(out), out * xp.log(input))


def _pow_number_rule(xp: Any, grad: Any, exponent: Any, out: Any, base: Any) -> Any:
    if base == 0:
        return xp.where(xp.plain(exponent) >= 0, xp.zeros_like(out), grad * out * float("-inf"))
    return grad * scalars.times(xp, out, float(np.log(base)) if base > 0 else float("nan"))


def negative_power() -> ProgramError:
    """PyTorch's error for an integer to a negative power."""
    return ProgramError("RuntimeError", "Integers to negative integer powers are not allowed.")


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) and a.dtype.kind in "iub":
        if (np.asarray(b) < 0).any():
            raise negative_power()
        return np.power(a, np.asarray(b).astype(a.dtype))
    if isinstance(b, (int, float)):
        if b == 2:
            return np.multiply(a, a)
        if b == 0.5:
            return np.sqrt(a)
        if b == 3:
            return np.multiply(np.multiply(a, a), a)
        if b == -1:
            return np.true_divide(1, a)
        if b == -2:
            return np.true_divide(1, np.multiply(a, a))
    return elementary.power(a, b)


POW_SCALAR: Pointwise = Pointwise(
    "PowBackward0",
    _power,
    "input",
    "exponent",
    input=Rule(
        _pow_scalar_rule, "grad * (0 if exponent == 0 else exponent * input**(exponent - 1))", "x**0 has derivative 0 everywhere, at 0 too"
    ),
)
POW_TENSOR = Pointwise(
    "PowBackward1",
    _power,
    "input exponent",
    input=Rule(_pow_base_rule, "where(exponent == 0, 0 * grad, grad * exponent * input**(exponent - 1))"),
    exponent=Rule(_pow_exponent_rule, "where((input == 0) & (exponent >= 0), 0 * grad, grad * out * log(input))", "0 for 0**y, y >= 0"),
)
POW_NUMBER = Pointwise(
    "PowBackward2",
    lambda exponent, base: _power(np.asarray(base, exponent.dtype), exponent),
    "exponent",
    "base",
    exponent=Rule(_pow_number_rule, "grad * out * log(tensor(base))"),
)
ADDCMUL = Pointwise(
    "AddcmulBackward0",
    lambda a, x, y, value: elementary.fused(value * x if value != 1 else x, y, a),
    "input tensor1 tensor2",
    "value",
    input=Rule(lambda grad: grad, "grad"),
    tensor1=Rule(lambda xp, grad, tensor2, value: grad * scalars.times(xp, tensor2, value), "grad * tensor2 * value"),
    tensor2=Rule(lambda xp, grad, tensor1, value: grad * scalars.times(xp, tensor1, value), "grad * tensor1 * value"),
)
ADDCDIV = Pointwise(
    "AddcdivBackward0",
    lambda a, x, y, value: a + value * (x / y),
    "input tensor1 tensor2",
    "value",
    input=Rule(lambda grad: grad, "grad"),
    tensor1=Rule(lambda xp, grad, tensor2, value: grad * xp.call(DIV, value, tensor2), "grad * value / tensor2"),
    tensor2=Rule(
        lambda xp, grad, tensor1, tensor2, value: -grad * (scalars.times(xp, tensor1, value) / (tensor2 * tensor2)),
        "-grad * value * tensor1 / tensor2**2",
    ),
)


def _lerp(a: Any, b: Any, weight: float) -> Any:
    """`a + weight * (b - a)`, from the nearer end."""
    weight = a.dtype.type(weight)
    return elementary.fused(b - a, weight, a) if abs(weight) < 0.5 else elementary.fused(b - a, weight - 1, b)


LERP_SCALAR = Pointwise(
    "LerpBackward0",
    _lerp,
    "input end",
    "weight",
    input=Rule(lambda xp, grad, weight: scalars.times(xp, grad, 1 - weight), "grad * (1 - weight)"),
    end=Rule(lambda xp, grad, weight: scalars.times(xp, grad, weight), "grad * weight"),
)
LERP_TENSOR = Pointwise(
    "LerpBackward1",
    lambda a, b, w: np.where(np.abs(w) < 0.5, elementary.fused(b - a, w, a), elementary.fused(b - a, w - 1, b)),
    "input end weight",
    input=Rule(lambda xp, grad, weight: grad * scalars.from_number(xp, 1, weight), "grad * (1 - weight)"),
    end=Rule(lambda grad, weight: grad * weight, "grad * weight"),
    weight=Rule(lambda grad, input, end: grad * (end - input), "grad * (end - input)"),
)
