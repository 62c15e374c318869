"""The gamma function's logarithm and derivatives, entropy, the normal distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import elementary
from gradcli.core.kernels.special import gamma
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.special_common import SpecialFunction
from gradcli.core.ops.elementwise.where import MASKED_FILL
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError

LGAMMA = Pointwise(
    "LgammaBackward0",
    gamma.lgamma,
    "input",
    kind="float",
    input=Rule(lambda xp, grad, input: grad * xp.call(DIGAMMA, input), "grad * digamma(input)"),
)
DIGAMMA: Pointwise = Pointwise(
    "DigammaBackward0",
    gamma.digamma,
    "input",
    kind="float",
    input=Rule(lambda xp, grad, input: grad * xp.call(POLYGAMMA, input, 1), "grad * polygamma(1, input)"),
)
POLYGAMMA: Pointwise = Pointwise(
    "PolygammaBackward0",
    gamma.polygamma,
    "input",
    "n",
    kind="float",
    input=Rule(lambda xp, grad, input, n: grad * xp.call(POLYGAMMA, input, n + 1), "grad * polygamma(n + 1, input)"),
)
#: beyond this order the factorial leaves double precision
_HIGHEST = 150


def polygamma(n: int, input: Tensor) -> Any:
    """The n-th derivative of digamma."""
    if n < 0:
        raise ProgramError("RuntimeError", "polygamma(n, x) does not support negative n.")
    if n > _HIGHEST:
        raise ProgramError("RuntimeError", f"polygamma(n, x) of an order above {_HIGHEST} is not part of gradcli")
    return POLYGAMMA(input, n)


def _halves(p: int, dtype: Any) -> Tensor:
    """0, -1/2, ..., -(p - 1)/2 in ascending order."""
    return wrap(np.arange(-p / 2 + 0.5, 0.5, 0.5).astype(dtype))


def _mvlgamma(x: Any, p: int) -> Any:
    each = gamma.lgamma(x[..., None] + _halves(p, x.dtype).array)
    return each.sum(-1) + x.dtype.type(p * (p - 1) / 4 * math.log(math.pi))


def _mvlgamma_rule(xp: Any, grad: Any, input: Any, p: int) -> Any:
    halves = _halves(p, xp.plain(input).dtype)
    shifted = xp.expand_dims(input, -1) + (halves if type(input) is Tensor else halves.array)
    return grad * xp.sum(xp.call(DIGAMMA, shifted), -1)


MVLGAMMA = Pointwise(
    "MvlgammaBackward0",
    _mvlgamma,
    "input",
    "p",
    kind="float",
    input=Rule(_mvlgamma_rule, "grad * sum([digamma(input - k / 2) for k in range(p)])"),
)


def mvlgamma(input: Tensor, p: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension p."""
    if p < 1:
        raise ProgramError("RuntimeError", "p has to be greater than or equal to 1")
    from gradcli import limits

    limits.check_elements(input.array.size * p, input.array.itemsize)
    return MVLGAMMA(input, p)


def _entropy(x: Any) -> Any:
    inside = -x * elementary.log(np.where(x > 0, x, 1).astype(x.dtype))
    return np.where(x > 0, inside, np.where(x == 0, 0, np.where(np.isnan(x), x, -np.inf))).astype(x.dtype)


ENTR = Pointwise(
    "SpecialEntrBackward0",
    _entropy,
    "input",
    kind="float",
    input=Rule(lambda xp, grad, input: grad * -scalars.plus(xp, xp.log(input), 1), "grad * -(log(input) + 1)"),
)


def _xlog1py(x: Any, y: Any) -> Any:
    return np.where(np.isnan(y), y, np.where(np.equal(x, 0), 0, x * elementary.log1p(y))).astype(x.dtype)


def _xlog1py_rule(xp: Any, grad: Any, input: Any, other: Any) -> Any:
    flat = (xp.plain(input) == 0) & (xp.plain(other) <= -1)
    return xp.call(MASKED_FILL, xp.call(XLOG1PY, grad, other), flat, 0)


XLOG1PY: Pointwise = Pointwise(
    "SpecialXlog1PyBackward0",
    _xlog1py,
    "input other",
    kind="float",
    input=Rule(
        _xlog1py_rule,
        "where((input == 0) & (other <= -1), 0, torch.special.xlog1py(grad, other))",
        "0 where input is 0 and other is not above -1",
    ),
    other=Rule(lambda xp, grad, input, other: grad * input / scalars.plus(xp, other, 1), "grad * input / (other + 1)"),
)


def ndtr(input: Tensor) -> Any:
    """The share of a standard normal distribution below input."""
    if not input.dtype.is_floating_point:
        input = catalog.function("add")(input, 0.0)
    wide = catalog.function("erf")(scalars.times(traced, input, math.sqrt(0.5)))
    return scalars.times(traced, scalars.plus(traced, wide, 1), 0.5)


_X = [0.5, 1.5, 3.25]
_SHARES = [0.5, 0.25, 0.9]


def _plain(name: str, op: Op, doc: str, reference: Any, aliases: tuple[str, ...]) -> Function:
    return Function(
        name,
        ("Tensor input", lambda x: op(x)),
        doc=doc,
        ops=(op,),
        samples=(Sample(f"{name}(x)", reference, x=_X), Sample(f"x.{name}()", reference, x=-1.5)),
        inplace=True,
        out=True,
        aliases=aliases,
    )


def _special(name: str, signature: str, run: Any, op: Op | None, doc: str, *samples: Sample) -> Function:
    ops = () if op is None else (op,)
    return SpecialFunction(name, (signature, run), doc=doc, ops=ops, samples=samples)


_lgamma = np.vectorize(math.lgamma, otypes=[float])

FUNCTIONS = (
    _plain("lgamma", LGAMMA, "log(abs(gamma(input))).", _lgamma, ("special.gammaln",)),
    _plain("digamma", DIGAMMA, "The derivative of lgamma.", None, ("special.digamma", "special.psi")),
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
        inplace=True,
    ),
    Function(
        "mvlgamma",
        ("Tensor input, int p", mvlgamma),
        doc="The logarithm of the multivariate gamma function of dimension p.",
        ops=(MVLGAMMA,),
        samples=(Sample("mvlgamma(x, 2)", lambda x: _lgamma(x) + _lgamma(x - 0.5) + math.log(math.pi) / 2, x=[1.5, 2.25, 4.0]),),
        inplace=True,
        out=True,
        aliases=("special.multigammaln",),
    ),
    _special(
        "entr",
        "Tensor input",
        lambda x: ENTR(x),
        ENTR,
        "-input * log(input), 0 at 0, -inf below.",
        Sample("torch.special.entr(x)", lambda x: -x * np.log(x), x=_SHARES),
    ),
    _special(
        "xlog1py",
        "Tensor input, Tensor other",
        lambda x, y: XLOG1PY(x, y),
        XLOG1PY,
        "input * log1p(other), 0 where input is 0.",
        Sample("torch.special.xlog1py(x, y)", lambda x, y: x * np.log1p(y), x=_X, y=_SHARES),
    ),
    _special(
        "ndtr",
        "Tensor input",
        ndtr,
        None,
        "The share of a standard normal distribution below input.",
        Sample("torch.special.ndtr(x)", lambda x: np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x]), x=_X),
    ),
)
