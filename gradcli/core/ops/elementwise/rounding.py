"""Rounding, signs and absolute values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule, no_derivative
from gradcli.core.ops import checks
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.where import MASKED_FILL
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError

_FLAT = "piecewise constant: 0 everywhere, at the steps too"


def _zero(note: str = _FLAT) -> Rule:
    return Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad", note)


def _of_floats(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Integers are their own floor, ceiling, ..."""
    return lambda x, *more: forward(x, *more) if x.dtype.kind == "f" else x.copy()


def _round_to(x: Any, decimals: int) -> Any:
    if decimals == 0:
        return np.rint(x)
    scale = x.dtype.type(10.0 ** abs(decimals))
    return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale


FLOOR = Pointwise("FloorBackward0", _of_floats(np.floor), "input", input=_zero())
CEIL = Pointwise("CeilBackward0", _of_floats(np.ceil), "input", input=_zero())
ROUND = Pointwise("RoundBackward0", _of_floats(np.rint), "input", input=_zero())
ROUND_DECIMALS = Pointwise("RoundBackward1", _of_floats(_round_to), "input", "decimals", input=_zero())
TRUNC = Pointwise("TruncBackward0", _of_floats(np.trunc), "input", input=_zero())
FRAC = Pointwise("FracBackward0", lambda x: x - np.trunc(x), "input", input=Rule(lambda grad: grad, "grad", "1 at the steps too"))


def _sign(x: Any) -> Any:
    """-1, 0 or 1; 0 for nan, which is neither above nor below 0."""
    if x.dtype == bool:
        return x.copy()
    return np.asarray(np.greater(x, 0), x.dtype) - np.asarray(np.less(x, 0), x.dtype)


SIGN = Pointwise("SignBackward0", _sign, "input", input=_zero("0 everywhere, at 0 too"))
SGN = Pointwise("SgnBackward0", _sign, "input", input=_zero("0 everywhere, at 0 too"))
ABS = Pointwise(
    "AbsBackward0", np.abs, "input", input=Rule(lambda xp, grad, input: grad * xp.call(SGN, input), "grad * sgn(input)", "0 at 0")
)


def _copysign_rule(xp: Any, grad: Any, input: Any, out: Any) -> Any:
    return grad * xp.call(MASKED_FILL, out / input, np.equal(xp.plain(input), 0), 0)


COPYSIGN = Pointwise(
    "CopysignBackward0",
    np.copysign,
    "input other",
    kind="float",
    input=Rule(_copysign_rule, "where(input == 0, 0 * grad, grad * out / input)", "0 where input is 0"),
    other=Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad"),
)
COPYSIGN_NUMBER = Pointwise(
    "CopysignBackward1",
    np.copysign,
    "input",
    "other",
    kind="float",
    input=Rule(_copysign_rule, "where(input == 0, 0 * grad, grad * out / input)", "0 where input is 0"),
)


def _replace(x: Any, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    if x.dtype.kind != "f":
        return x.copy()
    info = np.finfo(x.dtype)
    x = np.where(np.isnan(x), x.dtype.type(nan or 0.0), x)
    x = np.where(np.isposinf(x), x.dtype.type(info.max if posinf is None else posinf), x)
    return np.where(np.isneginf(x), x.dtype.type(info.min if neginf is None else neginf), x)


NAN_TO_NUM = Pointwise(
    "NanToNumBackward0",
    _replace,
    "input",
    "nan posinf neginf",
    input=Rule(
        lambda xp, grad, input: scalars.times_data(xp, grad, np.isfinite(xp.plain(input))),
        "grad * isfinite(input)",
        "0 where input is replaced",
    ),
)


def _heaviside_derivative() -> Any:
    raise no_derivative("aten::heaviside")


HEAVISIDE = Pointwise(
    "NotImplemented",
    lambda x, value: np.asarray(np.where(np.equal(x, 0), value, np.greater(x, 0))).astype(np.result_type(x, value)),
    "input values",
    full_name="torch::autograd::NotImplemented",
    input=Rule(lambda grad: _heaviside_derivative(), ""),
    values=Rule(lambda grad: _heaviside_derivative(), ""),
)


def heaviside(input: Tensor, values: Tensor) -> Any:
    """0 below 0, 1 above, `values` at 0; both of one dtype."""
    if input.dtype is not values.dtype:
        raise ProgramError("RuntimeError", "heaviside is not yet implemented for tensors with different dtypes.")
    return HEAVISIDE(input, values)


def signbit(input: Tensor) -> Tensor:
    """True where the sign is minus, that of -0.0 included."""
    x = input.array
    return wrap(np.asarray(np.signbit(x) if x.dtype.kind == "f" else np.less(x, 0)))


def _refusing_bool(op: Pointwise, kernel: str) -> Callable[..., Any]:
    def run(input: Tensor, *more: Any) -> Any:
        if input.dtype is dtypes.bool_:
            raise checks.not_implemented(kernel, input.dtype)
        return op(input, *more)

    return run


absolute = _refusing_bool(ABS, "abs_cpu")


def _frac(input: Tensor) -> Any:
    if not input.dtype.is_floating_point:
        raise checks.not_implemented("frac_cpu", input.dtype)
    return FRAC(input)


def _round_decimals(input: Tensor, decimals: int) -> Any:
    if not input.dtype.is_floating_point:
        raise checks.not_implemented("round_cpu" if decimals else "round_vml_cpu", input.dtype)
    return ROUND_DECIMALS(input, decimals)


_X = [0.4, -1.3, 2.7]


def _simple(
    name: str, op: Pointwise, doc: str, reference: Any, aliases: Sequence[str] = (), run: Callable[..., Any] | None = None
) -> Function:
    return Function(
        name,
        ("Tensor input", run or (lambda x: op(x))),
        doc=doc,
        ops=(op,),
        samples=(Sample(f"{name}(x)", reference, x=_X), Sample(f"x.{name}()", reference, x=0.4)),
        inplace=True,
        out=True,
        aliases=aliases,
    )


FUNCTIONS = (
    _simple("floor", FLOOR, "The next integer below.", np.floor, run=_refusing_bool(FLOOR, "floor_vml_cpu")),
    _simple("ceil", CEIL, "The next integer above.", np.ceil, run=_refusing_bool(CEIL, "ceil_vml_cpu")),
    _simple("trunc", TRUNC, "The integer part.", np.trunc, ("fix",), _refusing_bool(TRUNC, "trunc_vml_cpu")),
    _simple("frac", FRAC, "The part after the decimal point.", lambda x: x - np.trunc(x), run=_frac),
    Function(
        "round",
        ("Tensor input", _refusing_bool(ROUND, "round_vml_cpu")),
        ("Tensor input, *, int decimals", _round_decimals),
        doc="The nearest integer, ties to even; or rounded to a number of decimals.",
        ops=(ROUND, ROUND_DECIMALS),
        samples=(
            Sample("torch.round(x)", np.round, x=_X),
            Sample("x.round()", np.round, x=0.4),
            Sample("x.round(decimals=1)", lambda x: np.round(x, 1), x=[0.44, -1.38]),
        ),
        inplace=True,
        out=True,
        aliases=("special.round",),
    ),
    _simple("sign", SIGN, "-1, 0 or 1.", np.sign),
    _simple("sgn", SGN, "-1, 0 or 1.", np.sign),
    _simple("abs", ABS, "The absolute value.", np.abs, ("absolute",), absolute),
    Function("signbit", ("Tensor input", signbit), doc="Whether the sign is minus.", out=True),
    Function(
        "copysign",
        ("Tensor input, Tensor other", lambda x, y: COPYSIGN(x, y)),
        ("Tensor input, Number other", lambda x, y: COPYSIGN_NUMBER(x, y)),
        doc="The size of input with the sign of other.",
        ops=(COPYSIGN, COPYSIGN_NUMBER),
        samples=(
            Sample("copysign(x, y)", np.copysign, x=_X, y=[1.0, 2.0, -3.0]),
            Sample("x.copysign(-2)", lambda x: np.copysign(x, -2), x=_X),
        ),
        inplace=True,
        out=True,
    ),
    Function(
        "nan_to_num",
        (
            "Tensor input, float? nan=None, float? posinf=None, float? neginf=None",
            lambda x, nan, posinf, neginf: NAN_TO_NUM(x, nan, posinf, neginf),
        ),
        doc="nan as 0 (or nan), infinities as the largest numbers (or posinf, neginf).",
        ops=(NAN_TO_NUM,),
        samples=(Sample("nan_to_num(x)", np.nan_to_num, x=_X),),
        inplace=True,
        out=True,
    ),
    Function(
        "heaviside",
        ("Tensor input, Tensor values", heaviside),
        doc="0 below 0, 1 above 0, values at 0.",
        ops=(HEAVISIDE,),
        samples=(Sample("heaviside(tensor([-1., 0., 2.]), tensor(0.5))"),),
        inplace=True,
        out=True,
    ),
)
