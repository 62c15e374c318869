"""Exponentials, logarithms, roots, the error function and the logistic function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import elementary
from gradcli.core.kernels.special import erf
from gradcli.core.ops import checks
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.arithmetic_records import POW_NUMBER
from gradcli.core.ops.elementwise.arithmetic_records import POW_SCALAR as _POW
from gradcli.core.ops.elementwise.where import MASKED_FILL as _MASKED_FILL
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor

_LN2 = math.log(2)
_LN10 = math.log(10)
_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


def _floating(grad_fn: str, forward: Callable[..., Any], rule: Rule) -> Pointwise:
    return Pointwise(grad_fn, forward, "input", kind="float", input=rule)


EXP = _floating("ExpBackward0", elementary.exp, Rule(lambda grad, out: grad * out, "grad * out"))
EXP2 = _floating(
    "Exp2Backward0", elementary.exp2, Rule(lambda xp, grad, out: scalars.times(xp, grad * out, _LN2), "grad * out * math.log(2)")
)
EXPM1 = _floating("Expm1Backward0", elementary.expm1, Rule(lambda xp, grad, out: grad * scalars.plus(xp, out, 1), "grad * (out + 1)"))
LOG = _floating("LogBackward0", elementary.log, Rule(lambda grad, input: grad / input, "grad / input"))
LOG2 = _floating(
    "Log2Backward0",
    elementary.log2,
    Rule(lambda xp, grad, input: grad / scalars.times(xp, input, _LN2), "grad / (input * math.log(2))"),
)
LOG10 = _floating(
    "Log10Backward0",
    elementary.log10,
    Rule(lambda xp, grad, input: grad / scalars.times(xp, input, _LN10), "grad / (input * math.log(10))"),
)
LOG1P = _floating("Log1PBackward0", elementary.log1p, Rule(lambda xp, grad, input: grad / scalars.plus(xp, input, 1), "grad / (input + 1)"))
SQRT = _floating("SqrtBackward0", np.sqrt, Rule(lambda xp, grad, out: grad / scalars.times(xp, out, 2), "grad / (2 * out)", "inf at 0"))
RSQRT: Pointwise = _floating(
    "RsqrtBackward0",
    lambda x: np.true_divide(1, np.sqrt(x)),
    Rule(lambda xp, grad, out: scalars.times(xp, grad, -0.5) * xp.call(_POW, out, 3), "-0.5 * grad * out**3"),
)


def _bell(xp: Any, x: Any, scale: float) -> Any:
    """scale * exp(-x^2)."""
    return scalars.times(xp, xp.exp(-(xp.call(_POW, x, 2))), scale)


ERF = _floating(
    "ErfBackward0",
    erf.erf,
    Rule(lambda xp, grad, input: _bell(xp, input, _TWO_OVER_ROOT_PI) * grad, "2 / math.pi**0.5 * exp(-input**2) * grad"),
)
ERFC = _floating(
    "ErfcBackward0",
    erf.erfc,
    Rule(lambda xp, grad, input: _bell(xp, input, -_TWO_OVER_ROOT_PI) * grad, "-2 / math.pi**0.5 * exp(-input**2) * grad"),
)
ERFINV: Pointwise = _floating(
    "ErfinvBackward0",
    erf.erfinv,
    Rule(
        lambda xp, grad, input: scalars.times(xp, xp.exp(xp.call(_POW, xp.call(ERFINV, input), 2)), 1 / _TWO_OVER_ROOT_PI) * grad,
        "0.5 * math.pi**0.5 * exp(erfinv(input)**2) * grad",
    ),
)


def logistic(x: Any) -> Any:
    """1 / (1 + exp(-x)); exp may overflow to inf, whose reciprocal is the right 0."""
    return np.true_divide(1, np.add(1, elementary.exp(np.negative(x))))


def _sigmoid_derivative(grad_output: Any, output: Any) -> Any:
    return grad_output * (1 - output) * output


SIGMOID_BACKWARD: Op = Op(
    "SigmoidBackwardBackward0",
    _sigmoid_derivative,
    "grad_output output",
    grad_output=Rule(lambda xp, grad, output: xp.call(SIGMOID_BACKWARD, grad, output), "grad * output * (1 - output)"),
    output=Rule(
        lambda xp, grad, grad_output, output: grad * grad_output * scalars.plus(xp, scalars.times(xp, output, -2), 1),
        "grad * grad_output * (1 - 2 * output)",
    ),
)
SIGMOID = _floating(
    "SigmoidBackward0", logistic, Rule(lambda xp, grad, out: xp.call(SIGMOID_BACKWARD, grad, out), "grad * out * (1 - out)")
)


def _logit(x: Any, eps: float | None) -> Any:
    if eps is not None:
        x = np.clip(x, eps, 1 - eps)
    return elementary.log(x / (1 - x))


def _logit_rule(xp: Any, grad: Any, input: Any, eps: float | None) -> Any:
    given = -1.0 if eps is None else eps  # to PyTorch a negative eps is none
    low = max(given, 0.0)
    plain = xp.plain(input)
    inside = (plain >= low) & (plain <= 1 - low)
    # outside of the clamped range the derivative is 0; without a clamp the function is not defined there
    outside = math.nan if given < 0 else 0.0
    return xp.where(inside, grad / (input * scalars.from_number(xp, 1, input)), outside)


LOGIT = Pointwise(
    "LogitBackward0",
    _logit,
    "input",
    "eps",
    kind="float",
    input=Rule(
        _logit_rule,
        "e = -1 if eps is None else eps; low = max(e, 0); "
        "where((input >= low) & (input <= 1 - low), grad / (input * (1 - input)), nan if e < 0 else 0)",
        "nan outside of [0, 1] without eps",
    ),
)


def _xlogy(x: Any, y: Any) -> Any:
    y = np.asarray(y, x.dtype)
    return np.where(np.isnan(y), y, np.where(np.equal(x, 0), 0, x * elementary.log(y)))


def _xlogy_x(xp: Any, grad: Any, input: Any, other: Any) -> Any:
    flat = (xp.plain(input) == 0) & (np.asarray(xp.plain(other)) <= 0)
    return xp.call(_MASKED_FILL, xp.call(XLOGY, grad, other), flat, 0)


XLOGY: Pointwise = Pointwise(
    "XlogyBackward0",
    _xlogy,
    "input other",
    kind="float",
    input=Rule(_xlogy_x, "where((input == 0) & (other <= 0), 0, xlogy(grad, other))", "0 where input is 0 and other is not positive"),
    other=Rule(lambda grad, input, other: grad * input / other, "grad * input / other"),
)


def _xlogy_number_rule(xp: Any, grad: Any, input: Any, other: Any) -> Any:
    spread = xp.call(_XLOGY_NUMBER, grad, other)
    return spread if other > 0 else xp.call(_MASKED_FILL, spread, xp.plain(input) == 0, 0)


_XLOGY_NUMBER: Pointwise = Pointwise(
    "XlogyBackward2",
    _xlogy,
    "input",
    "other",
    kind="float",
    input=Rule(
        _xlogy_number_rule,
        "where((input == 0) & (other <= 0), 0, xlogy(grad, other))",
        "0 where input is 0 and other is not positive",
    ),
)
_NUMBER_XLOGY = Pointwise(
    "XlogyBackward1",
    lambda other, x: _xlogy(np.asarray(x, other.dtype), other),
    "other",
    "x",
    kind="float",
    other=Rule(lambda xp, grad, x, other: scalars.times(xp, grad, x) / other, "grad * x / other"),
)


def xlogy(x: Any, y: Any) -> Any:
    """`x * log(y)`, 0 where x is 0."""
    if type(x) is not Tensor:
        return _NUMBER_XLOGY(y, x)
    return XLOGY(x, y) if type(y) is Tensor else _XLOGY_NUMBER(x, y)


LOGADDEXP = Pointwise(
    "LogaddexpBackward0",
    elementary.logaddexp,
    "input other",
    kind="float",
    input=Rule(lambda xp, grad, input, other: grad / scalars.plus(xp, xp.exp(other - input), 1), "grad / (1 + exp(other - input))"),
    other=Rule(lambda xp, grad, input, other: grad / scalars.plus(xp, xp.exp(input - other), 1), "grad / (1 + exp(input - other))"),
)
LOGADDEXP2 = Pointwise(
    "Logaddexp2Backward0",
    elementary.logaddexp2,
    "input other",
    kind="float",
    input=Rule(
        lambda xp, grad, input, other: grad / scalars.plus(xp, xp.call(POW_NUMBER, other - input, 2), 1), "grad / (1 + 2**(other - input))"
    ),
    other=Rule(
        lambda xp, grad, input, other: grad / scalars.plus(xp, xp.call(POW_NUMBER, input - other, 2), 1), "grad / (1 + 2**(input - other))"
    ),
)


def _floats_only(op: Pointwise, kernel: str) -> Callable[[Tensor, Tensor], Any]:
    def run(x: Tensor, y: Tensor) -> Any:
        dtype = dtypes.result_type((x, y))
        if not dtype.is_floating_point:
            raise checks.not_implemented(kernel, dtype)
        return op(x, y)

    return run


_X = [0.5, 1.5, 0.25]


def _simple(
    name: str, op: Pointwise, doc: str, reference: Any, inputs: Sequence[float] = (0.5, 1.5, -0.25), aliases: Sequence[str] = ()
) -> Function:
    return Function(
        name,
        ("Tensor input", lambda x: op(x)),
        doc=doc,
        ops=(op,),
        samples=(Sample(f"{name}(x)", reference, x=list(inputs)), Sample(f"x.{name}()", reference, x=inputs[0])),
        inplace=True,
        out=True,
        aliases=aliases,
    )


_vector_erf = np.vectorize(math.erf, otypes=[float])
_vector_erfc = np.vectorize(math.erfc, otypes=[float])

FUNCTIONS = (
    _simple("exp", EXP, "e to the power input.", np.exp),
    _simple("exp2", EXP2, "2 to the power input.", np.exp2, aliases=("special.exp2",)),
    _simple("expm1", EXPM1, "exp(input) - 1, accurate near 0.", np.expm1, aliases=("special.expm1",)),
    _simple("log", LOG, "Natural logarithm.", np.log, _X),
    _simple("log2", LOG2, "Logarithm to base 2.", np.log2, _X),
    _simple("log10", LOG10, "Logarithm to base 10.", np.log10, _X),
    _simple("log1p", LOG1P, "log(1 + input), accurate near 0.", np.log1p, aliases=("special.log1p",)),
    _simple("sqrt", SQRT, "Square root.", np.sqrt, _X),
    _simple("rsqrt", RSQRT, "1 / sqrt(input).", lambda x: 1 / np.sqrt(x), _X),
    _simple("erf", ERF, "Error function.", _vector_erf, aliases=("special.erf",)),
    _simple("erfc", ERFC, "1 - erf(input).", _vector_erfc, aliases=("special.erfc",)),
    _simple("erfinv", ERFINV, "Inverse of erf.", None, [0.5, -0.25, 0.9], aliases=("special.erfinv",)),
    _simple("sigmoid", SIGMOID, "Logistic function 1 / (1 + exp(-input)).", lambda x: 1 / (1 + np.exp(-x)), aliases=("special.expit",)),
    Function(
        "logit",
        ("Tensor input, float? eps=None", lambda x, eps: LOGIT(x, eps)),
        doc="log(input / (1 - input)); eps clamps input to [eps, 1 - eps] first.",
        ops=(LOGIT,),
        samples=(
            Sample("logit(x)", lambda x: np.log(x / (1 - x)), x=[0.5, 0.25, 0.9]),
            Sample("logit(x, eps=0.1)", None, x=[0.5, 0.25, 0.95]),
        ),
        inplace=True,
        out=True,
        aliases=("special.logit",),
    ),
    Function(
        "xlogy",
        ("Tensor input, Tensor other", xlogy),
        ("Number self, Tensor other", xlogy),
        ("Tensor input, Number other", xlogy),
        doc="input * log(other), 0 where input is 0.",
        ops=(XLOGY, _NUMBER_XLOGY, _XLOGY_NUMBER),
        samples=(
            Sample("xlogy(x, y)", lambda x, y: x * np.log(y), x=_X, y=[2.0, 0.5, 3.0]),
            Sample("xlogy(2, y)", lambda y: 2 * np.log(y), y=_X),
            Sample("xlogy(x, 2)", lambda x: x * np.log(2), x=_X),
        ),
        inplace=True,
        out=True,
        aliases=("special.xlogy",),
    ),
    Function(
        "logaddexp",
        ("Tensor input, Tensor other", _floats_only(LOGADDEXP, "logaddexp_cpu")),
        doc="log(exp(input) + exp(other)) without overflow.",
        ops=(LOGADDEXP,),
        samples=(Sample("logaddexp(x, y)", np.logaddexp, x=_X, y=[2.0, 0.5, 3.0]),),
        out=True,
    ),
    Function(
        "logaddexp2",
        ("Tensor input, Tensor other", _floats_only(LOGADDEXP2, "logaddexp2_cpu")),
        doc="log2(2**input + 2**other) without overflow.",
        ops=(LOGADDEXP2,),
        samples=(Sample("logaddexp2(x, y)", np.logaddexp2, x=_X, y=[2.0, 0.5, 3.0]),),
        out=True,
    ),
)
