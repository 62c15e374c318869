"""Quotients and remainders: div, reciprocal, floor_divide, remainder, fmod, addcdiv, gcd, lcm and their aliases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.pointwise import Pointwise, check_fit
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, blocks, elementary, memory_format
from gradcli.core.ops.checks import Number, Operand, check_broadcast, not_implemented, refuse_bool
from gradcli.core.ops.elementwise.add_multiply import MUL, MUL_NUMBER, negative_zero, times_tangent
from gradcli.core.ops.rules import UNCHANGED, check_no_tangent, not_differentiable
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import Code, runtime_error


def _quotient_jvp(_: Any, inputs: Sequence[Any], __: Any, tangents: Sequence[Tensor | None], out: Tensor) -> Any:
    a_t, b_t = tangents
    moved = 0.0 if b_t is None and not out.requires_grad else times_tangent(b_t, out, out)
    return ((negative_zero(out) if a_t is None else a_t) - moved) / inputs[1]


DIV: Pointwise = Pointwise(
    "DivBackward0",
    np.true_divide,
    "input other",
    jvp=_quotient_jvp,
    kind="float",
    factor=True,
    input=Rule(lambda grad, other: grad / other, "grad / other"),
    other=Rule(lambda xp, grad, input, other: -grad * (xp.call(DIV, input, other) / other), "-grad * input / other**2"),
    complex=elementary.complex_quotient,
)
DIV_NUMBER: Pointwise = Pointwise(
    "DivBackward1",
    np.true_divide,
    "input",
    "other",
    kind="float",
    layout="numbered",
    input=Rule(lambda xp, grad, other: xp.call(DIV_NUMBER, grad, other), "grad / other"),
    complex=elementary.complex_quotient,
)
RECIPROCAL = Pointwise(
    "ReciprocalBackward0",
    lambda a: np.true_divide(1, a),
    "input",
    kind="float",
    input=Rule(lambda grad, out: -grad * (out * out), "-grad * out**2"),
    complex=lambda a: elementary.complex_quotient(1, a),
)


def _rounded_quotient(a: Any, b: Any, mode: str | None) -> Any:
    if mode == "floor":
        return np.floor_divide(a, b) if np.asarray(a).dtype.kind in "iu" else _float_floor(a, b)
    quotient = np.true_divide(a, b)
    return np.trunc(quotient) if mode == "trunc" else quotient


def _float_floor(a: Any, b: Any) -> Any:
    """The floor of the exact quotient; a division by zero is infinite, as in PyTorch."""
    b = np.asarray(b, np.asarray(a).dtype)
    return np.where(b == 0, np.true_divide(a, b), np.floor_divide(a, b))


def _rounded_in_half(dtype: DType, a: Any, b: Any, mode: str | None) -> Any:
    """`_rounded_quotient` in half precision, to which PyTorch rounds each step unless the divisor is a single number."""
    a, b = np.asarray(a), np.asarray(b)
    if mode is None or b.size == 1:
        return _rounded_quotient(a, b, mode)
    if mode == "trunc":
        return np.trunc(dtypes.stored(np.true_divide(a, b), dtype))
    rest = np.fmod(a, b)
    exact = dtypes.stored(np.true_divide(dtypes.stored(a - rest, dtype), b), dtype)
    exact = np.where((rest != 0) & ((b < 0) != (rest < 0)), dtypes.stored(exact - 1, dtype), exact)
    floor = np.floor(exact)
    floor = np.where(exact - floor > 0.5, floor + 1, floor)
    quotient = np.true_divide(a, b)
    return np.where(b == 0, quotient, np.where(exact == 0, np.copysign(0, quotient), floor))


DIV_MODE = Pointwise(
    "DivBackward2",
    _rounded_quotient,
    "input other",
    "rounding_mode",
    in_half=_rounded_in_half,
    factor=True,
    input=Rule(
        lambda xp, grad, other, rounding_mode: grad / other if rounding_mode is None else xp.zeros_like(grad),
        "grad / other if rounding_mode is None else 0 * grad",
        "0 where the quotient is rounded",
    ),
    other=Rule(
        lambda xp, grad, input, other, rounding_mode: -grad * ((input / other) / other) if rounding_mode is None else xp.zeros_like(grad),
        "-grad * input / other**2 if rounding_mode is None else 0 * grad",
    ),
    complex=True,
)
FLOOR_DIVIDE, FLOOR_DIVIDE_INPLACE = (
    not_differentiable(
        name,
        lambda a, b: _rounded_quotient(a, b, "floor"),
        "input other",
        elementwise=True,
        factor=True,
        in_half=lambda dtype, a, b: _rounded_in_half(dtype, a, b, "floor"),
    )
    for name in ("floor_divide", "floor_divide_")
)


@blocks.in_pieces
def _fmod_in_single(a: Array, b: Any) -> Array:
    """`np.fmod` of float32 by way of double precision, in which a whole quotient below 2**28 and its product with b are exact."""
    x, y = a.astype(np.float64), np.asarray(b, np.float64)
    quotient = np.trunc(x / y)
    x -= quotient * y
    made = np.copysign(x.astype(np.float32), a)
    others = ~((np.abs(quotient) < 1 << 28) & (made == made))
    if others.any():
        at = others.nonzero()[0]
        made[at] = np.fmod(a[at], b[at] if np.ndim(b) else b)
    return made


#: the number of elements below which numpy's function is as fast
_MANY = 1 << 12


def _are_many(a: Any, b: Any) -> bool:
    """Whether `_fmod_in_single` takes the operands."""
    if type(a) is not blocks.Deferred and (type(a) is not np.ndarray or a.size < _MANY or not a.flags.c_contiguous):
        return False
    return a.dtype == np.float32 and getattr(b, "dtype", a.dtype) == a.dtype and blocks.fits(b, a.shape)


def _fmod(a: Any, b: Any) -> Any:
    return _fmod_in_single(a, b if hasattr(b, "dtype") else np.float32(b)) if _are_many(a, b) else np.fmod(a, b)


def _remainder(a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor; a zero has the sign of the dividend."""
    if _are_many(a, b):
        rest = _fmod(a, b)
        return blocks.where((rest != 0) & (np.less(b, 0) != np.less(rest, 0)), rest + b, rest)
    rest = np.remainder(a, b)
    return np.where(rest == 0, np.copysign(rest, a), rest) if rest.dtype.kind == "f" else rest


REMAINDER = Pointwise(
    "RemainderBackward1",
    _remainder,
    "input other",
    input=UNCHANGED,
    other=Rule(
        lambda xp, grad, input, other: -grad * xp.call(DIV_MODE, input, other, "floor"),
        "-grad * torch.div(input, other, rounding_mode='floor')",
    ),
)
REMAINDER_NUMBER = Pointwise("RemainderBackward0", _remainder, "input other", input=UNCHANGED, other=None)
NUMBER_REMAINDER = not_differentiable("remainder", _remainder, "input other", elementwise=True, number="input")
FMOD_NUMBER = Pointwise("FmodBackward0", _fmod, "input other", input=UNCHANGED, other=None)
FMOD = Pointwise(
    "FmodBackward1",
    _fmod,
    "input other",
    input=UNCHANGED,
    other=Rule(lambda xp, grad, input, other: -grad * xp.call(DIV_MODE, input, other, "trunc"), "-grad * trunc(input / other)"),
)


def _addcdiv_rule(xp: Any, grad: Any, tensor2: Any, value: Any) -> Any:
    divisor = xp.plain(tensor2).dtype
    if divisor.kind in "iub":  # PyTorch divides a tensor like the divisor, filled with the value, in place
        from gradcli.core.graph.write_checks import result_dtype_error  # every program loads this module

        raise result_dtype_error(dtypes.get_default().torch_name, dtypes.of(divisor))
    scalar_of(value, dtypes.of(divisor))
    return grad * xp.call(DIV, value, tensor2)


def _addcdiv_jvp(xp: Any, inputs: Sequence[Any], attrs: Any, tangents: Sequence[Tensor | None], out: Tensor) -> Any:
    (_, x, y), (a_t, x_t, y_t) = inputs, tangents
    moved = a_t
    if x_t is not None:
        added = xp.call(MUL_NUMBER, x_t / y, attrs[0])
        moved = added if moved is None else moved + added
    if y_t is not None:
        less = xp.call(MUL_NUMBER, y_t * (x / y) / y, attrs[0])
        moved = -less if moved is None else moved - less
    return moved


ADDCDIV = Pointwise(
    "AddcdivBackward0",
    lambda a, x, y, value: a + value * x / y,
    "input tensor1 tensor2",
    "value",
    jvp=_addcdiv_jvp,
    input=UNCHANGED,
    tensor1=Rule(_addcdiv_rule, "grad * value / tensor2"),
    tensor2=Rule(
        lambda xp, grad, tensor1, tensor2, value: -grad * (xp.call(MUL_NUMBER, tensor1, value) / (tensor2 * tensor2)),
        "-grad * value * tensor1 / tensor2**2",
    ),
    complex=elementary.complex_sum_with_quotient,
)


def div(a: Operand, b: Operand) -> Tensor:
    """`a / b`; one of both may be a number."""
    return DIV(a, b)


def div_mode(a: Operand, b: Operand, rounding_mode: str | None) -> Tensor:
    """`torch.div` called with a rounding mode: "trunc", "floor", or None for the exact quotient."""
    if rounding_mode not in (None, "trunc", "floor"):
        raise runtime_error(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{formatted(rounding_mode)}'")
    if rounding_mode is not None:
        _check_integers(f"div_{rounding_mode}_cpu", a, b)
        return DIV_MODE(a, b, rounding_mode)
    dtype = dtypes.result_type((a, b))
    return (DIV_MODE if dtype.is_differentiable else DIV)(a, b, *((rounding_mode,) if dtype.is_differentiable else ()))


def rdiv(a: Tensor, b: Number) -> Tensor:
    """`b / a` for a number b: PyTorch computes the reciprocal, then multiplies."""
    return MUL(RECIPROCAL(a), b)


def _check_integers(kernel: str, a: Operand, b: Operand) -> None:
    """Raise NotImplementedError for a division of bools, RuntimeError for a division of integers by zero."""
    dtype = dtypes.result_type((a, b))
    if dtype.is_floating_point:
        return
    if type(a) is Tensor and type(b) is Tensor:
        check_broadcast([a.array, b.array])
    if dtype.is_complex:
        raise not_implemented(kernel, dtype)
    refuse_bool(kernel, dtype)
    divisor = b.array if type(b) is Tensor else dtypes.wrapped(b, dtype) if type(b) is int else b
    if not np.all(np.asarray(divisor)) and all(type(t) is not Tensor or t.array.size for t in (a, b)):
        raise runtime_error("ZeroDivisionError", Code.AFTER_CHECKS)


def floor_divide(a: Operand, b: Operand, record: Op = FLOOR_DIVIDE) -> Tensor:
    """The floor of `a / b`; one of both may be a number."""
    check_no_tangent(f"aten::floor_divide{'_' if record is FLOOR_DIVIDE_INPLACE else ''}", a, b)
    _check_integers("div_floor_cpu", a, b)
    return record(a, b)  # type: ignore[no-any-return]


def _floor_divide_(a: Tensor, b: Operand) -> Tensor:
    return floor_divide(a, b, FLOOR_DIVIDE_INPLACE)


def remainder(a: Operand, b: Operand) -> Tensor:
    """Python's `a % b`, with the sign of the divisor; one of both may be a number."""
    _check_integers("remainder_cpu", a, b)
    if type(a) is not Tensor:
        return NUMBER_REMAINDER(a, b)  # type: ignore[no-any-return]
    return REMAINDER(a, b) if type(b) is Tensor else REMAINDER_NUMBER(a, b)


def fmod(a: Tensor, b: Operand) -> Tensor:
    """C's fmod: the remainder with the sign of the dividend."""
    _check_integers("fmod_cpu", a, b)
    return FMOD(a, b) if type(b) is Tensor else FMOD_NUMBER(a, b)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Number = 1) -> Tensor:
    """`input + value * tensor1 / tensor2`; the three tensors are broadcast."""
    if not (tensor1.dtype.is_differentiable or tensor2.dtype.is_differentiable):
        raise runtime_error(_INTEGER_ADDCDIV)
    value = scalar_of(value, dtypes.widened(dtypes.result_type((input, tensor1, tensor2))))
    return ADDCDIV(input, tensor1, tensor2, value)


def _of_integers(name: str, ufunc: np.ufunc, suffix: str = "") -> Callable[[Tensor, Tensor], Tensor]:
    """gcd or lcm: integers only, without derivative."""

    def run(input: Tensor, other: Tensor) -> Tensor:
        check_no_tangent(f"aten::{name}{suffix}", input, other)
        dtype = dtypes.result_type((input, other))
        check_fit(input.array, other.array)
        if dtype.is_differentiable or dtype is dtypes.bool_:
            raise not_implemented(f"{name}_cpu", dtype)
        made = np.asarray(ufunc(input.array.astype(dtype.np), other.array.astype(dtype.np)))
        return Tensor(memory_format.like_operands(made, (input.array, other.array)), dtype)

    return run


_INTEGER_ADDCDIV = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of tensor1 and "
    "tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for "
    "integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv behavior is just the latter "
    "implementation: (input + value * tensor1 / tensor2), for all dtypes."
)
_BY_NUMBER_ROUNDED = "Tensor input, Number other, *, str? rounding_mode |no out"
_TWO, _BY_NUMBER = "Operand input, Operand other", "Tensor input, Number other |no out"
_SCALED = "Tensor input, Number value, Tensor tensor1, Tensor tensor2 |deprecated"
_X, _Y = [0.5, -1.5, 2.0], [1.5, 0.5, -3.0]


FUNCTIONS = (
    Function(
        "div",
        (_TWO, div),
        (f"{_TWO}, *, str? rounding_mode", div_mode),
        (_BY_NUMBER_ROUNDED, div_mode),
        doc="Quotient; rounding_mode 'trunc' or 'floor' rounds it.",
        ops=(DIV, DIV_MODE),
        samples=(Sample("x / y", np.divide, x=_X, y=_Y), Sample("2 / x", lambda x: 2 / x, x=_X)),
        inplace=True,
        analytic=np.divide,
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
        out=Out(operator="div"),
    ),
    Function("true_divide", (_TWO, div), (_BY_NUMBER, div), doc="Quotient.", ops=(DIV,), inplace=True, out=Out(operator="div")),
    Function(
        "reciprocal",
        ("Tensor input", lambda a: RECIPROCAL(a)),
        doc="1 / input.",
        ops=(RECIPROCAL,),
        samples=(Sample("reciprocal(x)", np.reciprocal, x=_X),),
        torch_inplace=("reciprocal_",),
        analytic=np.reciprocal,
        out=True,
    ),
    Function(
        "floor_divide",
        (_TWO, floor_divide),
        (_BY_NUMBER, floor_divide),
        doc="Floor of the quotient; no derivative is defined.",
        ops=(FLOOR_DIVIDE,),
        written=((_TWO, _floor_divide_), (_BY_NUMBER, _floor_divide_)),
        out=Out(autograd="fallback"),
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
        samples=(Sample("fmod(x, y)", np.fmod, x=_X, y=[1.3, 0.7, -3.1]), Sample("fmod(x, 1.3)", lambda x: np.fmod(x, 1.3), x=_X)),
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
    *(
        Function(
            name,
            ("Tensor input, Tensor other", _of_integers(name, ufunc)),
            doc=doc,
            samples=(Sample(f"{name}(tensor([4, 6]), tensor(10))"),),
            torch_inplace=(f"{name}_",),
            written=(("Tensor input, Tensor other", _of_integers(name, ufunc, "_")),),
            out=Out(autograd="fallback"),
        )
        for name, ufunc, doc in (("gcd", np.gcd, "The greatest common divisor."), ("lcm", np.lcm, "The least common multiple."))
    ),
)
