"""Functions of complex numbers: their parts, conjugates and angles, and complex tensors made of real ones. Most also take real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import SAME, Out
from gradcli.core.graph import inplace_forms
from gradcli.core.graph.clone import CLONE, CONTIGUOUS
from gradcli.core.graph.conjugate import CONJ, CONJ_VIEW, conj, in_memory_of_conjugates
from gradcli.core.graph.pointwise import Pointwise, check_fit
from gradcli.core.graph.recast import Recast
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, elementary, memory_format
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.elementwise.add_multiply import MUL
from gradcli.core.ops.elementwise.complex_signs import DIRECTION, REAL, SIZE
from gradcli.core.ops.elementwise.divide_remainder import DIV
from gradcli.core.ops.rules import UNCHANGED, zeros_as
from gradcli.core.ops.shape.layout import offset_in
from gradcli.core.ops.shape.slicing import SELECT
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error


def _pairs(a: Array) -> Array:
    """Complex numbers of any strides as pairs of real ones, in the same memory."""
    parts = np.asarray(a).real
    return as_strided(parts, (*parts.shape, 2), (*parts.strides, parts.itemsize), writeable=parts.flags.writeable)


def _numbers(a: Array) -> Array:
    """Pairs of real numbers, side by side in memory, as complex ones in the same memory."""
    a = np.asarray(a)
    kind = np.dtype(np.complex64 if a.itemsize == 4 else np.complex128)
    a = memory_format.spelled_out(a) if not a.size or a.strides[-1] == a.itemsize else np.ascontiguousarray(a)
    made = np.asarray(a.view(kind)[..., 0])
    strides = tuple(s // 2 * kind.itemsize for s in memory_format.element_strides(a)[:-1])
    return as_strided(made, made.shape, strides, writeable=made.flags.writeable)


def _paired(xp: Any, grad: Any) -> Any:
    array = xp.plain(grad)
    if not array.size and memory_format.element_strides(array)[-1] != 1:  # an expanded gradient, which PyTorch takes for contiguous
        raise runtime_error("Tensor must have a last dimension with stride 1")
    return xp.call(VIEW_AS_COMPLEX, grad if xp.plain(grad).flags.c_contiguous else xp.call(CONTIGUOUS, grad))


CONJ_PHYSICAL: Op = Op(
    "ConjPhysicalBackward0",
    np.conjugate,
    "input",
    complex=True,
    wirtinger=True,
    input=Rule(lambda xp, grad: xp.call(CONJ_PHYSICAL, grad), "grad.conj()"),
)
VIEW_AS_REAL: Op = Recast("ViewAsRealBackward0", _pairs, "input", view=True, input=Rule(_paired, "view_as_complex(grad.contiguous())"))
VIEW_AS_COMPLEX: Op = Recast(
    "ViewAsComplexBackward0",
    _numbers,
    "input",
    view=True,
    wirtinger=True,
    input=Rule(lambda xp, grad: xp.call(VIEW_AS_REAL, grad), "view_as_real(grad)"),
)


#: pairs of real numbers negated, of which the imaginary parts are used: those of the conjugates. PyTorch negates them when they are read.
_NEG_VIEW = Recast("NegViewBackward0", in_memory_of_conjugates, "input", view=True, input=Rule(lambda grad: -grad, "-grad"))


def _imaginary(xp: Any, x: Any) -> Any:
    return xp.call(SELECT, xp.call(VIEW_AS_REAL, x), -1, 1)


REAL_CONJ_PHYSICAL = Op("ConjPhysicalBackward1", lambda a: a, "input", input=UNCHANGED)
COMPLEX_CONJ_PHYSICAL: Op = Op(
    "ConjPhysicalBackward1",
    np.conjugate,
    "input",
    complex=True,
    wirtinger=True,
    input=Rule(lambda xp, grad: xp.call(CONJ, grad), "grad.conj()"),
)


def _conj_physical_(input: Tensor) -> Tensor:
    if input.dtype.is_complex:
        return inplace_forms.apply(input, COMPLEX_CONJ_PHYSICAL)
    return inplace_forms.fill(input, REAL_CONJ_PHYSICAL, "conj_physical_")


def _conj_physical(input: Tensor) -> Tensor:
    return CONJ_PHYSICAL(input) if input.dtype.is_complex else input


def _resolve_conj(input: Tensor) -> Tensor:
    return CLONE(input) if input.property_of("conj") else input


def _resolve_neg(input: Tensor) -> Tensor:
    return CLONE(input) if input.property_of("neg") else input


# --- parts ---


def _real(input: Tensor) -> Tensor:
    return _part(input, 0) if input.dtype.is_complex else input


def _part(input: Tensor, index: int) -> Tensor:
    """The real or the imaginary part; of a conjugate that of the tensor itself, negated if it is the imaginary one."""
    if not input.property_of("conj"):
        return SELECT(VIEW_AS_REAL(input), input.array.ndim, index)  # type: ignore[no-any-return]
    if index and input.batch is not None:
        text = "Batching rule not implemented for aten::_neg_view; the fallback path doesn't work on out= or view ops."
        raise runtime_error(text)
    pairs = VIEW_AS_REAL(conj(input))
    if not index:
        return SELECT(pairs, input.array.ndim, 0)  # type: ignore[no-any-return]
    made: Tensor = SELECT(_NEG_VIEW(pairs), input.array.ndim, 1)
    made.set_property("neg", True)
    return made


def _imag(input: Tensor) -> Tensor:
    if not input.dtype.is_complex:
        raise runtime_error("imag is not implemented for tensors with non-complex dtypes.")
    return _part(input, 1)


def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones. Raises RuntimeError for real numbers and for conjugates that are not resolved."""
    if not input.dtype.is_complex:
        raise runtime_error("view_as_real is only supported for complex tensors")
    if input.property_of("conj"):
        raise runtime_error(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, use "
            "self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
        )
    return VIEW_AS_REAL(input)  # type: ignore[no-any-return]


def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers as complex ones. Raises RuntimeError for other dtypes, sizes and strides."""
    if input.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
        name = input.dtype.torch_name
        raise runtime_error(
            f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: {name}"
        )
    if not input.array.ndim:
        raise runtime_error("Input tensor must have one or more dimensions")
    if input.array.shape[-1] != 2:
        raise runtime_error("Tensor must have a last dimension of size 2")
    *strides, last = memory_format.element_strides(input.array)
    if last != 1:
        raise runtime_error("Tensor must have a last dimension with stride 1")
    if any(n != 1 and stride % 2 for n, stride in zip(input.array.shape, strides, strict=False)):
        raise runtime_error("Tensor must have a stride divisible by 2 for all but last dimension")
    if offset_in(memory_format.owner(input.array), input.array) % 2:
        raise runtime_error("Tensor must have a storage_offset divisible by 2")
    dtypes.complex_of(input.dtype)
    return VIEW_AS_COMPLEX(input)  # type: ignore[no-any-return]


def _isreal(input: Tensor) -> Tensor:
    x = input.array
    if input.dtype.is_complex:
        return wrap(memory_format.compared(np.equal, x.imag, 0))
    made = memory_format.empty(x.shape, memory_format.preserved(x), np.dtype(bool))
    made.fill(True)
    return wrap(made)


# --- complex tensors of real ones ---


def _joined(real: Array, imag: Array, *operands: Array) -> Array:
    """Complex numbers of two parts, laid out as the operands, or the parts themselves, make it."""
    made = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.complex64 if real.dtype == np.float32 else np.complex128)
    made.real, made.imag = real, imag
    return memory_format.like_operands(made, operands or (real, imag))


COMPLEX: Op = Op(
    "ComplexBackward0",
    lambda real, imag: _joined(real, imag),
    "real imag",
    saved="real imag",
    complex=True,
    wirtinger=True,
    jvp="linear",
    real=Rule(lambda xp, grad: xp.call(REAL, grad), "grad.real"),
    imag=Rule(lambda xp, grad: _imaginary(xp, grad), "grad.imag"),
)
POLAR: Op = Op(
    "PolarBackward0",
    lambda size, angle: _joined(size * np.cos(angle), size * np.sin(angle), size, angle),
    "abs angle",
    saved="result",
    complex=True,
    wirtinger=True,
    jvp=lambda xp, inputs, attrs, tangents, out: _polar_jvp(xp, inputs, tangents),
    abs=Rule(
        lambda xp, grad, out: xp.call(REAL, xp.call(MUL, xp.call(CONJ, grad), xp.call(DIRECTION, out))), "(grad.conj() * sgn(out)).real"
    ),
    angle=Rule(
        lambda xp, grad, out: xp.call(REAL, xp.call(MUL, xp.call(CONJ, grad), xp.call(MUL, out, 1j))), "(grad.conj() * (out * 1j)).real"
    ),
)


def _polar_jvp(xp: Any, inputs: Any, tangents: Any) -> Any:
    """Of both parts apart, as in PyTorch: a complex product would have nan where a part is infinite."""
    (size, angle), (grown, turned) = inputs, tangents
    cos, sin = xp.cos(angle), xp.sin(angle)
    if turned is None:
        return COMPLEX(grown * cos, grown * sin)
    if grown is None:
        return COMPLEX(-(turned * size * sin), turned * size * cos)
    return COMPLEX(grown * cos - turned * size * sin, grown * sin + turned * size * cos)


def _check_parts(first: Tensor, second: Tensor, out: Tensor | None = None) -> None:
    """Raise RuntimeError for other dtypes, and for an `out` where PyTorch wants complex numbers of half precision; warn of those."""
    for t in (first, second):
        if t.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
            names = f"{first.dtype.torch_name} and {second.dtype.torch_name}"
            raise runtime_error(f"Expected both inputs to be Half, Float or Double tensors but got {names}")
    if first.dtype is dtypes.float16 and out is None:
        warnings.complex_half()
    if first.dtype is not second.dtype:
        raise runtime_error(
            f"Expected object of scalar type {first.dtype.torch_name} but got scalar type {second.dtype.torch_name} for second argument"
        )
    if first.dtype is dtypes.float16 and out is not None:
        raise runtime_error(f"Expected object of scalar type ComplexHalf but got scalar type {out.dtype.torch_name} for argument 'out'")


def _of_parts(op: Op, name: str) -> Callable[[Tensor, Tensor], Tensor]:
    def run(first: Tensor, second: Tensor) -> Tensor:
        _check_parts(first, second)
        check_fit(first.array, second.array)
        if op is POLAR and first.dtype is dtypes.float16:
            raise not_implemented("polar_cpu", first.dtype)
        dtypes.complex_of(first.dtype)
        return op(first, second)  # type: ignore[no-any-return]

    run.__name__ = name
    return run


# --- angles ---


def _angle(x: Array) -> Array:
    return np.where(np.isnan(x), x, np.where(x < 0, x.dtype.type(np.pi), x.dtype.type(0)))


def _complex_angle(x: Array) -> Array:
    """The angle of complex numbers, as vector code has it and, of complex64, as the C library."""
    y, real = x.imag, x.real
    if x.size > elementary.LARGEST:
        return np.asarray(np.angle(x))
    if real.itemsize == 8:
        return np.asarray(np.arctan2(y.astype(np.longdouble), real.astype(np.longdouble)).astype(real.dtype))
    vectors = elementary.in_vectors(x)
    return np.asarray(np.where(vectors, elementary.wide_arctan2(y, real), elementary.arctan2_one_by_one(y, real)))


def _angle_rule(xp: Any, grad: Any, input: Any) -> Any:
    size = xp.call(SIZE, input)
    turned = xp.call(MUL, xp.call(DIV, xp.call(MUL, grad, input), size * size), 1j)
    return xp.where(xp.plain(input) == 0, 0.0, turned)


COMPLEX_ANGLE: Op = Op(
    "AngleBackward0",
    _complex_angle,
    "input",
    layout="contiguous",
    complex=True,
    input=Rule(_angle_rule, "where(input == 0, 0, grad * input / abs(input)**2 * 1j)", "0 at 0"),
)
ANGLE = Pointwise(
    "AngleBackward0",
    lambda x: _angle(np.asarray(x)),
    "input",
    saved="self",
    kind="float",
    complex=COMPLEX_ANGLE,
    input=Rule(lambda xp, input: zeros_as(xp, input), "0 * grad"),
)


_X = [1.0, -2.0]


def _same(
    name: str, doc: str, *samples: Sample, run: Callable[[Tensor], Any] = lambda t: t, ops: tuple[Op, ...] = (), **more: Any
) -> Function:
    samples = samples or (Sample(f"torch.{name}(x)", np.copy, x=_X),)
    return Function(name, ("Tensor input", run), doc=doc, ops=ops, samples=samples, **more)


def _into(real: Tensor, imaginary: Tensor) -> Out:
    """How a function of the parts of complex numbers takes `out`, whose dtype is checked after theirs."""
    fits = real.dtype is imaginary.dtype and real.dtype in (dtypes.float32, dtypes.float64)
    text = "Expected object of scalar type {result} but got scalar type {out} for argument 'out'"
    dtype = dtypes.complex_of(real.dtype) if fits else None
    return Out(text, dtype=dtype, first=fits, inspect=lambda values, out: _check_parts(values[0], values[1], out))


FUNCTIONS = (
    Function(
        "is_conj",
        ("Tensor input", lambda t: bool(t.property_of("conj"))),
        doc="Whether the tensor is a conjugate that PyTorch computes when it is read.",
        samples=(Sample("tensor(1.).is_conj()"),),
    ),
    Function(
        "is_neg",
        ("Tensor input", lambda t: bool(t.property_of("neg"))),
        doc="Whether the tensor is the imaginary part of a conjugate, which PyTorch negates when it is read.",
        samples=(Sample("tensor(1.).is_neg()"),),
    ),
    _same("resolve_conj", "The tensor itself, or a copy of a conjugate.", run=_resolve_conj),
    _same("resolve_neg", "The tensor itself, or a copy of the imaginary part of a conjugate.", run=_resolve_neg),
    _same(
        "conj_physical",
        "The conjugate; a real tensor itself.",
        Sample("torch.conj_physical(torch.complex(x, y)).imag", lambda x, y: -y, x=_X, y=[0.5, 3.0]),
        run=_conj_physical,
        ops=(CONJ_PHYSICAL,),
        out=Out(SAME, autograd="fallback"),
        overlap="partial",
    ),
    Function(
        "conj_physical_",
        ("Tensor input", _conj_physical_),
        doc="Conjugated in place: a real tensor stays.",
        ops=(REAL_CONJ_PHYSICAL,),
        samples=(Sample("(x * 1).conj_physical_()", np.copy, x=_X),),
    ),
    Function(
        "imag",
        ("Tensor input", _imag),
        doc="The imaginary part, which a real tensor has not.",
        method=False,
        samples=(Sample("torch.imag(torch.complex(x, y))", lambda x, y: y, x=_X, y=_X),),
    ),
    Function(
        "angle",
        ("Tensor input", lambda x: ANGLE(x)),
        doc="The angle of complex numbers; 0 for positive numbers, pi for negative ones.",
        ops=(ANGLE, COMPLEX_ANGLE),
        samples=(
            Sample("angle(x)", lambda x: np.where(x < 0, np.pi, 0), x=_X),
            Sample("angle(torch.complex(x, y))", lambda x, y: np.arctan2(y, x), x=_X, y=[0.5, 3.0]),
        ),
        out=True,
    ),
    Function(
        "isreal",
        ("Tensor input", _isreal),
        doc="Whether elements have no imaginary part.",
        samples=(Sample("torch.isreal(tensor([1., -math.inf]))"),),
    ),
    _same("real", "The real part; a real tensor itself.", Sample("torch.real(tensor([1., -math.inf]))"), run=_real, method=False),
    _same("conj", "The conjugate; a real tensor itself.", Sample("torch.conj(tensor([1., -math.inf]))"), run=conj, ops=(CONJ_VIEW,)),
    Function(
        "view_as_real",
        ("Tensor input", view_as_real),
        doc="Complex numbers as pairs of real ones along a new last dimension, as a view.",
        ops=(VIEW_AS_REAL,),
        samples=(Sample("torch.view_as_real(torch.complex(x, y))", lambda x, y: np.stack([x, y], -1), x=_X, y=_X),),
        method=False,
    ),
    Function(
        "view_as_complex",
        ("Tensor input", view_as_complex),
        doc="Pairs of real numbers along the last dimension as complex ones, as a view.",
        ops=(VIEW_AS_COMPLEX,),
        samples=(Sample("torch.view_as_complex(x).abs()", lambda x: np.hypot(x[..., 0], x[..., 1]), x=[_X, [0.5, 2.0]]),),
        method=False,
    ),
    Function(
        "complex",
        ("Tensor real, Tensor imag", _of_parts(COMPLEX, "complex")),
        doc="Complex numbers of real and imaginary parts.",
        ops=(COMPLEX,),
        samples=(Sample("torch.complex(x, y).abs()", np.hypot, x=_X, y=[0.5, 3.0]),),
        method=False,
        out=_into,
        overlap="partial",
    ),
    Function(
        "polar",
        ("Tensor abs, Tensor angle", _of_parts(POLAR, "polar")),
        doc="Complex numbers of absolute values and angles.",
        ops=(POLAR,),
        samples=(Sample("torch.polar(x, y).real", lambda x, y: x * np.cos(y), x=[1.0, 2.0], y=[0.5, 3.0]),),
        method=False,
        out=_into,
        overlap="partial",
    ),
)
