"""Arithmetic: sums, products, quotients, remainders, powers and interpolation, as functions and methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.signature import scalar_of
from gradcli.core.functions.function import Function, Sample
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.elementwise.arithmetic_records import (
    ADD,
    ADD_SCALED,
    ADDCDIV,
    ADDCMUL,
    DIV,
    DIV_MODE,
    FLOOR_DIVIDE,
    FMOD,
    FMOD_NUMBER,
    LERP_SCALAR,
    LERP_TENSOR,
    MUL,
    NEG,
    NUMBER_REMAINDER,
    POW_NUMBER,
    POW_SCALAR,
    POW_TENSOR,
    RECIPROCAL,
    REMAINDER,
    REMAINDER_NUMBER,
    RSUB,
    RSUB_TENSOR,
    SUB,
    SUB_SCALED,
    negative_power,
)
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def _check_alpha(a: Any, b: Any, alpha: Any) -> None:
    """A factor must not change the kind of the result."""
    if type(alpha) is int:
        return
    dtype = dtypes.result_type((a, b))
    if type(alpha) is bool and dtype is not dtypes.bool_:
        raise ProgramError("RuntimeError", "Boolean alpha only supported for Boolean results.")
    if type(alpha) is float and not dtype.is_floating_point:
        raise ProgramError("RuntimeError", "For integral input tensors, argument alpha must not be a floating point number.")


def add(a: Any, b: Any, alpha: Any = 1) -> Any:
    """`a + alpha * b`; either may be a number."""
    _check_alpha(a, b, alpha)
    if alpha != 1:
        return ADD_SCALED(a, b, alpha)
    return ADD(a, b) if type(a) is Tensor else ADD(b, a)


def _no_difference(a: Any, b: Any) -> ProgramError:
    if all(x.dtype is dtypes.bool_ if type(x) is Tensor else type(x) is bool for x in (a, b)):
        return ProgramError(
            "RuntimeError",
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.",
        )
    return ProgramError(
        "RuntimeError",
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
        "use the `~` or `logical_not()` operator instead.",
    )


def sub(a: Any, b: Any, alpha: Any = 1) -> Any:
    """`a - alpha * b`."""
    if (a.dtype is dtypes.bool_ if type(a) is Tensor else type(a) is bool) or (
        b.dtype is dtypes.bool_ if type(b) is Tensor else type(b) is bool
    ):
        raise _no_difference(a, b)
    _check_alpha(a, b, alpha)
    return SUB(a, b) if alpha == 1 else SUB_SCALED(a, b, alpha)


def rsub(a: Any, b: Any, alpha: Any = 1) -> Any:
    """`b - alpha * a`: a number minus a tensor."""
    if a.dtype is dtypes.bool_ or (b.dtype is dtypes.bool_ if type(b) is Tensor else type(b) is bool):
        raise _no_difference(a, b)
    _check_alpha(a, b, alpha)
    return RSUB_TENSOR(a, b, alpha) if type(b) is Tensor else RSUB(a, b, alpha)


def mul(a: Any, b: Any) -> Any:
    """`a * b`."""
    return MUL(a, b) if type(a) is Tensor else MUL(b, a)


def div(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    """True division; `rounding_mode` "trunc" or "floor" rounds the quotient."""
    return DIV(a, b)


def div_mode(a: Any, b: Any, rounding_mode: str | None) -> Any:
    """`torch.div` with a rounding mode given, if only as None."""
    if rounding_mode not in (None, "trunc", "floor"):
        raise ProgramError("RuntimeError", f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    if rounding_mode is not None:
        _refuse_bool(f"div_{rounding_mode}_cpu", a, b)
        _check_integer_divisor(a, b)
        return DIV_MODE(a, b, rounding_mode)
    if not any(type(t) is Tensor and t.dtype.is_floating_point for t in (a, b)):
        return DIV(a, b)
    return DIV_MODE(a, b, rounding_mode)


def rdiv(a: Any, b: Any) -> Any:
    """`b / a` for a number b: PyTorch computes the reciprocal, then multiplies."""
    return MUL(RECIPROCAL(a), b)


def neg(a: Any) -> Any:
    """`-a`."""
    if a.dtype is dtypes.bool_:
        raise ProgramError(
            "RuntimeError",
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead.",
        )
    return NEG(a)


def pow(a: Any, b: Any) -> Any:
    """`a ** b` for a tensor and a number, two tensors, or a number and a tensor."""
    if type(a) is not Tensor:
        return rpow(b, a)
    if type(b) is int:
        dtypes.check_whole(b)
    if type(b) is Tensor:
        _refuse_bool("pow", a, b)
        return POW_TENSOR(a, b)
    if type(b) is float and not a.dtype.is_floating_point:
        # an integer tensor to a float power is computed in the default dtype
        return POW_SCALAR(Tensor(a.array.astype(dtypes.get_default().np), dtypes.get_default()), b)
    if a.dtype is dtypes.bool_ and type(b) is int:
        a = Tensor(a.array.astype(np.int64), dtypes.int64)
    if type(b) is int and a.dtype.category == 1:
        if b < 0:
            raise negative_power()
        b = int(scalar_of(int(scalar_of(b, dtypes.int64)), a.dtype))
    return POW_SCALAR(a, b)


def rpow(a: Any, b: Any) -> Any:
    """`b ** a` for a number b."""
    _refuse_bool("pow", a, b)
    dtype = dtypes.result_type((a, b))
    if dtype is not a.dtype:
        a = Tensor(a.array.astype(dtype.np), dtype)
    return POW_NUMBER(a, b)


def _check_integer_divisor(a: Any, b: Any) -> None:
    """Integers by zero are an error; PyTorch's text is just that."""
    for t in (a, b):
        if type(t) is float or (type(t) is Tensor and t.dtype.is_floating_point):
            return
    divisor = b.array if type(b) is Tensor else b
    if not np.all(divisor):
        raise ProgramError("RuntimeError", "ZeroDivisionError")


def _refuse_bool(kernel: str, *operands: Any) -> None:
    """Raise PyTorch's error where the result would be bool, for which there is no such kernel."""
    if dtypes.result_type(operands) is dtypes.bool_:
        raise not_implemented(kernel, dtypes.bool_)


def floor_divide(a: Any, b: Any) -> Any:
    """Floor of the quotient."""
    _refuse_bool("div_floor_cpu", a, b)
    _check_integer_divisor(a, b)
    return FLOOR_DIVIDE(a, b)


def remainder(a: Any, b: Any) -> Any:
    """Python's `%`: the sign of the divisor."""
    _refuse_bool("remainder_cpu", a, b)
    _check_integer_divisor(a, b)
    if type(a) is not Tensor:
        return NUMBER_REMAINDER(a, b)
    return REMAINDER(a, b) if type(b) is Tensor else REMAINDER_NUMBER(a, b)


def fmod(a: Any, b: Any) -> Any:
    """C's fmod: the sign of the dividend."""
    _refuse_bool("fmod_cpu", a, b)
    _check_integer_divisor(a, b)
    return FMOD(a, b) if type(b) is Tensor else FMOD_NUMBER(a, b)


def addcmul(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """`input + value * tensor1 * tensor2`."""
    _refuse_bool("addcmul_cpu_out", input, tensor1, tensor2)
    if not dtypes.result_type((input, tensor1, tensor2)).is_floating_point:
        value = int(value)
    return ADDCMUL(input, tensor1, tensor2, value)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """`input + value * tensor1 / tensor2`."""
    if not (tensor1.dtype.is_floating_point or tensor2.dtype.is_floating_point):
        raise ProgramError("RuntimeError", _INTEGER_ADDCDIV)
    return ADDCDIV(input, tensor1, tensor2, value)


_INTEGER_ADDCDIV = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of tensor1 and "
    "tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for "
    "integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv behavior is just the latter "
    "implementation: (input + value * tensor1 / tensor2), for all dtypes."
)


def positive(a: Any) -> Any:
    """`+a`: the tensor itself."""
    if a.dtype is dtypes.bool_:
        raise ProgramError("RuntimeError", "The `+` operator, on a bool tensor is not supported.")
    return a


def lerp(input: Any, end: Any, weight: Any) -> Any:
    """Linear interpolation."""
    for name, t in (("end", end), ("weight", weight)):
        if type(t) is Tensor and t.dtype is not input.dtype:
            raise ProgramError("RuntimeError", f"expected dtype {input.dtype.c_name} for `{name}` but got dtype {t.dtype.c_name}")
    if not input.dtype.is_floating_point:
        raise not_implemented(f"lerp_kernel_{'tensor' if type(weight) is Tensor else 'scalar'}", input.dtype)
    return LERP_TENSOR(input, end, weight) if type(weight) is Tensor else LERP_SCALAR(input, end, weight)


_TWO = "Operand input, Operand other"
_BY_NUMBER = "Tensor input, Number other |no out"
_BY_NUMBER_ROUNDED = "Tensor input, Number other, *, str? rounding_mode |no out"
_SCALED = "Tensor input, Number value, Tensor tensor1, Tensor tensor2 |deprecated"
_X, _Y = [0.5, -1.5, 2.0], [1.5, 0.5, -3.0]

FUNCTIONS = (
    Function(
        "add",
        ("Operand input, Operand other, *, Number alpha=1", add),
        ("Operand input, Number alpha, Operand other |deprecated", lambda a, alpha, b: add(a, b, alpha)),
        doc="Sum; other is scaled by alpha first.",
        ops=(ADD, ADD_SCALED),
        samples=(Sample("x + y", lambda x, y: x + y, x=_X, y=_Y), Sample("add(x, y, alpha=3)", lambda x, y: x + 3 * y, x=_X, y=[2.0])),
        inplace=True,
        out=True,
    ),
    Function(
        "sub",
        ("Operand input, Operand other, *, Number alpha=1", sub),
        ("Operand input, Number alpha, Operand other |deprecated", lambda a, alpha, b: sub(a, b, alpha)),
        doc="Difference; other is scaled by alpha first.",
        ops=(SUB, SUB_SCALED),
        samples=(Sample("x - y", lambda x, y: x - y, x=_X, y=_Y),),
        inplace=True,
        out=True,
    ),
    Function(
        "subtract",
        ("Operand input, Operand other, *, Number alpha=1", sub),
        ("Tensor input, Number other, Number alpha=1 |no out", sub),
        doc="As sub.",
        ops=(SUB, SUB_SCALED),
        inplace=True,
        out=True,
    ),
    Function(
        "rsub",
        ("Tensor input, Tensor other, *, Number alpha=1", rsub),
        ("Tensor input, Number other, Number alpha=1", rsub),
        doc="other minus input.",
        ops=(RSUB, RSUB_TENSOR),
        samples=(Sample("2 - x", lambda x: 2 - x, x=_X), Sample("rsub(x, y)", lambda x, y: y - x, x=_X, y=_Y)),
        method=False,
    ),
    Function(
        "mul",
        (_TWO, mul),
        doc="Product.",
        ops=(MUL,),
        samples=(Sample("x * y", lambda x, y: x * y, x=_X, y=_Y), Sample("3 * x", lambda x: 3 * x, x=_X)),
        inplace=True,
        out=True,
    ),
    Function("multiply", (_TWO, mul), (_BY_NUMBER, mul), doc="As mul.", ops=(MUL,), inplace=True, out=True),
    Function(
        "div",
        (_TWO, div),
        (f"{_TWO}, *, str? rounding_mode", div_mode),
        (_BY_NUMBER_ROUNDED, div_mode),
        doc="Quotient; rounding_mode 'trunc' or 'floor' rounds it.",
        ops=(DIV, DIV_MODE),
        samples=(Sample("x / y", lambda x, y: x / y, x=_X, y=_Y), Sample("2 / x", lambda x: 2 / x, x=_X)),
        inplace=True,
        out=True,
    ),
    Function(
        "divide",
        (_TWO, div),
        (f"{_TWO}, *, str? rounding_mode", div_mode),
        (_BY_NUMBER, div),
        (_BY_NUMBER_ROUNDED, div_mode),
        doc="As div.",
        ops=(DIV, DIV_MODE),
        inplace=True,
        out=True,
    ),
    Function("true_divide", (_TWO, div), (_BY_NUMBER, div), doc="Quotient.", ops=(DIV,), inplace=True, out=True),
    Function(
        "neg",
        ("Tensor input", neg),
        doc="Minus input.",
        ops=(NEG,),
        samples=(Sample("-x", lambda x: -x, x=_X),),
        inplace=True,
        aliases=("negative",),
        out=True,
    ),
    Function("positive", ("Tensor input", positive), doc="input itself."),
    Function(
        "reciprocal",
        ("Tensor input", lambda a: RECIPROCAL(a)),
        doc="1 / input.",
        ops=(RECIPROCAL,),
        samples=(Sample("reciprocal(x)", lambda x: 1 / x, x=_X),),
        inplace=True,
        out=True,
    ),
    Function(
        "square",
        ("Tensor input", lambda a: pow(a, 2)),
        doc="input squared.",
        ops=(POW_SCALAR,),
        samples=(Sample("square(x)", np.square, x=_X),),
        inplace=True,
        out=True,
    ),
    Function(
        "pow",
        ("Tensor input, Tensor exponent", pow),
        ("Number self, Tensor exponent", pow),
        ("Tensor input, Number exponent", pow),
        doc="Power.",
        ops=(POW_SCALAR, POW_TENSOR, POW_NUMBER),
        samples=(
            Sample("x ** 3", lambda x: x**3, x=_X),
            Sample("x ** y", lambda x, y: x**y, x=[0.5, 1.5, 2.0], y=_Y),
            Sample("2 ** x", lambda x: 2**x, x=_X),
        ),
        inplace=True,
        out=True,
    ),
    Function(
        "floor_divide",
        (_TWO, floor_divide),
        (_BY_NUMBER, floor_divide),
        doc="Floor of the quotient; no derivative is defined.",
        ops=(FLOOR_DIVIDE,),
        inplace=True,
        out=True,
    ),
    Function(
        "remainder",
        ("Tensor input, Tensor other", remainder),
        ("Number self, Tensor other |no out", remainder),
        ("Tensor input, Number other", remainder),
        doc="Python's %: the sign of other.",
        ops=(REMAINDER, REMAINDER_NUMBER),
        samples=(Sample("x % 3", lambda x: x % 3, x=_X), Sample("remainder(x, y)", np.remainder, x=_X, y=[1.3, 0.7, -3.1])),
        inplace=True,
        out=True,
    ),
    Function(
        "fmod",
        ("Tensor input, Tensor other", fmod),
        ("Tensor input, Number other", fmod),
        doc="C's fmod: the sign of input.",
        ops=(FMOD, FMOD_NUMBER),
        samples=(
            Sample("fmod(x, y)", np.fmod, x=_X, y=[1.3, 0.7, -3.1]),
            Sample("fmod(x, 1.3)", lambda x: np.fmod(x, 1.3), x=_X),
        ),
        inplace=True,
        out=True,
    ),
    Function(
        "addcmul",
        ("Tensor input, Tensor tensor1, Tensor tensor2, *, Number value=1", addcmul),
        (_SCALED, lambda a, value, b, c: addcmul(a, b, c, value)),
        doc="input + value * tensor1 * tensor2.",
        ops=(ADDCMUL,),
        samples=(Sample("addcmul(x, y, y, value=2)", lambda x, y: x + 2 * y * y, x=_X, y=_Y),),
        inplace=True,
        out=True,
    ),
    Function(
        "addcdiv",
        ("Tensor input, Tensor tensor1, Tensor tensor2, *, Number value=1", addcdiv),
        (_SCALED, lambda a, value, b, c: addcdiv(a, b, c, value)),
        doc="input + value * tensor1 / tensor2.",
        ops=(ADDCDIV,),
        samples=(Sample("addcdiv(x, x, y, value=2)", lambda x, y: x + 2 * x / y, x=_X, y=_Y),),
        inplace=True,
        out=True,
    ),
    Function(
        "lerp",
        ("Tensor input, Tensor end, Tensor weight", lerp),
        ("Tensor input, Tensor end, Number weight", lerp),
        doc="Linear interpolation from input to end.",
        ops=(LERP_SCALAR, LERP_TENSOR),
        samples=(
            Sample("lerp(x, y, 0.3)", lambda x, y: x + 0.3 * (y - x), x=_X, y=_Y),
            Sample("lerp(x, y, x)", lambda x, y: x + x * (y - x), x=_X, y=_Y),
        ),
        inplace=True,
        out=True,
    ),
)
