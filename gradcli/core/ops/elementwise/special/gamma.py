"""The gamma function and its kin: lgamma, digamma, polygamma, mvlgamma, igamma, igammac, zeta."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.pointwise import Pointwise, check_into
from gradcli.core.graph.record import Rule, without_jvp
from gradcli.core.graph.write_checks import check_memory
from gradcli.core.kernels import Array
from gradcli.core.kernels.special import gamma, incomplete_gamma, zeta
from gradcli.core.ops.checks import checked, not_implemented, refuse_half, require_floating
from gradcli.core.ops.elementwise.special.special_function import SpecialFunction
from gradcli.core.ops.elementwise.unary import floating, unary
from gradcli.core.ops.rules import check_no_tangent, refused
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error

LGAMMA = floating("LgammaBackward0", gamma.lgamma, Rule(lambda xp, grad, input: grad * xp.call(DIGAMMA, input), "grad * digamma(input)"))
DIGAMMA: Pointwise = floating(
    "DigammaBackward0", gamma.digamma, Rule(lambda xp, grad, input: grad * xp.call(POLYGAMMA, input, 1), "grad * polygamma(1, input)")
)


def _polygamma(overload: int) -> Pointwise:
    return Pointwise(
        f"PolygammaBackward{overload}",
        gamma.polygamma,
        "input",
        "n",
        kind="float",
        in_half=lambda dtype, x, n: gamma.polygamma(x, n, lambda sums: dtypes.stored(sums, dtype)),
        input=Rule(lambda xp, grad, input, n: grad * xp.call(POLYGAMMA, input, n + 1), "grad * polygamma(n + 1, input)"),
    )


POLYGAMMA: Pointwise = _polygamma(0)
POLYGAMMA_INPLACE = _polygamma(1)
#: the factorial of a higher order overflows double precision
_HIGHEST = 150


def polygamma(n: int, input: Tensor, record: Pointwise = POLYGAMMA) -> Tensor:
    """The n-th derivative of digamma; raises RuntimeError for n below 0 or above 150."""
    if n < 0:
        raise runtime_error("polygamma(n, x) does not support negative n.")
    if n > _HIGHEST:
        raise runtime_error(f"polygamma(n, x) of an order above {_HIGHEST} is not part of gradcli")
    if input.dtype.is_complex:
        raise not_implemented(("digamma", "trigamma")[n] if n < 2 else "polygamma", input.dtype, Code.AFTER_CHECKS)
    return record(input, n)


def _halves(p: int) -> Array:
    """-(p - 1)/2, ..., -1/2, 0."""
    return np.arange(-p / 2 + 0.5, 0.5, 0.5)


def _mvlgamma_rule(xp: Any, grad: Any, input: Any, p: int) -> Any:
    halves = _halves(p).astype(xp.plain(input).dtype)
    shifted = xp.expand_dims(input, -1) + (Tensor(halves, input.dtype) if type(input) is Tensor else halves)
    return grad * xp.sum(xp.call(DIGAMMA, shifted), -1)


def _mvlgamma(step: Callable[[Array], Array]) -> Pointwise:
    """The record; `step` rounds what each step computes to the dtype, as PyTorch's composition of operations does."""

    def forward(x: Any, p: int) -> Any:
        each = step(gamma.lgamma(step(np.asarray(x)[..., None] + _halves(p).astype(x.dtype))))
        return step(each.sum(-1)) + step(x.dtype.type(p * (p - 1) / 4 * math.log(math.pi)))

    return Pointwise(
        "MvlgammaBackward0",
        forward,
        "input",
        "p",
        kind="float",
        layout="contiguous",
        input=Rule(_mvlgamma_rule, "grad * sum([digamma(input - k / 2) for k in range(p)])"),
    )


MVLGAMMA = _mvlgamma(lambda x: x)
_MVLGAMMA_IN_HALF = {
    dtypes.float16: _mvlgamma(lambda x: x.astype(np.float16).astype(np.float32)),
    dtypes.bfloat16: _mvlgamma(dtypes.round_bfloat16),
}


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
    if input.dtype is dtypes.bool_:
        raise runtime_error("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise runtime_error("p has to be greater than or equal to 1")
    limits.check_elements(max(input.array.size, 1) * p, input.array.itemsize)  # an empty tensor has the row of halves all the same
    return _MVLGAMMA_IN_HALF.get(input.dtype, MVLGAMMA)(input, p)


# --- the incomplete gamma functions ---


def _not_derived(what: str) -> Rule:
    return refused(lambda: ProgramError("NotImplementedError", f"the derivative for '{what}' is not implemented."))


def _in_single(compute: Callable[[Any, Any], Array]) -> Callable[[Any, Any], Array]:
    """A forward that computes half precision in single precision."""

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
    jvp=without_jvp("igamma"),
    input=_not_derived("igamma: input"),
    other=Rule(lambda xp, grad, input, other: grad * _density(xp, input, other), f"grad * {_DENSITY}"),
)
IGAMMAC = Pointwise(
    "IgammacBackward0",
    _in_single(incomplete_gamma.upper),
    "input other",
    jvp=without_jvp("igammac"),
    input=_not_derived("igammac: input"),
    other=Rule(lambda xp, grad, input, other: -grad * _density(xp, input, other), f"-grad * {_DENSITY}"),
)


# --- Hurwitz's zeta function ---


def _zeta(s: Any, q: Any) -> Array:
    s, q = np.asarray(s), np.asarray(q)
    return zeta.zeta(s, q).astype(q.dtype if s.ndim < q.ndim else s.dtype)


_ZETA = "grad * -input * torch.special.zeta(input + 1, other)"


def _zeta_rule(xp: Any, grad: Any, input: Any, other: Any) -> Any:
    return grad * -input * xp.call(ZETA, input + 1.0, other)


def _number_zeta_rule(xp: Any, grad: Any, other: Any, self: float) -> Any:
    if type(self) is bool:
        raise runtime_error("torch boolean negative, the `-` operator, is not supported.")
    return grad * -float(self) * xp.call(NUMBER_ZETA, other, self + 1.0)


ZETA: Pointwise = Pointwise(
    "SpecialZetaBackward0", _zeta, "input other", kind="float", input=_not_derived("zeta"), other=Rule(_zeta_rule, _ZETA)
)
NUMBER_ZETA: Pointwise = Pointwise(
    "SpecialZetaBackward1",
    lambda other, self: _zeta(np.asarray(self, np.float64), other),
    "other",
    "self",
    kind="float",
    layout="numbered",
    other=Rule(_number_zeta_rule, "grad * -self * torch.special.zeta(self + 1, other)"),
)
ZETA_NUMBER = Pointwise("SpecialZetaBackward2", _zeta, "input other", kind="float", input=_not_derived("zeta"), other=None)


def _number_zeta(self: float, other: Tensor) -> Tensor:
    refuse_half("zeta_cpu", dtypes.result_type((self, other)))
    return NUMBER_ZETA(other, self)


_A = "tensor(2.5, dtype=torch.float64)"
_X = [0.5, 1.5, 3.25]
_lgamma = np.vectorize(math.lgamma, otypes=[float])


def _derived_backward(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """`run` after the check that no operand has a tangent."""

    def checked_run(*operands: Any) -> Any:
        if name.endswith("_"):
            check_memory(operands[0])
            check_into(operands[0].array, operands[1].array)
        check_no_tangent(name, *operands)
        return run(*operands)

    return checked_run


def _incomplete(name: str, op: Pointwise, doc: str, alias: str) -> Function:
    run = checked(op, require_floating, f"{name}_cpu")
    return Function(
        name,
        ("Tensor input, Tensor other", _derived_backward(name, run)),
        doc=doc,
        ops=(op,),
        samples=(Sample(f"{name}({_A}, x)", None, x=[0.5, 3.0, 9.0]),),
        written=(("Tensor input, Tensor other", _derived_backward(f"{name}_", run)),),
        out=True,
        aliases=(alias,),
    )


FUNCTIONS = (
    unary("lgamma", LGAMMA, "log(abs(gamma(input))).", _lgamma, (-1.5, *_X), aliases=("special.gammaln",), torch_inplace=()),
    unary("digamma", DIGAMMA, "The derivative of lgamma.", None, (-1.5, *_X), aliases=("special.digamma", "special.psi"), torch_inplace=()),
    Function(
        "polygamma",
        ("int n, Tensor input", polygamma),
        doc="The n-th derivative of digamma.",
        ops=(POLYGAMMA,),
        samples=(Sample("polygamma(1, x)", None, x=_X), Sample("torch.special.polygamma(2, x)", None, x=_X)),
        method=False,
        out=True,
        aliases=("special.polygamma",),
    ),
    Function(
        "polygamma",
        ("Tensor input, int n", lambda x, n: polygamma(n, x)),
        doc="The n-th derivative of digamma.",
        ops=(POLYGAMMA,),
        samples=(Sample("x.polygamma(1)", None, x=_X),),
        function=False,
        written=(("Tensor input, int n", lambda x, n: polygamma(n, x, POLYGAMMA_INPLACE)),),
    ),
    Function(
        "mvlgamma",
        ("Tensor input, int p", mvlgamma),
        doc="The logarithm of the multivariate gamma function of dimension p.",
        ops=(MVLGAMMA,),
        samples=(Sample("mvlgamma(x, 2)", lambda x: _lgamma(x) + _lgamma(x - 0.5) + math.log(math.pi) / 2, x=[1.5, 2.25, 4.0]),),
        inplace=True,
        overlap="",
        out=Out(kernel_first=True, lower="mvlgamma: result type {operand} can't be cast to the desired output type {result}"),
        aliases=("special.multigammaln",),
    ),
    _incomplete("igamma", IGAMMA, "The regularised lower incomplete gamma function P(input, other).", "special.gammainc"),
    _incomplete("igammac", IGAMMAC, "The regularised upper incomplete gamma function, 1 - P(input, other).", "special.gammaincc"),
    SpecialFunction(
        "zeta",
        ("Tensor input, Tensor other", _derived_backward("special_zeta", checked(ZETA, refuse_half, "zeta_cpu"))),
        ("Number self, Tensor other", _derived_backward("special_zeta", _number_zeta)),
        ("Tensor input, Number other", _derived_backward("special_zeta", checked(ZETA_NUMBER, refuse_half, "zeta_cpu"))),
        doc="Hurwitz's zeta function: the sum of (other + k)**-input for k = 0, 1, and so on.",
        ops=(ZETA, NUMBER_ZETA, ZETA_NUMBER),
        samples=(
            Sample("torch.special.zeta(tensor(3.5, dtype=torch.float64), x)", None, x=[0.5, 3.0]),
            Sample("torch.special.zeta(2., x)", None, x=[0.5, 3.0]),
            Sample("torch.special.zeta(tensor([2., 3.5]), 1.)"),
        ),
    ),
)
