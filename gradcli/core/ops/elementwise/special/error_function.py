"""The error function and the normal distribution: erf, erfc, erfinv, erfcx, ndtr, log_ndtr, ndtri."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule
from gradcli.core.kernels.special import erf, normal
from gradcli.core.ops.checks import checked, refuse_half
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import add
from gradcli.core.ops.elementwise.power import POW_SCALAR
from gradcli.core.ops.elementwise.special.special_function import SpecialFunction, special_unary
from gradcli.core.ops.elementwise.unary import at_once, floating, unary
from gradcli.core.tensor.tensor import Tensor

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


def _bell(xp: Any, x: Any, scale: float) -> Any:
    """`scale * exp(-x**2)`."""
    return scalars.times(xp, xp.exp(-(xp.call(POW_SCALAR, x, 2))), scale)


ERF = Pointwise(
    "ErfBackward0",
    erf.erf,
    "input",
    kind="float",
    in_half=lambda dtype, x: erf.erf_in_half(x),
    input=Rule(lambda xp, grad, input: _bell(xp, input, _TWO_OVER_ROOT_PI) * grad, "2 / math.pi**0.5 * exp(-input**2) * grad"),
)
ERFC = floating(
    "ErfcBackward0",
    erf.erfc,
    Rule(lambda xp, grad, input: _bell(xp, input, -_TWO_OVER_ROOT_PI) * grad, "-2 / math.pi**0.5 * exp(-input**2) * grad"),
)
ERFINV: Pointwise = floating(
    "ErfinvBackward0",
    erf.erfinv,
    Rule(
        lambda xp, grad, input: scalars.times(xp, xp.exp(xp.call(POW_SCALAR, xp.call(ERFINV, input), 2)), 1 / _TWO_OVER_ROOT_PI) * grad,
        "0.5 * math.pi**0.5 * exp(erfinv(input)**2) * grad",
    ),
)
ERFCX = floating(
    "SpecialErfcxBackward0",
    at_once(normal.erfcx),
    Rule(lambda xp, grad, input, out: (2.0 * input * out - 2.0 / math.sqrt(math.pi)) * grad, "(2 * input * out - 2 / math.pi**0.5) * grad"),
)
LOG_NDTR = floating(
    "SpecialLogNdtrBackward0",
    at_once(normal.log_ndtr),
    Rule(
        lambda xp, grad, input, out: grad / math.sqrt(2 * math.pi) * xp.exp(-(out + input * input / 2)),
        "grad / (2 * math.pi)**0.5 * exp(-(out + input**2 / 2))",
    ),
)
NDTRI = floating(
    "SpecialNdtriBackward0",
    at_once(normal.ndtri),
    Rule(lambda xp, grad, out: grad * math.sqrt(2 * math.pi) * xp.exp(out * out / 2), "grad * (2 * math.pi)**0.5 * exp(out**2 / 2)"),
)


def ndtr(input: Tensor) -> Tensor:
    """The share of a standard normal distribution below `input`."""
    if not input.dtype.is_floating_point:
        input = add(input, 0.0)
    wide = ERF(scalars.times(traced, input, math.sqrt(0.5)))
    return scalars.times(traced, scalars.plus(traced, wide, 1), 0.5)  # type: ignore[no-any-return]


_X = [0.5, -1.5, 2.0]


def _normal(name: str, op: Pointwise, doc: str, reference: Callable[..., Any] | None, x: Sequence[float] = _X) -> Function:
    return special_unary(name, op, doc, reference, x, checked(op, refuse_half, f"{name}_cpu"))


def _ndtr(v: float) -> float:
    return 0.5 * math.erfc(-v / math.sqrt(2))


FUNCTIONS = (
    unary("erf", ERF, "Error function.", np.vectorize(math.erf, otypes=[float]), aliases=("special.erf",)),
    unary("erfc", ERFC, "1 - erf(input).", np.vectorize(math.erfc, otypes=[float]), aliases=("special.erfc",)),
    unary("erfinv", ERFINV, "Inverse of erf.", None, [0.5, -0.25, 0.9], aliases=("special.erfinv",), torch_inplace=()),
    SpecialFunction(
        "ndtr",
        ("Tensor input", ndtr),
        doc="The share of a standard normal distribution below input.",
        samples=(Sample("torch.special.ndtr(x)", np.vectorize(_ndtr), x=[0.5, 1.5, 3.25]),),
        out=Out(autograd="composed"),
    ),
    _normal("erfcx", ERFCX, "exp(input**2) * erfc(input).", np.vectorize(lambda v: math.exp(v * v) * math.erfc(v))),
    _normal("log_ndtr", LOG_NDTR, "The logarithm of ndtr.", np.vectorize(lambda v: math.log(_ndtr(v)))),
    _normal("ndtri", NDTRI, "The inverse of ndtr.", None, [0.02, 0.4, 0.9]),
)
