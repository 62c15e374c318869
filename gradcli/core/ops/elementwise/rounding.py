"""Rounding: floor, ceil, trunc, frac, round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import SAME, Out
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule
from gradcli.core.ops.checks import checked, not_implemented, refuse_bool, require_floating
from gradcli.core.ops.elementwise.special.special_function import SpecialFunction
from gradcli.core.ops.elementwise.unary import unary
from gradcli.core.ops.rules import zero
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor


def _stepwise(grad_fn: str, forward: Callable[..., Any], attrs: str = "") -> Pointwise:
    """The record of a piecewise constant function of floats; integers are returned as they are."""
    return Pointwise(
        f"{grad_fn}Backward{1 if attrs else 0}",
        lambda x, *more: forward(x, *more) if x.dtype.kind == "f" else x.copy(),
        "input",
        attrs,
        saved="",
        input=zero("piecewise constant: 0 everywhere, at the steps too"),
    )


def _round_to(x: Any, decimals: int) -> Any:
    if decimals == 0:
        return np.rint(x)
    scale = x.dtype.type(10.0 ** abs(decimals))
    return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale


FLOOR, CEIL, TRUNC = _stepwise("Floor", np.floor), _stepwise("Ceil", np.ceil), _stepwise("Trunc", np.trunc)
ROUND, ROUND_DECIMALS = _stepwise("Round", np.rint), _stepwise("Round", _round_to, "decimals")
FRAC = Pointwise("FracBackward0", lambda x: x - np.trunc(x), "input", input=Rule(lambda grad: grad, "grad", "1 at the steps too"))


def _round(input: Tensor) -> Tensor:
    if input.dtype is dtypes.bool_ or input.dtype.is_complex:
        raise not_implemented("round_vml_cpu", input.dtype)
    return ROUND(input)


def _round_decimals(input: Tensor, decimals: int) -> Tensor:
    require_floating("round_cpu" if decimals else "round_vml_cpu", input.dtype)
    return ROUND_DECIMALS(input, decimals)


_X = [0.4, -1.3, 2.7]


def _rounding(name: str, op: Pointwise, doc: str, reference: Callable[..., Any], *aliases: str) -> Function:
    return unary(name, op, doc, reference, _X, aliases=aliases, run=checked(op, refuse_bool, f"{name}_vml_cpu"), out=Out(SAME))


FUNCTIONS = (
    _rounding("floor", FLOOR, "The next integer below.", np.floor),
    _rounding("ceil", CEIL, "The next integer above.", np.ceil),
    _rounding("trunc", TRUNC, "The integer part.", np.trunc, "fix"),
    unary(
        "frac",
        FRAC,
        "The part after the decimal point.",
        lambda x: x - np.trunc(x),
        _X,
        run=checked(FRAC, require_floating, "frac_cpu"),
        out=Out(SAME),
    ),
    Function(
        "round",
        ("Tensor input", _round),
        ("Tensor input, *, int decimals", _round_decimals),
        doc="The nearest integer, ties to even; or rounded to a number of decimals.",
        ops=(ROUND, ROUND_DECIMALS),
        samples=(
            Sample("torch.round(x)", np.round, x=_X),
            Sample("x.round()", np.round, x=0.4),
            Sample("x.round(decimals=1)", lambda x: np.round(x, 1), x=[0.44, -1.38]),
        ),
        torch_inplace=("round_",),
        out=Out(SAME),
    ),
    SpecialFunction(
        "round",
        ("Tensor input, *, int decimals=0", _round_decimals),
        doc="As torch.round.",
        ops=(ROUND_DECIMALS,),
        samples=(Sample("torch.special.round(x)", np.round, x=_X),),
        out=Out(SAME, operator="round"),
    ),
)
