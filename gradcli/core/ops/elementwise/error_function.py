"""Shares of the gamma and the normal distribution, exp(x^2) erfc(x), and Hurwitz's zeta function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule
from gradcli.core.kernels.special import incomplete_gamma, normal, zeta
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.elementwise.gamma import LGAMMA
from gradcli.core.ops.elementwise.special_common import SpecialFunction, refuse_low
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError


def _refused(name: str) -> Rule:
    """A derivative that PyTorch has not."""

    def refuse(grad: Any) -> Any:
        raise ProgramError("NotImplementedError", f"the derivative for '{name}' is not implemented.")

    return Rule(refuse, "")


# --- the incomplete gamma functions ---


def _in_single(compute: Callable[[Any, Any], Array]) -> Callable[[Any, Any], Array]:
    """Half precision is computed in single precision."""

    def run(a: Any, x: Any) -> Array:
        a, x = np.asarray(a), np.asarray(x)
        low = a.dtype == np.float16
        return compute(a.astype(np.float32), x.astype(np.float32)).astype(np.float16) if low else compute(a, x)

    return run


def _density(xp: Any, a: Any, x: Any) -> Any:
    return xp.exp((a - 1) * xp.log(x) - x - xp.call(LGAMMA, a))


_DENSITY = "exp((input - 1) * log(other) - other - lgamma(input))"
IGAMMA = Pointwise(
    "IgammaBackward0",
    _in_single(incomplete_gamma.lower),
    "input other",
    input=_refused("igamma: input"),
    other=Rule(lambda xp, grad, input, other: grad * _density(xp, input, other), f"grad * {_DENSITY}"),
)
IGAMMAC = Pointwise(
    "IgammacBackward0",
    _in_single(incomplete_gamma.upper),
    "input other",
    input=_refused("igammac: input"),
    other=Rule(lambda xp, grad, input, other: -grad * _density(xp, input, other), f"-grad * {_DENSITY}"),
)


def _igamma(op: Pointwise, name: str) -> Callable[[Tensor, Tensor], Any]:
    def run(input: Tensor, other: Tensor) -> Any:
        dtype = dtypes.result_type((input, other))
        if not dtype.is_floating_point:
            raise not_implemented(f"{name}_cpu", dtype)
        return op(input, other)

    return run


# --- the normal distribution ---


def _whole(compute: Callable[[Array], Array]) -> Callable[[Any], Array]:
    return lambda x: compute(np.asarray(x))


ERFCX: Pointwise = Pointwise(
    "SpecialErfcxBackward0",
    _whole(normal.erfcx),
    "input",
    kind="float",
    input=Rule(
        lambda xp, grad, input, out: (2.0 * input * out - 2.0 / math.sqrt(math.pi)) * grad,
        "(2 * input * out - 2 / math.pi**0.5) * grad",
    ),
)
LOG_NDTR = Pointwise(
    "SpecialLogNdtrBackward0",
    _whole(normal.log_ndtr),
    "input",
    kind="float",
    input=Rule(
        lambda xp, grad, input, out: grad / math.sqrt(2 * math.pi) * xp.exp(-(out + input * input / 2)),
        "grad / (2 * math.pi)**0.5 * exp(-(out + input**2 / 2))",
    ),
)
NDTRI = Pointwise(
    "SpecialNdtriBackward0",
    _whole(normal.ndtri),
    "input",
    kind="float",
    input=Rule(
        lambda xp, grad, out: grad * math.sqrt(2 * math.pi) * xp.exp(out * out / 2),
        "grad * (2 * math.pi)**0.5 * exp(out**2 / 2)",
    ),
)


# --- Hurwitz's zeta function ---


def _zeta(s: Any, q: Any) -> Array:
    s, q = np.asarray(s), np.asarray(q)
    return zeta.zeta(s, q).astype(q.dtype if s.ndim < q.ndim else s.dtype)


_ZETA = "grad * -input * torch.special.zeta(input + 1, other)"


def _zeta_rule(xp: Any, grad: Any, input: Any, other: Any) -> Any:
    return grad * -input * xp.call(ZETA, input + 1.0, other)


ZETA: Pointwise = Pointwise(
    "SpecialZetaBackward0", _zeta, "input other", kind="float", input=_refused("zeta"), other=Rule(_zeta_rule, _ZETA)
)
NUMBER_ZETA = Pointwise("SpecialZetaBackward1", _zeta, "input other", kind="float", input=None, other=Rule(_zeta_rule, _ZETA))
ZETA_NUMBER = Pointwise("SpecialZetaBackward2", _zeta, "input other", kind="float", input=_refused("zeta"), other=None)


def _zeta_of(op: Pointwise) -> Callable[[Any, Any], Any]:
    def run(input: Any, other: Any) -> Any:
        refuse_low("zeta_cpu", input, other)
        return op(input, other)

    return run


_X = [0.5, -1.5, 2.0]
_A = "tensor(2.5, dtype=torch.float64)"


def _one(name: str, op: Pointwise, doc: str, reference: Any, x: Any) -> Function:
    def run(input: Tensor) -> Any:
        refuse_low(f"{name}_cpu", input)
        return op(input)

    samples = (Sample(f"torch.special.{name}(x)", reference, x=x),)
    return SpecialFunction(name, ("Tensor input", run), doc=doc, ops=(op,), samples=samples)


FUNCTIONS = (
    Function(
        "igamma",
        ("Tensor input, Tensor other", _igamma(IGAMMA, "igamma")),
        doc="The regularised lower incomplete gamma function P(input, other).",
        ops=(IGAMMA,),
        samples=(Sample(f"igamma({_A}, x)", None, x=[0.5, 3.0, 9.0]),),
        inplace=True,
        out=True,
        aliases=("special.gammainc",),
    ),
    Function(
        "igammac",
        ("Tensor input, Tensor other", _igamma(IGAMMAC, "igammac")),
        doc="The regularised upper incomplete gamma function, 1 - P(input, other).",
        ops=(IGAMMAC,),
        samples=(Sample(f"igammac({_A}, x)", None, x=[0.5, 3.0, 9.0]),),
        inplace=True,
        out=True,
        aliases=("special.gammaincc",),
    ),
    _one("erfcx", ERFCX, "exp(input**2) * erfc(input).", np.vectorize(lambda v: math.exp(v * v) * math.erfc(v)), _X),
    _one("log_ndtr", LOG_NDTR, "The logarithm of ndtr.", np.vectorize(lambda v: math.log(0.5 * math.erfc(-v / math.sqrt(2)))), _X),
    _one("ndtri", NDTRI, "The inverse of ndtr.", None, [0.02, 0.4, 0.9]),
    SpecialFunction(
        "zeta",
        ("Tensor input, Tensor other", _zeta_of(ZETA)),
        ("Number self, Tensor other", _zeta_of(NUMBER_ZETA)),
        ("Tensor input, Number other", _zeta_of(ZETA_NUMBER)),
        doc="Hurwitz's zeta function: the sum of (other + k)**-input for k = 0, 1, and so on.",
        ops=(ZETA, NUMBER_ZETA, ZETA_NUMBER),
        samples=(
            Sample("torch.special.zeta(tensor(3.5, dtype=torch.float64), x)", None, x=[0.5, 3.0]),
            Sample("torch.special.zeta(2., x)", None, x=[0.5, 3.0]),
            Sample("torch.special.zeta(tensor([2., 3.5]), 1.)"),
        ),
    ),
)
