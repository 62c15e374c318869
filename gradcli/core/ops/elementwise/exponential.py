"""Exponentials, logarithms, roots, sigmoid (the logistic function), and products with logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import elementary, memory_format
from gradcli.core.ops.checks import Operand, checked, require_floating
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import no_difference
from gradcli.core.ops.elementwise.power import POW_NUMBER, POW_SCALAR
from gradcli.core.ops.elementwise.special.special_function import SpecialFunction, special_unary
from gradcli.core.ops.elementwise.unary import floating, unary
from gradcli.core.ops.index.masked import MASKED_FILL
from gradcli.core.ops.rules import as_kernel
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor

_LN2 = math.log(2)
_LN10 = math.log(10)

EXP = floating("ExpBackward0", elementary.exp, Rule(lambda grad, out: grad * out, "grad * out"), complex=np.exp)
EXP2 = floating(
    "Exp2Backward0",
    elementary.exp2,
    Rule(lambda xp, grad, out: scalars.times(xp, grad * out, _LN2), "grad * out * math.log(2)"),
    complex=np.exp2,
)
EXPM1 = floating(
    "Expm1Backward0",
    elementary.expm1,
    Rule(lambda xp, grad, out: grad * scalars.plus(xp, out, 1), "grad * (out + 1)"),
    complex=elementary.complex_expm1,
)
LOG = floating("LogBackward0", elementary.log, Rule(lambda grad, input: grad / input, "grad / input"), complex=np.log)
LOG2 = floating(
    "Log2Backward0",
    elementary.log2,
    Rule(lambda xp, grad, input: grad / scalars.times(xp, input, _LN2), "grad / (input * math.log(2))"),
    complex=lambda x: elementary.complex_over(np.log(x), _LN2),
)
LOG10 = floating(
    "Log10Backward0",
    elementary.log10,
    Rule(lambda xp, grad, input: grad / scalars.times(xp, input, 2.3025850929940456), "grad / (input * math.log(10))"),
    complex=lambda x: elementary.complex_over(np.log(x), _LN10),
)
LOG1P = floating(
    "Log1PBackward0",
    elementary.log1p,
    Rule(lambda xp, grad, input: grad / scalars.plus(xp, input, 1), "grad / (input + 1)"),
    complex=elementary.complex_log1p,
)
SQRT = floating(
    "SqrtBackward0", np.sqrt, Rule(lambda xp, grad, out: grad / scalars.times(xp, out, 2), "grad / (2 * out)", "inf at 0"), complex=np.sqrt
)


def _rsqrt_in_half(dtype: DType, x: Any) -> Any:
    """1 / sqrt(x), where PyTorch's scalar code rounds the root too."""
    root = np.asarray(np.sqrt(x))
    return np.true_divide(1, np.where(elementary.in_vectors(root, 32 * root.itemsize), root, dtypes.stored(root, dtype)))


RSQRT: Pointwise = Pointwise(
    "RsqrtBackward0",
    lambda x: np.true_divide(1, np.sqrt(x)),
    "input",
    kind="float",
    in_half=_rsqrt_in_half,
    complex=lambda x: elementary.complex_quotient(1, np.sqrt(x)),
    input=Rule(lambda xp, grad, out: scalars.times(xp, grad, -0.5) * xp.call(POW_SCALAR, out, 3), "-0.5 * grad * out**3"),
)


# --- the logistic function and its inverse ---


def logistic(x: Any, *operands: Any) -> Any:
    """1 / (1 + exp(-x)); where exp overflows to inf, the quotient is 0, as it should be.

    `operands` are those of the kernel that computes it, where `x` is not the only one.
    """
    return np.true_divide(1, np.add(1, elementary.exp_in_loop(np.negative(x), *(operands or (x,)))))


def _logistic_gradient(grad: Any, output: Any) -> Any:
    if output.dtype.kind == "c":
        return elementary.complex_logistic_gradient(grad, output)
    return grad * (1 - output) * output


SIGMOID_BACKWARD: Op = Op(
    "SigmoidBackwardBackward0",
    _logistic_gradient,
    "grad_output output",
    layout="iterated",
    jvp="backward",
    grad_output=Rule(lambda xp, grad, output: xp.call(SIGMOID_BACKWARD, grad, output), "grad * output * (1 - output)"),
    output=Rule(
        lambda xp, grad, grad_output, output: grad * grad_output * scalars.plus(xp, scalars.times(xp, output, -2), 1),
        "grad * grad_output * (1 - 2 * output)",
    ),
    complex=True,
)
SIGMOID = floating(
    "SigmoidBackward0",
    logistic,
    Rule(lambda xp, grad, out: xp.call(SIGMOID_BACKWARD, grad, out), "grad * out * (1 - out)"),
    complex=lambda x: elementary.complex_quotient(1, 1 + np.exp(-x)),
)


def _logit(x: Any, eps: float | None) -> Any:
    if eps is not None and eps >= 0:
        low = x.dtype.type(eps)
        x = _between(x, low, x.dtype.type(1) - low)
    return elementary.log(x / (1 - x))


def _between(x: Any, low: Any, high: Any) -> Any:
    """`x` clamped. Where the bounds change places, PyTorch's vector code, which takes what has gaps in memory, gives the upper one."""
    held = np.where(x < low, low, np.where(x > high, high, x))
    if low <= high or x.itemsize == 2 or memory_format.is_dense(x.shape, memory_format.element_strides(x)):
        return held
    return np.where(elementary.in_vectors(x, 128) & ~np.isnan(x), high, held)


def _limits(eps: float) -> Any:
    return eps, 1 - eps


def _limits_bfloat(eps: float) -> Any:
    return dtypes.round_bfloat16(np.asarray(_limits(eps), np.float32))


def _logit_gradient(limits: Callable[[float], Any], xp: Any, grad: Any, input: Any, eps: float | None) -> Any:
    recorded = type(input) is Tensor and state.enabled
    if eps is not None and eps < 0 and recorded:
        low, high = limits(eps)
        held = (xp.plain(input) >= low) & (xp.plain(input) <= high)
        return xp.where(held, grad / (input * scalars.from_number(xp, 1, input)), 0.0)
    given = -1.0 if eps is None else eps  # a negative eps counts as None in PyTorch, except where the derivative is recorded
    low, high = limits(max(given, 0.0))
    plain = xp.plain(input)
    inside = (plain >= low) & (plain <= high)
    if not recorded:  # the scalar code of PyTorch's kernel looks for numbers outside, which nan is not, and takes -0 for 0
        vectors = elementary.in_vectors(plain, 128, xp.plain(grad), plain)
        inside = np.where(vectors, inside, ~((plain < low) | (plain > high)))
    inside = memory_format.like_operands(inside, (plain,))
    # outside of the clamped range the derivative is 0; without a clamp the function is not defined there
    outside = math.nan if given < 0 else 0.0
    slope = input * scalars.from_number(xp, 1, input)
    if not recorded:
        slope = xp.where(vectors, slope, xp.abs(slope))
    return as_kernel(xp.where(inside, grad / slope, outside), grad, input)


def _logit_bfloat(x: Any, eps: float | None) -> Any:
    """`_logit`, rounded to bfloat16 after each step."""
    step = dtypes.round_bfloat16
    if eps is not None and eps >= 0:
        low, high = _limits_bfloat(eps)
        x = np.where(x < low, low, np.where(x > high, high, x))
    return elementary.log(step(x / step(1 - x)))


def _logit_record(forward: Callable[..., Any], limits: Callable[[float], Any]) -> Pointwise:
    return Pointwise(
        "LogitBackward0",
        forward,
        "input",
        "eps",
        kind="float",
        narrow=True,
        input=Rule(
            lambda xp, grad, input, eps: _logit_gradient(limits, xp, grad, input, eps),
            "e = -1 if eps is None else eps; low = max(e, 0); "
            "where((input < low) | (input > 1 - low), nan if e < 0 else 0, grad / (input * (1 - input)))",
            "nan outside of [0, 1] without eps; a nan gives nan, but 0 where vector code takes it",
        ),
    )


LOGIT, _LOGIT_BFLOAT = _logit_record(_logit, _limits), _logit_record(_logit_bfloat, _limits_bfloat)


def logit(input: Tensor, eps: float | None) -> Tensor:
    """log(input / (1 - input)), of the input clamped to [eps, 1 - eps]. In half precision each step is rounded, as PyTorch does."""
    return (_LOGIT_BFLOAT if input.dtype is dtypes.bfloat16 else LOGIT)(input, eps)


# --- products with logarithms ---


def _times_logarithm(log: Callable[[Any], Any], x: Any, y: Any) -> Any:
    y = np.asarray(y, x.dtype)
    return np.where(np.isnan(y), y, np.where(np.equal(x, 0), 0, x * log(y)))


def _with_rounded_logarithm(log: Callable[[Any], Any], dtype: DType, x: Any, y: Any) -> Any:
    """`x * log(y)` in half precision, to which PyTorch rounds the logarithm too; 0 where x is 0."""
    x, y = (dtypes.stored(np.asarray(operand, np.float32), dtype) for operand in (x, y))
    return _times_logarithm(lambda y: dtypes.stored(log(y), dtype), x, y)


def _products(node: str, log: Callable[[Any], Any], least: int, function: str, bounds: str) -> tuple[Pointwise, Pointwise, Pointwise]:
    """The records of `x * log(y)`, 0 where x is 0: of two tensors, of a number and a tensor, of a tensor and a number.

    The logarithm has a value above `least`, 0 or -1; there `y - least` is what its derivative divides by.
    """
    forward, in_half = partial(_times_logarithm, log), partial(_with_rounded_logarithm, log)
    formula, note = f"where((input == 0) & (other <= {least}), 0, {function}(grad, other))", f"0 where input is 0 and other is not {bounds}"
    divisor = f"(other + {-least})" if least else "other"

    def above(xp: Any, other: Any) -> Any:
        return scalars.plus(xp, other, -least) if least else other

    def of_first(xp: Any, grad: Any, input: Any, other: Any) -> Any:
        flat = (xp.plain(input) == 0) & (np.asarray(xp.plain(other)) <= least)
        return xp.call(MASKED_FILL, xp.call(of_tensors, grad, other), flat, 0)

    def of_first_and_number(xp: Any, grad: Any, input: Any, other: Any) -> Any:
        spread = xp.call(of_tensor_and_number, grad, other)
        return spread if other > least else xp.call(MASKED_FILL, spread, xp.plain(input) == 0, 0)

    of_tensors: Pointwise = Pointwise(
        f"{node}Backward0",
        forward,
        "input other",
        kind="float",
        in_half=in_half,
        input=Rule(of_first, formula, note),
        other=Rule(lambda xp, grad, input, other: grad * input / above(xp, other), f"grad * input / {divisor}"),
    )
    of_number_and_tensor = Pointwise(
        f"{node}Backward1",
        lambda other, x: forward(np.asarray(x, other.dtype), other),
        "other",
        "x",
        saved="other self=x",
        kind="float",
        in_half=lambda dtype, other, x: in_half(dtype, x, other),
        layout="numbered",
        other=Rule(lambda xp, grad, x, other: scalars.times(xp, grad, x) / above(xp, other), f"grad * x / {divisor}"),
    )
    of_tensor_and_number: Pointwise = Pointwise(
        f"{node}Backward2",
        forward,
        "input",
        "other",
        kind="float",
        in_half=in_half,
        layout="numbered",
        input=Rule(of_first_and_number, formula, note),
    )
    return of_tensors, of_number_and_tensor, of_tensor_and_number


XLOGY, NUMBER_XLOGY, XLOGY_NUMBER = _products("Xlogy", elementary.log, 0, "xlogy", "positive")
XLOG1PY, NUMBER_XLOG1PY, XLOG1PY_NUMBER = _products("SpecialXlog1Py", elementary.log1p, -1, "torch.special.xlog1py", "above -1")


def xlogy(x: Operand, y: Operand) -> Tensor:
    """`x * log(y)`, 0 where x is 0; one of both may be a number."""
    if type(x) is not Tensor:
        return NUMBER_XLOGY(y, x)
    return XLOGY(x, y) if type(y) is Tensor else XLOGY_NUMBER(x, y)


def _entropy(x: Any, rounded: Any = np.asarray) -> Any:
    inside = -x * rounded(elementary.log(np.where(x > 0, x, 1).astype(x.dtype)))
    return np.where(x > 0, inside, np.where(x == 0, 0, np.where(np.isnan(x), x, -np.inf))).astype(x.dtype)


ENTR = Pointwise(
    "SpecialEntrBackward0",
    _entropy,
    "input",
    kind="float",
    narrow=True,
    in_half=lambda dtype, x: _entropy(x, dtypes.round_bfloat16 if dtype is dtypes.bfloat16 else np.asarray),
    input=Rule(lambda xp, grad, input: grad * -scalars.plus(xp, xp.log(input), 1), "grad * -(log(input) + 1)"),
)


# --- logarithms of sums ---


def _complex_logaddexp(a: Any, b: Any) -> Any:
    """As PyTorch: from the operand with the larger real part; nan in both parts where one operand is nan."""
    first = a.real < b.real
    low, high = np.where(first, a, b), np.where(first, b, a)
    made = high + np.log1p(np.exp(low - high))
    ends = np.isinf(low.real) & (low.real == high.real)
    made = np.where(ends, np.where(low.real < 0, low, np.log(np.exp(low) + np.exp(high))), made)
    return np.where(np.isnan(a) | np.isnan(b), complex(math.nan, math.nan), made).astype(a.dtype)


def _gap(a: Any, b: Any) -> Any:
    """`a - b` of the operands as they were given; raises PyTorch's error where one is of bools."""
    if "b" in (a.dtype.kind, b.dtype.kind) if type(a) is not Tensor else dtypes.bool_ in (a.dtype, b.dtype):
        raise no_difference(a, b)
    return a - b


def _log_of_sum(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)), computed from the larger operand as in PyTorch."""
    made = np.maximum(a, b) + elementary.log1p(elementary.exp(-np.abs(a - b)))
    return np.where(np.isinf(a) & np.equal(a, b), a, made)


def _log2_of_sum(a: Any, b: Any) -> Any:
    """log2(2**a + 2**b), computed from the larger operand by the natural logarithm, as in PyTorch."""
    above = elementary.log1p(elementary.exp2(-np.abs(a - b)))
    made = elementary.fused(above, above.dtype.type(1 / math.log(2)), np.maximum(a, b))
    return np.where(np.isinf(a) & np.equal(a, b), a, made)


LOGADDEXP = Pointwise(
    "LogaddexpBackward0",
    _log_of_sum,
    "input other",
    kind="float",
    complex=_complex_logaddexp,
    real_part=False,
    input=Rule(lambda xp, grad, input, other: grad / scalars.plus(xp, xp.exp(_gap(other, input)), 1), "grad / (1 + exp(other - input))"),
    other=Rule(lambda xp, grad, input, other: grad / scalars.plus(xp, xp.exp(_gap(input, other)), 1), "grad / (1 + exp(input - other))"),
)
LOGADDEXP2 = Pointwise(
    "Logaddexp2Backward0",
    _log2_of_sum,
    "input other",
    kind="float",
    input=Rule(
        lambda xp, grad, input, other: grad / scalars.plus(xp, xp.call(POW_NUMBER, _gap(other, input), 2), 1),
        "grad / (1 + 2**(other - input))",
    ),
    other=Rule(
        lambda xp, grad, input, other: grad / scalars.plus(xp, xp.call(POW_NUMBER, _gap(input, other), 2), 1),
        "grad / (1 + 2**(input - other))",
    ),
)


_X, _SHARES, _OTHERS = [0.5, 1.5, 0.25], [0.5, 0.25, 0.9], [2.0, 0.5, 3.0]


def _require_numbers(kernel: str, dtype: DType) -> None:
    if not dtype.is_complex:
        require_floating(kernel, dtype)


def _logaddexp(name: str, op: Pointwise, doc: str, reference: Callable[..., Any]) -> Function:
    return Function(
        name,
        ("Tensor input, Tensor other", checked(op, require_floating if op.complex is None else _require_numbers, f"{name}_cpu")),
        doc=doc,
        ops=(op,),
        samples=(Sample(f"{name}(x, y)", reference, x=_X, y=_OTHERS),),
        out=True,
    )


FUNCTIONS = (
    unary("exp", EXP, "e to the power input.", np.exp, analytic=True),
    unary("exp2", EXP2, "2 to the power input.", np.exp2, aliases=("special.exp2",), analytic=True),
    unary("expm1", EXPM1, "exp(input) - 1, accurate near 0.", np.expm1, aliases=("special.expm1",)),
    unary("log", LOG, "Natural logarithm.", np.log, _X, analytic=True),
    unary("log2", LOG2, "Logarithm to base 2.", np.log2, _X, analytic=True),
    unary("log10", LOG10, "Logarithm to base 10.", np.log10, _X, analytic=True),
    unary("log1p", LOG1P, "log(1 + input), accurate near 0.", np.log1p, aliases=("special.log1p",)),
    unary("sqrt", SQRT, "Square root.", np.sqrt, _X, analytic=True),
    unary("rsqrt", RSQRT, "1 / sqrt(input).", lambda x: 1 / np.sqrt(x), _X, analytic=True),
    unary(
        "sigmoid",
        SIGMOID,
        "Logistic function 1 / (1 + exp(-input)).",
        lambda x: 1 / (1 + np.exp(-x)),
        aliases=("special.expit",),
        analytic=True,
    ),
    Function(
        "logit",
        ("Tensor input, float? eps=None", logit),
        doc="log(input / (1 - input)); eps clamps input to [eps, 1 - eps] first.",
        ops=(LOGIT,),
        samples=(
            Sample("logit(x)", lambda x: np.log(x / (1 - x)), x=[0.5, 0.25, 0.9]),
            Sample("logit(x, eps=0.1)", None, x=[0.5, 0.25, 0.95]),
        ),
        torch_inplace=("logit_",),
        out=True,
        aliases=("special.logit",),
    ),
    Function(
        "xlogy",
        ("Tensor input, Tensor other", xlogy),
        ("Number self, Tensor other", xlogy),
        ("Tensor input, Number other", xlogy),
        doc="input * log(other), 0 where input is 0.",
        ops=(XLOGY, NUMBER_XLOGY, XLOGY_NUMBER),
        samples=(
            Sample("xlogy(x, y)", lambda x, y: x * np.log(y), x=_X, y=_OTHERS),
            Sample("xlogy(2, y)", lambda y: 2 * np.log(y), y=_X),
            Sample("xlogy(x, 2)", lambda x: x * np.log(2), x=_X),
        ),
        torch_inplace=("xlogy_",),
        out=True,
        aliases=("special.xlogy",),
    ),
    special_unary("entr", ENTR, "-input * log(input), 0 at 0, -inf below.", lambda x: -x * np.log(x), _SHARES),
    SpecialFunction(
        "xlog1py",
        ("Tensor input, Tensor other", lambda x, y: XLOG1PY(x, y)),
        ("Number self, Tensor other", lambda x, y: NUMBER_XLOG1PY(y, x)),
        ("Tensor input, Number other", lambda x, y: XLOG1PY_NUMBER(x, y)),
        doc="input * log1p(other), 0 where input is 0.",
        ops=(XLOG1PY, NUMBER_XLOG1PY, XLOG1PY_NUMBER),
        samples=(Sample("torch.special.xlog1py(x, y)", lambda x, y: x * np.log1p(y), x=[0.5, 1.5, 3.25], y=_SHARES),),
    ),
    _logaddexp("logaddexp", LOGADDEXP, "log(exp(input) + exp(other)) without overflow.", np.logaddexp),
    _logaddexp("logaddexp2", LOGADDEXP2, "log2(2**input + 2**other) without overflow.", np.logaddexp2),
)
