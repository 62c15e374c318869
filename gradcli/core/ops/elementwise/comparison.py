"""Comparisons and tests: results are bool, nothing is differentiable."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.pointwise import Pointwise, check_fit
from gradcli.core.graph.record import NONDIFF
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError


def _compare(name: str, forward: Any) -> Pointwise:
    return Pointwise(name, forward, "input other", kind="compare", input=NONDIFF, other=NONDIFF)


EQ = _compare("EqBackward0", np.equal)
NE = _compare("NeBackward0", np.not_equal)
LT = _compare("LtBackward0", np.less)
LE = _compare("LeBackward0", np.less_equal)
GT = _compare("GtBackward0", np.greater)
GE = _compare("GeBackward0", np.greater_equal)


def eq(a: Any, b: Any) -> Any:
    """`a == b`, elementwise."""
    return EQ(a, b) if type(a) is Tensor else EQ(b, a)


def ne(a: Any, b: Any) -> Any:
    """`a != b`, elementwise."""
    return NE(a, b) if type(a) is Tensor else NE(b, a)


def lt(a: Any, b: Any) -> Any:
    """`a < b`, elementwise."""
    return LT(a, b) if type(a) is Tensor else GT(b, a)


def le(a: Any, b: Any) -> Any:
    """`a <= b`, elementwise."""
    return LE(a, b) if type(a) is Tensor else GE(b, a)


def gt(a: Any, b: Any) -> Any:
    """`a > b`, elementwise."""
    return GT(a, b) if type(a) is Tensor else LT(b, a)


def ge(a: Any, b: Any) -> Any:
    """`a >= b`, elementwise."""
    return GE(a, b) if type(a) is Tensor else LE(b, a)


def equal(a: Tensor, b: Tensor) -> bool:
    """Same shape and values."""
    return a.array.shape == b.array.shape and bool(np.array_equal(a.array, b.array))


def _same_dtype(a: Tensor, b: Tensor) -> None:
    if a.dtype is not b.dtype:
        raise ProgramError("RuntimeError", f"{a.dtype.torch_name} did not match {b.dtype.torch_name}")


def _close(a: Tensor, b: Tensor, rtol: float, atol: float, equal_nan: bool) -> Any:
    _same_dtype(a, b)
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise ProgramError("RuntimeError", f"{name} must be greater than or equal to zero, but got {tolerance:g}")
    check_fit(a.array, b.array)
    return np.isclose(a.array, b.array, rtol, atol, equal_nan)


def isclose(a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """`|a - b| <= atol + rtol * |b|`, elementwise."""
    return wrap(_close(a, b, rtol, atol, equal_nan))


def allclose(a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close."""
    return bool(_close(a, b, rtol, atol, equal_nan).all())


def _test(forward: Any) -> Any:
    def run(a: Tensor) -> Tensor:
        return wrap(forward(a.array))

    return run


def _logical(forward: Any) -> Any:
    def run(a: Tensor, b: Tensor) -> Tensor:
        check_fit(a.array, b.array)
        return wrap(forward(a.array, b.array))

    return run


_TENSORS, _BY_NUMBER = "Tensor input, Tensor other", "Tensor input, Number other"
_CLOSE = "Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False"

FUNCTIONS = (
    Function(
        "eq",
        (_TENSORS, eq),
        (_BY_NUMBER, eq),
        doc="Elementwise ==.",
        samples=(Sample("tensor([1., 2.]) == tensor([1., 3.])"),),
        inplace=True,
        out=True,
    ),
    Function("ne", (_TENSORS, ne), (_BY_NUMBER, ne), doc="Elementwise !=.", aliases=("not_equal",), inplace=True, out=True),
    Function("lt", (_TENSORS, lt), (_BY_NUMBER, lt), doc="Elementwise <.", aliases=("less",), inplace=True, out=True),
    Function("le", (_TENSORS, le), (_BY_NUMBER, le), doc="Elementwise <=.", aliases=("less_equal",), inplace=True, out=True),
    Function("gt", (_TENSORS, gt), (_BY_NUMBER, gt), doc="Elementwise >.", aliases=("greater",), inplace=True, out=True),
    Function("ge", (_TENSORS, ge), (_BY_NUMBER, ge), doc="Elementwise >=.", aliases=("greater_equal",), inplace=True, out=True),
    Function("equal", ("Tensor input, Tensor other", equal), doc="True when shape and all values agree."),
    Function("isclose", (_CLOSE, isclose), doc="Elementwise closeness."),
    Function("allclose", (_CLOSE, allclose), doc="True when all elements are close."),
    Function("isnan", ("Tensor input", _test(np.isnan)), doc="Elementwise test for nan."),
    Function("isinf", ("Tensor input", _test(np.isinf)), doc="Elementwise test for infinities."),
    Function("isfinite", ("Tensor input", _test(np.isfinite)), doc="Elementwise test for finite values."),
    Function("logical_not", ("Tensor input", _test(np.logical_not)), doc="Elementwise not of truth values.", inplace=True, out=True),
    Function(
        "logical_and",
        ("Tensor input, Tensor other", _logical(np.logical_and)),
        doc="Elementwise and of truth values.",
        inplace=True,
        out=True,
    ),
    Function(
        "logical_or", ("Tensor input, Tensor other", _logical(np.logical_or)), doc="Elementwise or of truth values.", inplace=True, out=True
    ),
    Function(
        "logical_xor",
        ("Tensor input, Tensor other", _logical(np.logical_xor)),
        doc="Elementwise xor of truth values.",
        inplace=True,
        out=True,
    ),
)
