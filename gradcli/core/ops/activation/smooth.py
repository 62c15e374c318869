"""Smooth activations: gelu, silu, mish, softplus, logsigmoid, softsign, tanhshrink. sigmoid and tanh are in elementwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.functions.function import Sample
from gradcli.core.functions.out import SAME, Out
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule
from gradcli.core.kernels import blocks, elementary, half_to_single
from gradcli.core.kernels.special.erf import erf, erf_in_half
from gradcli.core.ops.activation.functional import activation, functional, writing
from gradcli.core.ops.checks import Number, checked, require_floating
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import add, sub
from gradcli.core.ops.elementwise.divide_remainder import div
from gradcli.core.ops.elementwise.exponential import SIGMOID, SIGMOID_BACKWARD, logistic
from gradcli.core.ops.elementwise.signs import absolute
from gradcli.core.ops.elementwise.trigonometric import TANH
from gradcli.core.ops.rules import as_kernel, check_no_complex_gradient, rounded_once
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, runtime_error

# --- gelu ---

_K = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def _density(x: Any) -> Any:
    return elementary.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))


_gelu_tanh = elementary.Shared(lambda x, *operands: elementary.tanh_in_loop(_K * elementary.fused(x * x * x, _CUBIC, x), *operands))
_gelu_erf = elementary.Shared(lambda x, *operands: erf(x * math.sqrt(0.5)))
_gelu_erf_in_half = elementary.Shared(lambda x, *operands: erf_in_half(x * math.sqrt(0.5)))


def _erf_for(x: Any) -> elementary.Shared:
    return _gelu_erf_in_half if x.dtype == np.float16 else _gelu_erf


def _gelu(x: Any, approximate: str) -> Any:
    given = x
    x = half_to_single(given)
    if approximate == "tanh":
        return 0.5 * x * (1 + _gelu_tanh.first(x, x))
    found = x * 0.5 * (1 + _erf_for(given).first(x, x))
    row_major = given.is_row_major if type(given) is blocks.Deferred else given.flags.c_contiguous
    if given.dtype == np.float32 and given.size > 1 and row_major:
        # PyTorch's vector code makes nan of infinity
        found = blocks.where(x == np.inf, x.dtype.type(np.nan), found)
    return found


def _gelu_gradient(grad: Any, x: Any, approximate: str) -> Any:
    wide = half_to_single(blocks.defer(x))
    if approximate == "tanh":
        t = _gelu_tanh.again(wide, grad, wide)
        kind = wide.dtype.type
        inner = _K * elementary.fused(wide * wide, kind(3) * kind(_CUBIC), 1)
        slope = 0.5 * wide * elementary.fused(-t, t, 1) * inner + 0.5 * (1 + t)
    else:
        slope = 0.5 * (1 + _erf_for(x).again(wide, wide)) + wide * _density(wide)
    made = grad * slope
    return made if made.dtype == grad.dtype else made.astype(grad.dtype)


def _gelu_second(xp: Any, grad: Any, grad_output: Any, input: Any, approximate: str) -> Any:
    if approximate != "tanh":
        # the density of the normal distribution times 2 - x**2
        bell = xp.exp(input * input * -0.5) * (1 / math.sqrt(2 * math.pi))
        return grad * grad_output * bell * (2 - input * input)
    square = input * input
    t = xp.tanh((input + square * input * _CUBIC) * _K)
    inner = (square * (3 * _CUBIC) + 1) * _K
    flat = 1 - t * t  # 0 far from 0, where the squares of half precision overflow
    slope = flat * inner
    curve = slope + input * 0.5 * (flat * input * (6 * _CUBIC * _K) - t * 2 * slope * inner)
    return grad * grad_output * curve


#: gelu is input / 2 * (1 + t), and d the derivative of t
_GELU_PARTS = (
    "c = (2 / math.pi)**0.5; "
    "t = tanh(c * (input + 0.044715 * input**3)) if approximate == 'tanh' else erf(input / 2**0.5); "
    "d = c * (1 - t**2) * (1 + 0.134145 * input**2) if approximate == 'tanh' else c * exp(-input**2 / 2); "
)
_, GELU = activation(
    "Gelu",
    _gelu,
    _gelu_gradient,
    "approximate",
    narrow=True,
    formula=_GELU_PARTS + "grad * (1 + t + input * d) / 2",
    second=Rule(
        _gelu_second,
        _GELU_PARTS + "e = c * (1 - t**2) * 0.26829 * input - 2 * t * d * c * (1 + 0.134145 * input**2) if approximate == 'tanh' "
        "else -input * d; grad * grad_output * (d + input * e / 2)",
    ),
)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`input` times the normal distribution function at `input`; `approximate` is "none" or "tanh"."""
    if approximate not in ("none", "tanh"):
        raise runtime_error("approximate argument must be either none or tanh.", Code.AFTER_CHECKS)
    require_floating("GeluKernelImpl", input.dtype)
    return GELU(input, approximate)


# --- silu, mish, softplus, logsigmoid ---

_exp = elementary.Shared(elementary.exp_in_loop)
_exp_in_lanes = elementary.Shared(elementary.exp_in_lanes)


def _silu_gradient(grad: Any, x: Any) -> Any:
    s = np.true_divide(1, 1 + _exp.again(np.negative(x), grad, x))
    return grad * s * elementary.fused(x, 1 - s, 1)


def _silu_rule(xp: Any, grad: Any, input: Any) -> Any:
    if type(input) is not Tensor:
        return as_kernel(_silu_gradient(grad, input), grad, input)
    if (made := rounded_once(_silu_gradient, grad, input)) is not None:
        return made
    s = xp.call(SIGMOID, input)
    return as_kernel(grad * s * scalars.plus(xp, input * scalars.from_number(xp, 1, s), 1), grad, input)


SILU = Pointwise(
    "SiluBackward0",
    lambda x: np.true_divide(x, 1 + _exp.first(np.negative(x), x)),
    "input",
    input=Rule(_silu_rule, "grad * sigmoid(input) * (1 + input * (1 - sigmoid(input)))"),
    complex=lambda x: x / (1 + np.exp(-x)),
)


def silu(input: Tensor) -> Tensor:
    """`input * sigmoid(input)`."""
    if not input.dtype.is_complex:
        require_floating("silu_cpu", input.dtype)
    check_no_complex_gradient("silu", input)
    return SILU(input)


@elementary.Shared
def _tanh_of_softplus(x: Any, *operands: Any) -> Any:
    e = elementary.exp_in_loop(x, *operands)
    return elementary.tanh_in_loop(elementary.log1p_in_loop(e, *operands), *operands)


def _mish_gradient(grad: Any, x: Any) -> Any:
    t = _tanh_of_softplus.again(x, grad, x)
    return grad * elementary.fused(x * logistic(x, grad, x), elementary.fused(-t, t, 1), t)


def _mish_rule(xp: Any, grad: Any, input: Any) -> Any:
    if type(input) is not Tensor:
        return as_kernel(_mish_gradient(grad, input), grad, input)
    if (made := rounded_once(_mish_gradient, grad, input)) is not None:
        return made
    t = xp.tanh(xp.log1p(xp.exp(input)))
    return grad * (t + input * xp.call(SIGMOID, input) * scalars.from_number(xp, 1, t * t))


MISH = Pointwise(
    "MishBackward0",
    lambda x: x * _tanh_of_softplus.first(x, x),
    "input",
    input=Rule(_mish_rule, "grad * (tanh(F.softplus(input)) + input * sigmoid(input) * (1 - tanh(F.softplus(input))**2))"),
)


def _softplus(x: Any, beta: float, threshold: float) -> Any:
    scaled = x if beta == 1 else x * beta
    soft = elementary.log1p_in_loop(_exp.first(scaled, x), x)
    return blocks.where(scaled > threshold, x, soft if beta == 1 else soft / beta)


def _softplus_back(grad: Any, x: Any, beta: float, threshold: float) -> Any:
    scaled = x if beta == 1 else x * beta
    z = _exp.again(scaled, grad, x)
    return blocks.where(scaled > threshold, grad, grad * z / (z + 1))  # nan where z is infinite, as in PyTorch


def _softplus_second(xp: Any, grad: Any, grad_output: Any, input: Any, beta: float, threshold: float) -> Any:
    scaled = input * beta
    near = np.less(xp.plain(scaled), threshold).astype(xp.plain(input).dtype)
    bent = xp.call(SIGMOID_BACKWARD, grad * grad_output, xp.call(SIGMOID, scaled))
    return scalars.times(xp, scalars.times_data(xp, bent, near), beta)


_, SOFTPLUS = activation(
    "Softplus",
    _softplus,
    _softplus_back,
    "beta threshold",
    formula="where(input * beta > threshold, grad, grad * sigmoid(input * beta))",
    note="linear beyond threshold",
    second=Rule(
        _softplus_second,
        "s = sigmoid(input * beta); grad * grad_output * beta * s * (1 - s) * (input * beta < threshold)",
        "0 beyond threshold",
    ),
)


def log_sigmoid(x: Any, exp: Any = elementary.exp_in_lanes) -> Any:
    """The logarithm of the logistic function of an array, which vector code computes."""
    return np.minimum(x, 0) - elementary.log1p(exp(-np.abs(x)))


def _logsigmoid_gradient(grad: Any, x: Any, dtype: DType = dtypes.float32) -> Any:
    e = _exp_in_lanes.again(-np.abs(x))
    if dtype.itemsize == 2:  # PyTorch's forward pass keeps it in the dtype of the input
        e = dtypes.stored(e, dtype)
    s = e / (1 + e)
    return grad * blocks.where(np.less(x, 0), 1 - s, s)


def _logsigmoid_second(xp: Any, grad: Any, grad_output: Any, input: Any) -> Any:
    s = xp.call(SIGMOID, input)
    return grad * grad_output * (scalars.minus(xp, s, 1) * s)


_, LOG_SIGMOID = activation(
    "LogSigmoid",
    lambda x: log_sigmoid(x, _exp_in_lanes.first),
    _logsigmoid_gradient,
    formula="grad * sigmoid(-input)",
    layout="contiguous",
    gradient_layout="preserved",
    saved=("buffer=? self", "buffer=? grad_output self"),
    in_half=(None, lambda dtype, grad, x: _logsigmoid_gradient(half_to_single(grad), half_to_single(x), dtype).astype(dtype.np)),
    computed={"buffer": lambda x: np.asarray(elementary.exp_in_lanes(-np.abs(x)))},
    second=Rule(_logsigmoid_second, "grad * grad_output * (sigmoid(input) - 1) * sigmoid(input)"),
)
mish = checked(MISH, require_floating, "mish_cpu")
logsigmoid = checked(LOG_SIGMOID, require_floating, "log_sigmoid_cpu")


def softplus(input: Tensor, beta: Number = 1, threshold: Number = 20) -> Tensor:
    """`log(1 + exp(beta * input)) / beta`; `input` itself where `beta * input` is beyond the threshold."""
    require_floating("softplus_cpu", input.dtype)
    return SOFTPLUS(input, beta, threshold)


def softsign(input: Tensor) -> Tensor:
    """`input / (1 + abs(input))`."""
    return div(input, add(absolute(input), 1))


def tanhshrink(input: Tensor) -> Tensor:
    """`input - tanh(input)`."""
    return sub(input, TANH(input))


# --- the functions ---

_X = [0.5, -1.5, 2.0, 4.5]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + elementary.exp(-x))


def _check_gaps(out: Tensor, result: Tensor) -> None:
    """Raise RuntimeError for an `out` that is not contiguous, where the library that PyTorch calls writes elsewhere."""
    if out.array.shape == result.array.shape and not out.array.flags.c_contiguous:
        raise runtime_error("gelu into an out that is not contiguous is not part of gradcli")


_LOG_SIGMOID_OUT = Out(
    "expected scalar type {result} but found {out}",
    operator="log_sigmoid_forward",
    kernel_first=True,
    memory="own",
    overlap="partial",
    row_major="always",
    silent=True,
)

FUNCTIONS = (
    functional(
        "silu",
        "Tensor input",
        silu,
        "input * sigmoid(input).",
        SILU,
        Sample("F.silu(x)", lambda x: x * _sigmoid(x), x=_X),
        write=writing(silu),
    ),
    functional(
        "mish",
        "Tensor input",
        mish,
        "input * tanh(softplus(input)).",
        MISH,
        Sample("F.mish(x)", lambda x: x * np.tanh(np.log1p(np.exp(x))), x=_X),
        write=writing(mish),
    ),
    functional(
        "gelu",
        "Tensor input, *, str approximate='none'",
        gelu,
        "input times the normal distribution function at input; approximate='tanh' for the usual approximation.",
        GELU,
        Sample("F.gelu(x)", None, x=_X),
        Sample(
            "F.gelu(x, approximate='tanh')", lambda x: 0.5 * x * (1 + elementary.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), x=_X
        ),
        python="",
        out=Out(SAME, first=True, check=_check_gaps),
    ),
    functional(
        "softplus",
        "Tensor input, Number beta=1, Number threshold=20",
        softplus,
        "log(1 + exp(beta * input)) / beta.",
        SOFTPLUS,
        Sample("F.softplus(x, 2)", lambda x: np.log1p(np.exp(2 * x)) / 2, x=_X),
        python="",
        out=Out(SAME),
    ),
    functional(
        "logsigmoid",
        "Tensor input",
        logsigmoid,
        "log(sigmoid(input)), without overflow.",
        LOG_SIGMOID,
        Sample("F.logsigmoid(x)", lambda x: np.log(_sigmoid(x)), x=_X),
        python="",
        out=_LOG_SIGMOID_OUT,
        parsed_as="log_sigmoid",
    ),
    functional(
        "softsign",
        "Tensor input",
        softsign,
        "input / (1 + abs(input)).",
        None,
        Sample("F.softsign(x)", lambda x: x / (1 + np.abs(x)), x=_X),
        calls="abs",
    ),
    functional(
        "tanhshrink",
        "Tensor input",
        tanhshrink,
        "input - tanh(input).",
        None,
        Sample("F.tanhshrink(x)", lambda x: x - np.tanh(x), x=_X),
        calls="tanh",
    ),
    functional("tanh", "Tensor input", lambda x: TANH(x), "Hyperbolic tangent.", TANH, Sample("F.tanh(x)", np.tanh, x=_X), calls="tanh"),
    functional(
        "sigmoid",
        "Tensor input",
        lambda x: SIGMOID(x),
        "1 / (1 + exp(-input)).",
        SIGMOID,
        Sample("F.sigmoid(x)", _sigmoid, x=_X),
        calls="sigmoid",
    ),
)
