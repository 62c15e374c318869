"""Powers: pow, square and float_power."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule
from gradcli.core.kernels import elementary, memory_format
from gradcli.core.ops.checks import Number, Operand, check_broadcast, not_implemented, refuse_bool
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import no_difference
from gradcli.core.ops.rules import as_kernel
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error


def _pow_base_rule(xp: Any, grad: Any, input: Any, exponent: Any) -> Any:
    zero = memory_format.compared(np.equal, xp.plain(exponent), 0)
    if xp.plain(exponent).dtype.kind == "b":
        raise no_difference(True, 1)  # the derivative subtracts 1 from the exponent
    lower = scalars.minus(xp, exponent, 1)
    if xp.plain(lower).dtype.kind == "c":
        return xp.where(zero, 0.0, grad * (exponent * xp.call(POW_TENSOR, _complex_base(xp, input, lower), lower)))
    return xp.where(zero, 0.0, grad * (exponent * input**lower))


def _conjugated(xp: Any, input: Any, dtype: dtypes.DType) -> Any:
    """A real value as the conjugate of a complex number, as the other values of these rules are."""
    from gradcli.core.graph.conjugate import CONJ  # every program loads this module, and few have complex numbers

    return xp.call(CONJ, xp.cast(input, dtype))


def _complex_base(xp: Any, input: Any, like: Any) -> Any:
    """The base of a complex power."""
    if xp.plain(input).dtype.kind == "c":
        return input
    dtype = like.dtype if type(like) is Tensor else dtypes.of(like.dtype)
    return _conjugated(xp, input, dtype)


def _not_negative(exponent: Any) -> Any:
    """Where a power of 0 is constant: at real exponents from 0 on."""
    return (np.real(exponent) >= 0) & (np.imag(exponent) == 0)


def _pow_exponent_rule(xp: Any, grad: Any, input: Any, exponent: Any, out: Any) -> Any:
    # 0**y has derivative 0 for y >= 0: log(0) * 0 would be nan
    base, power = xp.plain(input), xp.plain(exponent)
    flat = as_kernel((base == 0) & _not_negative(power), base, power)
    if xp.plain(out).dtype.kind == "c":
        input = _complex_base(xp, input, out)
    elif type(out) is Tensor:
        input = xp.cast(input, dtypes.result_type((input, exponent)))
    elif base.dtype.kind in "iub":
        input = xp.cast(input, dtypes.of(out.dtype))
    return grad * xp.where(flat, xp.zeros_like(out), out * xp.log(input))


def _pow_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, result: Tensor) -> Any:
    """The sum of both derivatives, where that of a real tensor is real. A base without a tangent adds 0, which shows in signs of zeros."""
    from gradcli.core.graph.conjugate import conj_copy  # the rules get the conjugates of complex values

    base, exponent, out = map(conj_copy, (*inputs, result))
    moved, raised = (t if t is None else conj_copy(xp.cast(t, out.dtype)) for t in tangents)
    total = xp.zeros_like(out)
    if moved is not None:
        part = _pow_base_rule(xp, moved, base, exponent)
        total = part if base.dtype.is_complex or not out.dtype.is_complex else xp.real(part)
    if raised is not None:
        part = _pow_exponent_rule(xp, raised, base, exponent, out)
        total = total + (part if exponent.dtype.is_complex or not out.dtype.is_complex else xp.real(part))
    return conj_copy(xp.cast(total, out.dtype))


def _pow_number_rule(xp: Any, grad: Any, exponent: Any, out: Any, base: Any) -> Any:
    if type(base) is bool:
        raise runtime_error("the gradient of a power of a bool is not part of gradcli")
    if base == 0:
        return grad * xp.where(_not_negative(xp.plain(exponent)), xp.zeros_like(out), out * float("-inf"))
    if xp.plain(out).dtype.kind == "c":
        conjugated = base if type(base) is complex else complex(base).conjugate()  # the logarithm of -1 has the sign of the imaginary zero
        return grad * scalars.times(xp, out, complex(np.log(conjugated)))  # type: ignore[arg-type]
    return grad * scalars.times(xp, out, float(np.log(base)) if base > 0 else float("nan"))


def _negative_power() -> ProgramError:
    return runtime_error("Integers to negative integer powers are not allowed.")


def _power(a: Any, b: Any) -> Any:
    if type(b) is complex:
        return _complex_power(a, b)
    if isinstance(a, np.ndarray) and a.dtype.kind in "iub":
        if not isinstance(b, np.ndarray) and b < 0:
            raise _negative_power()
        exponents = np.asarray(b).astype(a.dtype)
        if a.dtype.kind == "i" and (exponents < 0).any():  # a power below 1 is rounded to 0
            units = np.where(a == -1, 1 - 2 * (exponents & 1), a == 1)
            return np.where(exponents < 0, units, np.power(a, np.maximum(exponents, 0))).astype(a.dtype)
        return np.power(a, exponents)
    if isinstance(b, (int, float)):
        if b == 2:
            return np.multiply(a, a)
        if b == 0.5:
            return np.sqrt(a)
        if b == -0.5:
            return np.true_divide(1, np.sqrt(a))
        if b == 3:
            return np.multiply(np.multiply(a, a), a)
        if b == -1:
            return np.true_divide(1, a)
        if b == -2:
            return np.true_divide(1, np.multiply(a, a))
    return elementary.power(a, b)


def _complex_power(a: Any, b: Any) -> Any:
    """The power of complex numbers. A number as exponent is a product, a root or a reciprocal where it can be."""
    dtype = np.result_type(a, b)
    if isinstance(b, np.ndarray):
        return elementary.complex_power(np.asarray(a, dtype), np.asarray(b, dtype))
    a = np.asarray(a, dtype)
    if b == 0:
        return np.ones_like(a)
    if b == 1:
        return a.copy()
    if b in (0.5, -0.5):
        return np.sqrt(a) if b == 0.5 else elementary.complex_quotient(1, np.sqrt(a))
    if b in (2, -2):
        return elementary.complex_square(a) if b == 2 else elementary.complex_quotient(1, elementary.complex_square(a))
    if b in (3, -1):
        return elementary.complex_cube(a) if b == 3 else elementary.complex_quotient(1, a)
    return elementary.complex_power(a, np.asarray(b, dtype))


def _power_of_complex(base: Any, exponent: Any) -> Any:
    """A number to powers that are complex."""
    if base == 1 and type(base) is not bool:
        return np.ones_like(exponent)
    return elementary.complex_power(np.asarray(base, exponent.dtype), exponent)


def _power_of_pair(a: Any, b: Any) -> Any:
    """The power by elements. For one exponent of 0.5 numpy takes the root, which has another sign at -0 and no value at -inf."""
    b = np.asarray(b)
    power = _power(a, b)
    if b.dtype.kind == "f" and (b.size == 1 or b.size < power.size or 0 in b.strides) and (b == 0.5).any():
        return np.where((a == -np.inf) & (b == 0.5), np.inf, power + 0)
    return power


def _power_in_half(dtype: DType, a: Any, b: float) -> Any:
    """The power with a number, which takes the tensor's precision: float16 by the C library, bfloat16 rounded after each step."""
    b = float(dtypes.stored(np.asarray(b, np.float32), dtype))
    if dtype is dtypes.float16:
        return _power_of_pair(a, np.asarray(b, a.dtype))
    if b == -0.5:  # the vector code, which takes 64 elements at a time, rounds this power once
        root = np.asarray(np.sqrt(a))
        return np.true_divide(1, np.where(elementary.in_vectors(root, 64 * root.itemsize), root, dtypes.stored(root, dtype)))
    if b in (3, -2):
        square = dtypes.stored(np.asarray(np.multiply(a, a)), dtype)
        return np.multiply(square, a) if b == 3 else np.true_divide(1, square)
    return _power(a, b)


def _to_number(forward: Callable[[Any, Any], Any]) -> Pointwise:
    """The record of the power with a number."""

    def rule(xp: Any, grad: Any, input: Any, exponent: Any) -> Any:
        # x**0 is constant, also at 0 where 0 * 0**-1 would be nan
        if exponent == 0:
            return xp.zeros_like(grad)
        if type(exponent) is complex and xp.plain(input).dtype.kind != "c":
            own = input.dtype if type(input) is Tensor else dtypes.of(input.dtype)
            input = _conjugated(xp, input, dtypes.complex_of(own))
        if type(input) is not Tensor and exponent == 2:
            return grad * (input + input if input.dtype.kind == "f" else input * 2)  # numpy adds in half the time
        number: Any = exponent if type(exponent) is complex else float(exponent)
        return grad * scalars.times(xp, xp.call(record, input, number - 1), number)

    record = Pointwise(
        "PowBackward0",
        forward,
        "input",
        "exponent",
        input=Rule(rule, "grad * (0 if exponent == 0 else exponent * input**(exponent - 1))", "x**0 has derivative 0 everywhere, at 0 too"),
        complex=_complex_power,
    )
    return record


POW_SCALAR = _to_number(_power)
_IN_HALF = {dtype: _to_number(partial(_power_in_half, dtype)) for dtype in (dtypes.float16, dtypes.bfloat16)}
POW_TENSOR = Pointwise(
    "PowBackward1",
    _power_of_pair,
    "input exponent",
    input=Rule(_pow_base_rule, "where(exponent == 0, 0 * grad, grad * exponent * input**(exponent - 1))"),
    exponent=Rule(_pow_exponent_rule, "where((input == 0) & (exponent >= 0), 0 * grad, grad * out * log(input))", "0 for 0**y, y >= 0"),
    jvp=_pow_jvp,
    complex=_complex_power,
)
POW_NUMBER = Pointwise(
    "PowBackward2",
    lambda exponent, base: _power(np.asarray(base, exponent.dtype), exponent),
    "exponent",
    "base",
    saved="exponent result self=base",
    layout="contiguous",
    in_half=lambda dtype, exponent, base: _power(dtypes.stored(np.asarray(base, np.float32), dtype), exponent),
    exponent=Rule(_pow_number_rule, "grad * out * log(tensor(base))"),
    complex=lambda exponent, base: _power_of_complex(base, exponent),
)


def pow(a: Any, b: Operand) -> Tensor:
    """`a ** b` for a tensor and a number, two tensors, or a number and a tensor."""
    if type(a) is not Tensor:
        return rpow(b, a)  # type: ignore[arg-type]
    if type(b) is int:
        dtypes.check_whole(b)
    if type(b) is Tensor:
        if a.dtype is dtypes.bool_ and b.dtype is dtypes.bool_:
            check_broadcast([a.array, b.array])
            raise not_implemented("pow", a.dtype)
        return POW_TENSOR(a, b)
    if type(b) in (float, complex) and not a.dtype.is_differentiable:
        # an integer tensor to a float or complex power is computed in the default dtype
        dtype = dtypes.result_type((a, b))
        return POW_SCALAR(Tensor(memory_format.in_dtype(a.array, dtype.np), dtype), b)
    if a.dtype is dtypes.bool_ and type(b) is int:
        a = Tensor(memory_format.in_dtype(a.array, dtypes.int64.np), dtypes.int64)
    if type(b) is int and a.dtype.category == 1:
        if b < 0:
            raise _negative_power()
        # the exponent wraps around at 64 bits first, then in the tensor's dtype
        b = int(scalar_of(int(scalar_of(b, dtypes.int64)), a.dtype))
    if type(b) is not complex and a.dtype in _IN_HALF:
        scalar_of(b, a.dtype)
    return (_IN_HALF[a.dtype] if type(b) is not complex and a.dtype in _IN_HALF else POW_SCALAR)(a, b)


def rpow(a: Tensor, b: Number) -> Tensor:
    """`b ** a` for a number b."""
    dtype = dtypes.result_type((a, b))
    refuse_bool("pow", dtype)
    if dtype.is_complex and not a.dtype.is_complex:
        a = traced.cast(a, dtype)
    if dtype is not a.dtype:
        a = Tensor(memory_format.in_dtype(a.array, dtype.np), dtype)
    if type(b) is int and dtype.category == 1:  # a number out of range wraps around
        b = int(dtypes.wrapped(b, dtype))
    return POW_NUMBER(a, b)


def _double(*operands: Any) -> DType:
    """The dtype of double precision that holds all operands."""
    wide = any(x.dtype.is_complex if type(x) is Tensor else type(x) is complex for x in operands)
    return dtypes.complex128 if wide else dtypes.float64


def float_power(input: Any, exponent: Any) -> Tensor:
    """`input ** exponent` in double precision; one of both may be a number."""
    dtype = _double(input, exponent)
    number = complex if dtype.is_complex else float
    base, power = (traced.cast(x, dtype) if type(x) is Tensor else number(x) for x in (input, exponent))
    return pow(base, power)


def _float_power_in_place(input: Tensor, exponent: Operand) -> Tensor:
    dtype = _double(input, exponent)
    if input.dtype is not dtype:
        needed = f"the operation's result requires dtype {dtype.torch_name}"
        raise runtime_error(f"the base given to float_power_ has dtype {input.dtype.torch_name} but {needed}")
    from gradcli.core.graph import inplace_forms, write_checks  # a program may need powers and never write in place

    write_checks.check_memory(input)
    return inplace_forms.apply(input, lambda t: float_power(t, exponent))


def _check_power_out(values: list[Any], out: Tensor) -> None:
    dtype = _double(*values)
    if out.dtype is not dtype:
        needed = f"the operation's result requires dtype {dtype.torch_name}"
        raise runtime_error(f"the output given to float_power has dtype {out.dtype.torch_name} but {needed}")


_P, _X, _Y = [0.5, 1.5, 2.0], [0.5, -1.5, 2.0], [1.5, 0.5, -3.0]


def _pow_out(base: Operand, exponent: Operand) -> Out:
    """A tensor that a number makes another dtype is copied, so that its memory does not matter; of a number `out` gets its shape first."""
    if type(base) is Tensor:
        copied = type(exponent) is not Tensor and dtypes.result_type((base, exponent)) is not base.dtype
        return Out(memory="first", overlap="" if copied else "partial")
    how: Any = {"memory": "own", "lower": None} if base == 1 and base is not True else {"memory": "resized"}
    return Out(shape=lambda values: values[1].array.shape, **how)


FUNCTIONS = (
    Function(
        "square",
        ("Tensor input", lambda a: pow(a, 2)),
        doc="input squared.",
        ops=(POW_SCALAR,),
        samples=(Sample("square(x)", np.square, x=_X),),
        torch_inplace=("square_",),
        analytic=np.square,
        out=Out(operator="pow"),
    ),
    Function(
        "pow",
        ("Tensor input, Tensor exponent", pow),
        ("Number self, Tensor exponent", pow),
        ("Tensor input, Number exponent", pow),
        doc="Power.",
        ops=(POW_SCALAR, POW_TENSOR, POW_NUMBER),
        samples=(Sample("x ** 3", lambda x: x**3, x=_X), Sample("x ** y", np.power, x=_P, y=_Y), Sample("2 ** x", lambda x: 2**x, x=_X)),
        inplace=True,
        analytic=np.power,
        out=_pow_out,
    ),
    Function(
        "float_power",
        ("Tensor input, Tensor exponent", float_power),
        ("Number self, Tensor exponent", float_power),
        ("Tensor input, Number exponent", float_power),
        doc="input ** exponent in double precision.",
        samples=(Sample("float_power(x, 3)", lambda x: x**3, x=_X), Sample("float_power(x, y)", np.power, x=_P, y=_P)),
        out=Out(inspect=_check_power_out, operator="pow", late=True, memory="first", overlap="partial"),
    ),
    Function(
        "float_power_",
        ("Tensor input, Tensor exponent", _float_power_in_place),
        ("Tensor input, Number exponent", _float_power_in_place),
        doc="input to a power in double precision, in place.",
        samples=(Sample("(x.double() * 1).float_power_(3)", lambda x: x**3, x=_X),),
        function=False,
    ),
)
