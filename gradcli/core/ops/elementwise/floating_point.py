"""Floating point numbers: frexp, ldexp, nextafter, and the functions of nan and infinities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.named_tuples import NamedResult, named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import BOOLEAN, Out
from gradcli.core.graph.pointwise import Pointwise, check_fit
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import check_memory, resized, result_dtype_error
from gradcli.core.kernels import Array, elementary, memory_format
from gradcli.core.ops.checks import check_broadcast, not_implemented, refuse_complex, require_floating
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.power import POW_NUMBER
from gradcli.core.ops.rules import check_no_complex_gradient, recorded
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import Code, ProgramError, runtime_error

# --- mantissa and exponent ---


def _frexp(a: Array) -> tuple[Array, Array]:
    mantissa, exponent = np.frexp(a)
    return mantissa.astype(a.dtype), exponent.astype(np.int32)


FREXP = Op(
    "FrexpBackward0",
    _frexp,
    "input",
    outputs="mantissa exponent",
    layout="preserved",
    input=Rule(
        lambda xp, grad, exponent, input_dtype: grad / xp.exp2(xp.cast(exponent, input_dtype)),
        "grad / torch.exp2(torch.frexp(input)[1])",
    ),
)


def frexp(input: Tensor) -> NamedResult:
    """The mantissa and the exponent of `input = mantissa * 2**exponent`."""
    if not input.dtype.is_floating_point:
        raise runtime_error("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = FREXP(input)
    return named("frexp", "mantissa", "exponent")((mantissa, wrap(exponent.array)))


def _ldexp_rule(xp: Any, grad: Any, other: Any) -> Any:
    power, dtype = xp.plain(other), np.finfo(xp.plain(grad).dtype).dtype
    if power.dtype.kind == "c" or (type(other) is Tensor and other.requires_grad):
        return grad * xp.call(POW_NUMBER, other, 2)
    if power.dtype.kind in "iu":  # powers of integers are integers here, of the same size: 2**-1 is 0
        bits = np.clip(power.astype(np.int64), 0, 63)
        scale = np.where((power < 0) | (power > 63), 0, np.left_shift(np.int64(1), bits)).astype(power.dtype).astype(dtype)
    elif power.dtype == np.float16:  # a power has the precision of its exponent
        scale = np.exp2(power.astype(np.float32)).astype(power.dtype).astype(dtype)
    else:
        scale = np.exp2(np.asarray(power, dtype))
    return scalars.times_data(xp, grad, scale)


LDEXP = Pointwise(
    "LdexpBackward0",
    np.ldexp,
    "input other",
    kind="float",
    input=Rule(_ldexp_rule, "grad * 2**other", "0 for negative exponents that are integers"),
    other=Rule(lambda xp, grad, out: scalars.times(xp, grad * out, math.log(2)), "grad * out * math.log(2)"),
    real_part=False,
    complex=lambda x, other: elementary.complex_product(x, elementary.complex_power(np.asarray(2, other.dtype), other)),
)


def _has_whole_exponents(input: Tensor, other: Tensor) -> bool:
    return input.dtype.is_floating_point and not other.dtype.is_differentiable


def _with_whole_exponents(input: Tensor, other: Tensor) -> Array:
    """The C library's ldexp, which takes exponents of 32 bits; the result is laid out as `input`, if it has its shape."""
    if other.dtype is dtypes.bool_:
        raise not_implemented("ldexp_cpu_exp", other.dtype)
    x = input.array
    made = dtypes.cast(np.asarray(np.ldexp(x.astype(np.result_type(x, np.float32)), other.array.astype(np.int32))), input.dtype)
    if made.shape == x.shape:
        return memory_format.laid_out(made, memory_format.preserved(x))
    return memory_format.like_operands(made, (x, other.array))


def _with_powers(input: Tensor, other: Tensor, dtype: DType) -> Array:
    """The product with 2**other, which has a dtype of its own."""
    base = input.dtype if input.dtype.is_differentiable else dtypes.get_default()
    if dtype.is_complex and other.dtype is dtypes.float16:
        warnings.complex_half()
        raise ProgramError("NotImplementedError", "\"pow\" not implemented for 'ComplexHalf'", code=Code.NO_KERNEL)
    own = dtypes.result_type((Tensor(np.array(2, base.np), base), other))
    exponents = np.asarray(other.array, np.result_type(own.np, np.float32))
    powers = elementary.complex_power(np.asarray(2, own.np), exponents) if own.is_complex else elementary.exp2(exponents)
    wide = np.result_type(dtype.np, np.float32)
    multiply = elementary.complex_product if dtype.is_complex else np.multiply
    made = dtypes.cast(np.asarray(multiply(input.array.astype(wide), dtypes.stored(np.asarray(powers), own).astype(wide))), dtype)
    x, y = (t.array if t.dtype is dtype else memory_format.as_converted(t.array) for t in (input, other))
    return memory_format.like_operands(made, (x, memory_format.contiguous(y) if dtype is dtypes.float32 else y))


def _scaled(input: Tensor, other: Tensor) -> Tensor:
    dtype = dtypes.result_type((input, other))
    check_fit(input.array, other.array)
    if not dtype.is_differentiable:
        dtype = dtypes.get_default()
    made = _with_whole_exponents(input, other) if _has_whole_exponents(input, other) else _with_powers(input, other, dtype)
    return recorded(LDEXP, Tensor(made, dtype), input, other)


def _ldexp(input: Tensor, other: Tensor) -> Tensor:
    """`input * 2**other`. PyTorch warns where the result of whole exponents is larger than the floating point input."""
    made = _scaled(input, other)
    grown = made.array.shape != input.array.shape and input.array.size
    if grown and _has_whole_exponents(input, other):
        warnings.emit(resized(input.array.shape, made.array.shape))
    return made


def _ldexp_in_place(input: Tensor, other: Tensor) -> Tensor:
    dtype = dtypes.result_type((input, other))
    if not input.dtype.is_differentiable:
        raise result_dtype_error(dtype.torch_name, input.dtype)
    check_fit(input.array, other.array)
    if dtype.is_complex and not input.dtype.is_complex:
        raise result_dtype_error(dtype.torch_name, input.dtype)
    return _scaled(input, other)


# --- the next number ---


def _next(a: Any, b: Any) -> Array:
    """The next number, which is `b` where both are equal (-0 and 0); numpy returns `a` in half precision."""
    a, b = np.asarray(a), np.asarray(b)
    return np.asarray(np.where(np.equal(a, b), b, np.nextafter(a, b)))


def _next_bfloat(a: Any, b: Any) -> Array:
    """The next bfloat16 number, as float32: a step changes the upper 16 of the 32 bits by 1."""
    x, y = np.broadcast_arrays(np.asarray(a, np.float32), np.asarray(b, np.float32))
    bits = np.array(x, order="C").view(np.int32)
    away = (y > x) == (x > 0)
    stepped = (bits + np.where(away, 1 << 16, -(1 << 16)).astype(np.int32)).view(np.float32)
    least = np.copysign(np.int32(1 << 16).view(np.float32), y)
    moved = np.where(x == 0, least, stepped)
    return np.where(np.isnan(x) | np.isnan(y), np.float32(np.nan), np.where(x == y, y, moved))


def _next_jvp(xp: Any, inputs: Any, _: Any, tangents: Any, out: Tensor) -> Any:
    """The tangent of the first operand, in its own dtype; PyTorch's formula leaves out the other one."""
    if tangents[0] is None:
        return None
    return xp.where(memory_format.compared(np.equal, *(xp.plain(x) for x in inputs)), 0.0, tangents[0])


def _next_record(forward: Callable[[Any, Any], Array]) -> Pointwise:
    return Pointwise(
        "NextafterBackward0",
        forward,
        "input other",
        narrow=True,
        jvp=_next_jvp,
        input=Rule(
            lambda xp, grad, input, other: xp.where(memory_format.compared(np.equal, xp.plain(input), xp.plain(other)), 0.0, grad),
            "where(input == other, 0, grad)",
            "0 where both are equal",
        ),
        other=Rule(lambda xp, grad: xp.zeros_like(grad), "zeros_like(grad)"),
    )


NEXTAFTER, _NEXTAFTER_BFLOAT = _next_record(_next), _next_record(_next_bfloat)


def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The number after `input` in the direction of `other`; both are floating."""
    dtype = dtypes.result_type((input, other))
    check_broadcast([input.array, other.array])
    require_floating("nextafter_cpu", dtype)
    return (_NEXTAFTER_BFLOAT if dtype is dtypes.bfloat16 else NEXTAFTER)(input, other)


# --- nan and infinities ---


def _replace(x: Any, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    if x.dtype.kind != "f":
        return memory_format.copy(np.asarray(x))
    largest = float(np.finfo(x.dtype).max)
    return _replaced(x, nan, largest if posinf is None else posinf, -largest if neginf is None else neginf)


def _replaced(x: Any, nan: float | None, posinf: float, neginf: float) -> Any:
    made = np.where(np.isnan(x), x.dtype.type(0.0 if nan is None else nan), x)
    made = np.where(np.isposinf(x), x.dtype.type(posinf), made)
    made = np.where(np.isneginf(x), x.dtype.type(neginf), made)
    return memory_format.laid_out(np.asarray(made), memory_format.preserved(np.asarray(x)))


def _replace_parts(x: Any, *instead: float | None) -> Any:
    made = np.empty(x.shape, x.dtype)
    made.real, made.imag = (_replace(np.asarray(part), *instead) for part in (x.real, x.imag))
    return made


def _finite(x: Any) -> Any:
    return memory_format.like_operands(np.isfinite(x), (x,)) if type(x) is np.ndarray else np.isfinite(x)


def _nan_to_num(input: Tensor, *numbers: float | None) -> Tensor:
    check_no_complex_gradient("nan_to_num", input)
    return _with_numbers(input, *numbers)


def _with_numbers(input: Tensor, nan: float | None, posinf: float | None, neginf: float | None) -> Tensor:
    """`nan_to_num` of any dtype, also of complex numbers that require grad, of which PyTorch refuses the out-of-place form alone."""
    if input.dtype is dtypes.bfloat16:  # the array, of float32, can hold larger numbers
        largest = dtypes.largest(input.dtype)
        posinf, neginf = largest if posinf is None else posinf, -largest if neginf is None else neginf
    return NAN_TO_NUM(input, nan, posinf, neginf)


def _nan_to_num_(input: Tensor, *numbers: float | None) -> Tensor:
    """The new values of `nan_to_num_`, which takes integers whose places are shared, since it leaves them as they are."""
    if input.dtype.is_differentiable:
        check_memory(input)
    return _with_numbers(input, *numbers)


_NAN_TO_NUM = "Tensor input, float? nan=None, float? posinf=None, float? neginf=None"
NAN_TO_NUM = Pointwise(
    "NanToNumBackward0",
    _replace,
    "input",
    "nan posinf neginf",
    narrow=True,
    layout="preserved",
    saved="self",
    complex=_replace_parts,
    input=Rule(
        lambda xp, grad, input: scalars.times_data(xp, grad, _finite(xp.plain(input))),
        "grad * isfinite(input)",
        "0 where input is replaced",
    ),
)

_X = [0.75, -3.0, 10.0]


def _test(name: str, forward: Callable[[Array], Any], doc: str, out: bool = False, whole: bool = False, parts: bool = False) -> Function:
    """`whole`: PyTorch answers for integers without a look at them, in the memory format of `empty_like`.

    `parts`: it tests views of the parts of complex numbers, whose strides decide those of the result.
    """
    samples = (Sample(f"torch.{name}(tensor([1., -math.inf]))"),) if out else ()

    def run(input: Tensor) -> Tensor:
        if out:
            refuse_complex(name, input.dtype)
        tested = np.asarray(forward(input.array))
        if whole and not input.dtype.is_differentiable:
            return wrap(memory_format.laid_out(tested, memory_format.preserved(input.array)))
        return wrap(memory_format.like_operands(tested, (input.array.real if parts else input.array,)))

    def check(values: list[Any], out: Tensor) -> None:
        refuse_complex(name, values[0].dtype)

    into = Out(BOOLEAN, dtype=dtypes.bool_, first=True, inspect=check) if out else False
    return Function(name, ("Tensor input", run), doc=doc, samples=samples, out=into, overlap="partial")


def _check_ldexp(values: list[Any], out: Tensor) -> None:
    if not out.dtype.is_differentiable:
        raise runtime_error(f"ldexp can't be cast to the desired output type {out.dtype.torch_name}")


def _nan_to_num_out(input: Tensor, *_: Any) -> Out:
    """How `nan_to_num` takes `out`, into which PyTorch copies numbers that cannot be nan."""
    copied: Any = {} if input.dtype.is_differentiable else {"memory": "resized", "overlap": "partial", "row_major": "always"}
    return Out("nan_to_num: dtype of out: {out} should be same as input: {result}", **copied)


FUNCTIONS = (
    Function(
        "frexp",
        ("Tensor input |2 outs", frexp),
        doc="mantissa and exponent of input = mantissa * 2**exponent.",
        ops=(FREXP,),
        samples=(Sample("frexp(x).mantissa", lambda x: np.frexp(x)[0], x=_X),),
        overlap="partial",
        out=Out(
            {
                "mantissa": "torch.frexp() expects mantissa to have dtype {result_c} but got {out_c}",
                "exponent": "torch.frexp() expects exponent to have int dtype but got {out_c}",
            }
        ),
    ),
    Function(
        "ldexp",
        ("Tensor input, Tensor other", _ldexp),
        doc="input * 2**other.",
        ops=(LDEXP,),
        samples=(Sample("ldexp(x, tensor([1., 2., -1.]))", lambda x: x * np.array([2, 4, 0.5]), x=_X),),
        torch_inplace=("ldexp_",),
        written=(("Tensor input, Tensor other", _ldexp_in_place),),
        overlap="",
        out=Out(memory="first", overlap=("partial", ""), inspect=_check_ldexp),  # the power of two is computed apart
    ),
    Function(
        "nextafter",
        ("Tensor input, Tensor other", nextafter),
        doc="The number after input in the direction of other.",
        ops=(NEXTAFTER,),
        samples=(Sample("nextafter(x, y)", np.nextafter, x=_X, y=[1.0, 1.0, 0.0]),),
        inplace=True,
        out=True,
    ),
    Function(
        "nan_to_num",
        (_NAN_TO_NUM, _nan_to_num),
        doc="nan as 0 (or nan), infinities as the largest numbers (or posinf, neginf).",
        ops=(NAN_TO_NUM,),
        samples=(Sample("nan_to_num(x)", np.nan_to_num, x=_X),),
        torch_inplace=("nan_to_num_",),
        written=((_NAN_TO_NUM, _nan_to_num_),),
        fills=True,
        out=_nan_to_num_out,
    ),
    _test("isnan", np.isnan, "Elementwise test for nan."),
    _test("isinf", np.isinf, "Elementwise test for infinities.", whole=True, parts=True),
    _test("isfinite", np.isfinite, "Elementwise test for finite values.", whole=True),
    _test("isposinf", lambda x: x == np.inf, "Whether elements are infinity.", True),
    _test("isneginf", lambda x: x == -np.inf, "Whether elements are minus infinity.", True),
)
