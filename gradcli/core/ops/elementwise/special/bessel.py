"""Bessel functions, modified Bessel functions and the Airy function. Only I0 and I1 have derivatives, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule
from gradcli.core.kernels import Array
from gradcli.core.kernels.special import bessel as values
from gradcli.core.ops.checks import checked, refuse_half
from gradcli.core.ops.elementwise.signs import SGN
from gradcli.core.ops.elementwise.special.special_function import SpecialFunction, special_unary
from gradcli.core.ops.elementwise.unary import at_once, floating, unary
from gradcli.core.tensor.dtypes import DType

I0: Pointwise = floating(
    "I0Backward0", at_once(values.i0), Rule(lambda xp, grad, input: grad * xp.call(I1, input), "grad * torch.special.i1(input)")
)
I0E: Pointwise = floating(
    "SpecialI0EBackward0",
    at_once(values.i0e),
    Rule(
        lambda xp, grad, input, out: grad * (xp.call(I1E, input) - xp.call(SGN, input) * out),
        "grad * (torch.special.i1e(input) - input.sgn() * out)",
    ),
)


def _away_from_zero(xp: Any, x: Any) -> tuple[Array, Any]:
    """Where x is not tiny, and x with the tiny elements replaced by eps, so that it can be divided by."""
    plain = xp.plain(x)
    eps = np.finfo(plain.dtype).eps
    large = np.abs(plain) > eps
    return large, xp.where(large, x, float(eps))


def _i1_rule(xp: Any, grad: Any, input: Any, out: Any, input_dtype: DType) -> Any:
    refuse_half("i1_backward", input_dtype)
    large, x = _away_from_zero(xp, input)
    return grad * xp.where(large, xp.call(I0, x) - out * (1.0 / x), 0.5)


def _i1e_rule(xp: Any, grad: Any, input: Any, out: Any, input_dtype: DType) -> Any:
    refuse_half("i1e_backward", input_dtype)
    large, x = _away_from_zero(xp, input)
    return grad * xp.where(large, xp.call(I0E, x) - out * (xp.call(SGN, x) + 1.0 / x), 0.5)


_LARGE = "input.abs() > torch.finfo(input.dtype).eps"
I1: Pointwise = floating(
    "SpecialI1Backward0", at_once(values.i1), Rule(_i1_rule, f"grad * where({_LARGE}, torch.i0(input) - out / input, 0.5)")
)
I1E: Pointwise = floating(
    "SpecialI1EBackward0",
    at_once(values.i1e),
    Rule(_i1e_rule, f"grad * where({_LARGE}, torch.special.i0e(input) - out * (input.sgn() + 1 / input), 0.5)"),
)


def _flat(name: str, compute: Callable[[Array], Array], doc: str, sample: str, parameter: str = "input") -> Function:
    """A function without derivative, whose result does not require grad."""
    op = Pointwise(name, at_once(compute), "input", kind="float", input=None)
    samples = (Sample(f"torch.special.{name}(tensor({sample}))"),)
    return SpecialFunction(
        name,
        (f"Tensor {parameter}", checked(op, refuse_half, f"{name}_cpu")),
        doc=doc,
        samples=samples,
        out=Out(autograd="none"),
        overlap="partial",
    )


def _all_flat() -> Sequence[Function]:
    x = "[0.5, 3.]"
    kinds = (("first", "j", values.j0, values.j1), ("second", "y", values.y0, values.y1))
    made = [
        _flat(f"bessel_{letter}{order}", compute, f"Bessel's function of the {kind} kind of order {order}.", x)
        for kind, letter, *functions in kinds
        for order, compute in enumerate(functions)
    ]
    modified = (("first", "i", values.i0, values.modified_i1), ("second", "k", values.k0, values.k1))
    made += [
        _flat(f"modified_bessel_{letter}{order}", compute, f"The modified Bessel function of the {kind} kind of order {order}.", x)
        for kind, letter, *functions in modified
        for order, compute in enumerate(functions)
    ]
    made += [
        _flat(f"scaled_modified_bessel_k{order}", compute, f"exp(x) times the modified Bessel function K of order {order}.", x, "x")
        for order, compute in enumerate((values.scaled_k0, values.scaled_k1))
    ]
    return made


_X = [0.5, -1.5, 9.0]

FUNCTIONS = (
    unary("i0", I0, "The modified Bessel function of the first kind of order 0.", np.i0, _X, aliases=("special.i0",)),
    special_unary("i0e", I0E, "exp(-abs(input)) * i0(input).", lambda x: np.exp(-np.abs(x)) * np.i0(x), _X),
    special_unary("i1", I1, "The modified Bessel function of the first kind of order 1.", None, _X),
    special_unary("i1e", I1E, "exp(-abs(input)) * i1(input).", None, _X),
    *_all_flat(),
    _flat("spherical_bessel_j0", values.spherical_j0, "sin(x) / x.", "[0., 1.]", "x"),
    _flat("airy_ai", values.airy_ai, "The Airy function Ai.", "[0., -3.]", "x"),
)
