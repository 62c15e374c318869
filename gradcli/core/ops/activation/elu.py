"""Activations that are exponential for negative input: elu, selu, celu."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.namespaces import in_single
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import blocks, elementary
from gradcli.core.ops.activation.functional import activation, functional, inplace_functions, nan_in_vectors, writing
from gradcli.core.ops.activation.leaky import check_slope
from gradcli.core.ops.checks import checked, require_floating
from gradcli.core.ops.elementwise import scalars
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error


def _elu(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    below = elementary.expm1_in_loop(_times(np.minimum(x, 0), input_scale), x)
    return blocks.where(np.less(x, 0), _times(below, _factor(x, alpha, scale)), _times(x, scale))


def _times(x: Any, factor: float) -> Any:
    """The product, which is `x` itself where the factor is 1."""
    return x if factor == 1 else x * factor


def _factor(x: Any, alpha: float, scale: float) -> Any:
    """The factor of the exponential branch, a product of numbers in the dtype of the array."""
    kind = x.dtype.type
    return kind(alpha) * kind(scale)


def _elu_gradient(grad: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    slope = _times(_times(grad, float(input_scale)), _factor(x, alpha, scale)) * elementary.exp_in_loop(_times(x, input_scale), grad, x)
    return blocks.where(_below(grad, x), slope, _times(grad, scale))


def _below(grad: Any, x: Any) -> Any:
    """Where the gradient is that of the exponential branch: at 0, below, and in vector code at nan."""
    return np.less_equal(x, 0) | nan_in_vectors(x, 128, grad)


def _elu_second(xp: Any, grad: Any, grad_output: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    curve = xp.call(ELU_BACKWARD, scalars.times(xp, grad * grad_output, input_scale), input, alpha, scale, input_scale)
    x = xp.plain(input)
    return scalars.times_data(xp, curve, np.less(x, 0).astype(x.dtype))


_AT_0 = "that of the exponential branch at 0"
ELU_BACKWARD, ELU = activation(
    "Elu",
    _elu,
    _elu_gradient,
    "alpha scale input_scale",
    formula="where(input <= 0, grad * input_scale * alpha * scale * exp(input * input_scale), grad * scale)",
    note=_AT_0,
    saved=(None, "grad_output self_or_result=input alpha input_scale is_result=False scale"),
    second=Rule(_elu_second, "grad * grad_output * input_scale**2 * alpha * scale * exp(input * input_scale) * (input < 0)"),
)
CELU = Pointwise(
    "CeluBackward0",
    lambda x, alpha: _elu(x, alpha, 1, 1 / alpha),
    "input",
    "alpha",
    input=Rule(
        lambda xp, grad, input, alpha: xp.call(ELU_BACKWARD, grad, input, alpha, 1, 1 / alpha),
        "where(input <= 0, grad * exp(input / alpha), grad)",
        _AT_0,
    ),
)


def _elu_result_gradient(grad: Any, out: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return blocks.where(_below(grad, out), grad * input_scale * (out + _factor(out, alpha, scale)), grad * scale)


def _elu_result_second(xp: Any, grad: Any, grad_output: Any, out: Any, input_scale: float) -> Any:
    x = xp.plain(out)
    return scalars.times_data(xp, scalars.times(xp, grad * grad_output, input_scale), np.less(x, 0).astype(x.dtype))


def _elu_result_rule(xp: Any, grad: Any, out: Any, alpha: float, scale: float, input_scale: float) -> Any:
    check_slope("elu", "", alpha)
    return xp.call(ELU_RESULT_BACKWARD, grad, out, alpha, scale, input_scale)


_FROM_RESULT = "where(result <= 0, grad * input_scale * (result + alpha * scale), grad * scale)"
ELU_RESULT_BACKWARD: Op = Op(
    "EluBackwardBackward0",
    in_single(_elu_result_gradient),
    "grad_output result",
    "alpha scale input_scale",
    layout="iterated",
    jvp="backward",
    saved="grad_output self_or_result=result alpha input_scale is_result=True scale",
    grad_output=Rule(
        lambda xp, grad, result, alpha, scale, input_scale: xp.call(ELU_RESULT_BACKWARD, grad, result, alpha, scale, input_scale),
        _FROM_RESULT,
    ),
    result=Rule(
        lambda xp, grad, grad_output, result, input_scale: _elu_result_second(xp, grad, grad_output, result, input_scale),
        "grad * grad_output * input_scale * (result < 0)",
    ),
)
ELU_INPLACE = Pointwise(
    "EluBackward1",
    _elu,
    "input",
    "alpha scale input_scale",
    input=Rule(_elu_result_rule, "where(out <= 0, grad * input_scale * (out + alpha * scale), grad * scale)", _AT_0),
)
CELU_INPLACE = Pointwise(
    "CeluBackward1",
    CELU.forward,
    "input",
    "alpha",
    input=Rule(
        lambda xp, grad, out, alpha: _elu_result_rule(xp, grad, out, alpha, 1, 1 / alpha),
        "where(out <= 0, grad * (out + alpha) / alpha, grad)",
        _AT_0,
    ),
)
#: Klambauer et al., Self-Normalizing Neural Networks (2017)
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`input` where it is positive, `alpha * (exp(input) - 1)` elsewhere."""
    require_floating("elu_cpu", input.dtype)
    return ELU(input, alpha, 1, 1)


def selu(input: Tensor) -> Tensor:
    """elu with the constants of self-normalising networks."""
    require_floating("elu_cpu", input.dtype)
    return ELU(input, _SELU_ALPHA, _SELU_SCALE, 1)


def celu(input: Tensor, alpha: float = 1.0, op: Op = CELU) -> Tensor:
    """`input` where it is positive, `alpha * (exp(input / alpha) - 1)` elsewhere."""
    if alpha == 0:
        raise runtime_error("ZeroDivisionError: alpha cannot be 0 for CELU")
    require_floating("elu_cpu", input.dtype)
    return op(input, alpha)  # type: ignore[no-any-return]


_elu_inplace = checked(ELU_INPLACE, require_floating, "elu_cpu")
_write_elu = writing(lambda x, alpha, scale=1, input_scale=1: _elu_inplace(x, alpha, scale, input_scale))
_write_selu = writing(lambda x: _elu_inplace(x, _SELU_ALPHA, _SELU_SCALE, 1))
_write_celu = writing(lambda x, alpha: celu(x, alpha, CELU_INPLACE))
_X = [0.5, -1.5, 2.0, 4.5]
_BOTH = ("torch", "torch.nn.functional")

FUNCTIONS = (
    functional(
        "elu",
        "Tensor input, Number alpha=1.0",
        elu,
        "input where positive, alpha * (exp(input) - 1) elsewhere.",
        ELU,
        Sample("F.elu(x, 0.7)", lambda x: np.where(x > 0, x, 0.7 * np.expm1(x)), x=_X),
        write=_write_elu,
    ),
    *inplace_functions("elu", "Tensor input, Number alpha=1, Number scale=1, Number input_scale=1", _write_elu, ELU_INPLACE),
    Function(
        "selu",
        ("Tensor input", selu),
        doc="elu with the constants of self-normalising networks.",
        ops=(ELU,),
        samples=(Sample("torch.selu(x)", None, x=_X),),
        method=False,
    ),
    functional(
        "selu",
        "Tensor input",
        selu,
        "elu with the constants of self-normalising networks.",
        ELU,
        Sample("F.selu(x)", None, x=_X),
        write=_write_selu,
    ),
    *inplace_functions("selu", "Tensor input", _write_selu, ELU_INPLACE, _BOTH),
    Function(
        "celu",
        ("Tensor input, Number alpha=1.0", celu),
        doc="input where positive, an exponential elsewhere.",
        ops=(CELU,),
        samples=(Sample("torch.celu(x)", None, x=_X),),
        method=False,
    ),
    functional(
        "celu",
        "Tensor input, Number alpha=1.0",
        celu,
        "input where positive, alpha * (exp(input / alpha) - 1) elsewhere.",
        CELU,
        Sample("F.celu(x, 2.)", lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2)), x=_X),
        write=_write_celu,
    ),
    *inplace_functions("celu", "Tensor input, Number alpha=1.0", _write_celu, CELU_INPLACE, _BOTH),
)
