"""Trigonometric and hyperbolic functions, their inverses, atan2, hypot, sinc, degrees and radians."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.graph.conjugate import conjugated
from gradcli.core.graph.namespaces import in_single
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import elementary, memory_format
from gradcli.core.ops.checks import checked, require_floating
from gradcli.core.ops.elementwise import add_multiply, scalars
from gradcli.core.ops.elementwise.divide_remainder import RECIPROCAL
from gradcli.core.ops.elementwise.exponential import RSQRT
from gradcli.core.ops.elementwise.power import POW_SCALAR
from gradcli.core.ops.elementwise.unary import floating, unary
from gradcli.core.ops.index.masked import MASKED_FILL
from gradcli.core.ops.rules import check_no_tangent, refused
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def _one_minus_square(xp: Any, x: Any) -> Any:
    return scalars.plus(xp, -x * x, 1)


SIN = floating("SinBackward0", elementary.sin, Rule(lambda xp, grad, input: grad * xp.cos(input), "grad * cos(input)"), complex=np.sin)
COS = floating("CosBackward0", elementary.cos, Rule(lambda xp, grad, input: grad * -xp.sin(input), "grad * -sin(input)"), complex=np.cos)
TAN = floating(
    "TanBackward0",
    elementary.tan,
    Rule(lambda xp, grad, out: grad * scalars.plus(xp, xp.call(POW_SCALAR, out, 2), 1), "grad * (1 + out**2)"),
    complex=np.tan,
)


def _with_cuts(grad_fn: str, forward: Callable[..., Any], slope: Callable[[Any, Any], Any], formula: str) -> Op:
    """The record for complex arrays of a function whose derivative has cuts along the real axis.

    The derivative is computed first and its conjugate then, since they differ by sign for real arguments on a cut.
    """
    return Op(
        grad_fn,
        forward,
        "input",
        complex=True,
        wirtinger=True,
        jvp=lambda xp, inputs, attrs, tangents, out: tangents[0] * slope(xp, inputs[0]),
        input=Rule(lambda xp, grad, input: grad * conjugated(xp, slope(xp, input)), formula),
    )


def _asin_slope(xp: Any, x: Any) -> Any:
    return xp.call(RSQRT, _one_minus_square(xp, x))


def _acos_slope(xp: Any, x: Any) -> Any:
    return -_asin_slope(xp, x)


def _acosh_slope(xp: Any, x: Any) -> Any:
    return xp.call(RSQRT, scalars.minus(xp, x, 1)) * xp.call(RSQRT, scalars.plus(xp, x, 1))


COMPLEX_ASIN = _with_cuts("AsinBackward0", np.arcsin, _asin_slope, "grad * rsqrt(1 - input**2).conj()")
COMPLEX_ACOS = _with_cuts("AcosBackward0", np.arccos, _acos_slope, "grad * -rsqrt(1 - input**2).conj()")
COMPLEX_ACOSH = _with_cuts("AcoshBackward0", np.arccosh, _acosh_slope, "grad * (rsqrt(input - 1) * rsqrt(input + 1)).conj()")
ASIN = floating(
    "AsinBackward0",
    elementary.arcsin,
    Rule(lambda xp, grad, input: grad * _asin_slope(xp, input), "grad * rsqrt(1 - input**2)"),
    complex=COMPLEX_ASIN,
)
ACOS = floating(
    "AcosBackward0",
    elementary.arccos,
    Rule(lambda xp, grad, input: grad * _acos_slope(xp, input), "grad * -rsqrt(1 - input**2)"),
    complex=COMPLEX_ACOS,
)
ATAN = floating(
    "AtanBackward0",
    elementary.arctan,
    Rule(lambda xp, grad, input: grad / scalars.plus(xp, input * input, 1), "grad / (1 + input**2)"),
    complex=np.arctan,
)
SINH = floating(
    "SinhBackward0", elementary.sinh, Rule(lambda xp, grad, input: grad * xp.cosh(input), "grad * cosh(input)"), complex=np.sinh
)
COSH = floating(
    "CoshBackward0", elementary.cosh, Rule(lambda xp, grad, input: grad * xp.sinh(input), "grad * sinh(input)"), complex=np.cosh
)
ASINH = floating(
    "AsinhBackward0",
    elementary.arcsinh,
    Rule(lambda xp, grad, input: grad * xp.call(RSQRT, scalars.plus(xp, xp.call(POW_SCALAR, input, 2), 1)), "grad * rsqrt(input**2 + 1)"),
    complex=np.arcsinh,
)
ACOSH = floating(
    "AcoshBackward0",
    elementary.arccosh,
    Rule(lambda xp, grad, input: grad * xp.call(RSQRT, scalars.minus(xp, input * input, 1)), "grad * rsqrt(input**2 - 1)"),
    complex=COMPLEX_ACOSH,
)
ATANH = floating(
    "AtanhBackward0",
    elementary.arctanh,
    Rule(
        lambda xp, grad, input: scalars.times(xp, grad, 1) / scalars.from_number(xp, 1, xp.call(POW_SCALAR, input, 2)),
        "grad / (1 - input**2)",
    ),
    complex=np.arctanh,
)


def _tanh_gradient(grad: Any, output: Any) -> Any:
    if output.dtype.kind == "c":
        return elementary.complex_tanh_gradient(grad, output)
    return grad * elementary.fused(-output, output, 1)


TANH_BACKWARD: Op = Op(
    "TanhBackwardBackward0",
    in_single(_tanh_gradient),
    "grad_output output",
    layout="iterated",
    jvp="backward",
    grad_output=Rule(lambda xp, grad, output: xp.call(TANH_BACKWARD, grad, output), "grad * (1 - output**2)"),
    output=Rule(
        lambda xp, grad, grad_output, output: grad * (scalars.times(xp, output, -2) * grad_output), "grad * (-2 * output * grad_output)"
    ),
    complex=True,
)
TANH = floating(
    "TanhBackward0", elementary.tanh, Rule(lambda xp, grad, out: xp.call(TANH_BACKWARD, grad, out), "grad * (1 - out**2)"), complex=np.tanh
)


def _inverse_square(xp: Any, y: Any, x: Any) -> Any:
    """`1 / (x**2 + y**2)`; 0 at the origin, where the angle has no derivative."""
    square = y * y + x * x
    return xp.call(MASKED_FILL, xp.call(RECIPROCAL, square), np.equal(xp.plain(square), 0), 0)


def _atan2_jvp(xp: Any, inputs: Any, _: Any, tangents: Any, out: Any) -> Any:
    """The turn of the point, nan at the origin; a missing tangent is 0."""
    y, x = inputs
    parts = [side * tangent for side, tangent in ((-y, tangents[1]), (x, tangents[0])) if tangent is not None]
    return sum(parts[1:], parts[0]) / (y * y + x * x)


ATAN2 = Pointwise(
    "Atan2Backward0",
    elementary.arctan2,
    "input other",
    kind="float",
    jvp=_atan2_jvp,
    input=Rule(
        lambda xp, grad, input, other: grad * other * _inverse_square(xp, input, other),
        "r = input**2 + other**2; where(r == 0, 0, grad * other / r)",
        "0 at the origin",
    ),
    other=Rule(
        lambda xp, grad, input, other: grad * -input * _inverse_square(xp, input, other),
        "r = input**2 + other**2; where(r == 0, 0, -grad * input / r)",
        "0 at the origin",
    ),
)


HYPOT = Pointwise(
    "HypotBackward0",
    np.hypot,
    "input other",
    input=Rule(lambda grad, input, out: grad * input / out, "grad * input / out", "nan at the origin"),
    other=Rule(lambda grad, other, out: grad * other / out, "grad * other / out", "nan at the origin"),
)


def _preserving(grad_fn: str, forward: Callable[..., Any], rule: Rule) -> Pointwise:
    return Pointwise(grad_fn, forward, "input", kind="float", layout="preserved", input=rule)


DEG2RAD = _preserving(
    "Deg2RadBackward0",
    lambda x: x * (math.pi / 180),
    Rule(lambda xp, grad: xp.call(add_multiply.MUL_NUMBER, grad, math.pi / 180), "grad * math.pi / 180"),
)
RAD2DEG = _preserving(
    "Rad2DegBackward0",
    lambda x: x * (180 / math.pi),
    Rule(lambda xp, grad: xp.call(add_multiply.MUL_NUMBER, grad, 180 / math.pi), "grad * 180 / math.pi"),
)


def _sinc(x: Any) -> Any:
    angle = x * math.pi
    return np.where(x == 0, 1, elementary.sin(angle) / angle)


def _sinc_rule(xp: Any, grad: Any, input: Any) -> Any:
    angle = scalars.times(xp, input, math.pi)
    square = scalars.times(xp, input * input, math.pi)
    sine = xp.sin(angle)  # before the cosine: the order of nodes decides what is left of terms that cancel near 0
    slope = grad * ((angle * xp.cos(angle) - sine) / square)
    return xp.where(memory_format.compared(np.equal, xp.plain(square), 0), 0.0, slope)


SINC = floating(
    "SincBackward0",
    _sinc,
    Rule(
        _sinc_rule,
        "where(input == 0, 0 * grad, grad * (math.pi * input * cos(math.pi * input) - sin(math.pi * input)) / (math.pi * input**2))",
        "0 at 0",
    ),
    complex=lambda x: np.where(x == 0, 1, np.sin(x * math.pi) / np.where(x == 0, 1, x * math.pi)),
)

_X, _Y = [0.5, -1.5, 0.25], [0.3, 0.5, -0.7]


def _without_derivative(name: str, op: Pointwise) -> Overload:
    """The in-place form of a function whose derivative PyTorch defines only out of place: backward raises NotImplementedError."""
    error = ProgramError("NotImplementedError", f"the derivative for 'inplace version of {name}' is not implemented.")
    record = floating(f"{name.capitalize()}Backward1", op.forward, refused(lambda: error), getattr(op.complex, "forward", op.complex))

    def run(input: Tensor) -> Tensor:
        check_no_tangent(f"{name}_", input)
        return record(input)

    return "Tensor input", run


_TWO = "Tensor input, Tensor other"

FUNCTIONS = (
    unary("sin", SIN, "Sine.", np.sin, _X, analytic=True),
    unary("cos", COS, "Cosine.", np.cos, _X, analytic=True),
    unary("tan", TAN, "Tangent.", np.tan, _X, analytic=True),
    unary("asin", ASIN, "Inverse sine.", np.arcsin, _Y, aliases=("arcsin",), analytic=True),
    unary("acos", ACOS, "Inverse cosine.", np.arccos, _Y, aliases=("arccos",)),
    unary("atan", ATAN, "Inverse tangent.", np.arctan, _X, aliases=("arctan",), analytic=True),
    unary("sinh", SINH, "Hyperbolic sine.", np.sinh, _X, analytic=True),
    unary("cosh", COSH, "Hyperbolic cosine.", np.cosh, _X, analytic=True),
    unary("tanh", TANH, "Hyperbolic tangent.", np.tanh, _X, analytic=True),
    unary(
        "asinh",
        ASINH,
        "Inverse hyperbolic sine.",
        np.arcsinh,
        _X,
        aliases=("arcsinh",),
        written=_without_derivative("asinh", ASINH),
        analytic=True,
    ),
    unary(
        "acosh",
        ACOSH,
        "Inverse hyperbolic cosine.",
        np.arccosh,
        [1.5, 2.5, 4.0],
        aliases=("arccosh",),
        written=_without_derivative("acosh", ACOSH),
    ),
    unary(
        "atanh",
        ATANH,
        "Inverse hyperbolic tangent.",
        np.arctanh,
        _Y,
        aliases=("arctanh",),
        written=_without_derivative("atanh", ATANH),
        analytic=True,
    ),
    Function(
        "atan2",
        (_TWO, lambda y, x: ATAN2(y, x)),
        doc="The angle of the point (other, input).",
        ops=(ATAN2,),
        samples=(Sample("atan2(x, y)", np.arctan2, x=_X, y=_Y), Sample("atan2(x, y)", np.arctan2, x=_X, y=2.0)),
        inplace=True,
        out=True,
        aliases=("arctan2",),
    ),
    Function(
        "hypot",
        (_TWO, checked(HYPOT, require_floating, "hypot_cpu")),
        doc="sqrt(input**2 + other**2).",
        ops=(HYPOT,),
        samples=(Sample("hypot(x, y)", np.hypot, x=_X, y=_Y),),
        inplace=True,
        out=True,
    ),
    unary("deg2rad", DEG2RAD, "Degrees to radians.", np.deg2rad, _X),
    unary("rad2deg", RAD2DEG, "Radians to degrees.", np.rad2deg, _X),
    unary("sinc", SINC, "sin(pi x) / (pi x), 1 at 0.", np.sinc, _X, aliases=("special.sinc",)),
)
