"""Sums, differences and products: add, sub, rsub, mul, neg, addcmul and their aliases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import SAME, Out
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import NONDIFF, Rule
from gradcli.core.kernels import elementary, memory_format
from gradcli.core.ops.checks import Number, Operand, check_broadcast, refuse_bool
from gradcli.core.ops.rules import NEGATED, UNCHANGED
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error

# --- tangents of sums and products, in the order and with the steps of PyTorch's formulas ---


def negative_zero(like: Tensor) -> Tensor:
    """-0, which changes no number that it is added to. PyTorch records an addition also where one tangent is zero."""
    return Tensor(np.array(-0.0, like.dtype.np), like.dtype)


def times_tangent(tangent: Tensor | None, factor: Any, like: Tensor) -> Any:
    """`tangent * factor`. A zero tangent gives -0, which has the factor's history, if the factor has one."""
    if tangent is None:
        recorded = type(factor) is Tensor and factor.requires_grad and state.enabled
        return factor * -0.0 if recorded else negative_zero(like)
    return tangent * factor


def _product_jvp(_: Any, inputs: Sequence[Any], __: Any, tangents: Sequence[Tensor | None], out: Tensor) -> Any:
    (a, b), (a_t, b_t) = inputs, tangents
    return times_tangent(b_t, a, out) + times_tangent(a_t, b, out)


def _sum_jvp(_: Any, __: Any, ___: Any, tangents: Sequence[Tensor | None], out: Tensor) -> Any:
    a_t, b_t = tangents
    return (negative_zero(out) if a_t is None else a_t) + (negative_zero(out) if b_t is None else b_t)


#: the fewest elements of a gradient that is examined for being expanded
_LARGE = 1 << 14


def _times(grad: Any, other: Any) -> Any:
    """`grad * other`; the product of an expanded gradient and a number is written without reading, in a fifth of the time."""
    if type(other) not in (int, float) or type(grad) is not np.ndarray:
        return grad * other
    if grad.size > _LARGE and not any(grad.strides):
        product = grad[(0,) * grad.ndim] * other
        return np.full(grad.shape, product, product.dtype)
    made = grad * other
    if made.strides == grad.strides or 1 not in made.shape:
        return made
    # numpy forgets the strides of dimensions of size 1
    return memory_format.like_operands(made, (grad, memory_format.NUMBER))


# --- the records ---

# PyTorch multiplies a complex operand by alpha, also by 1: where one part is infinite or nan, the other becomes nan
ADD = Pointwise(
    "AddBackward0",
    np.add,
    "input other",
    saved="alpha=1",
    jvp=_sum_jvp,
    input=UNCHANGED,
    other=UNCHANGED,
    complex=lambda a, b: a + b * np.complex64(1),
)
ADD_NUMBER = Pointwise("AddBackward1", np.add, "input", "other", saved="", kind="number", input=UNCHANGED, complex=True)


def _factor(alpha: Any, b: Any) -> Any:
    """The factor of an array; that of integers wraps around, and that of truth values is one."""
    dtype = getattr(b, "dtype", None)
    return alpha if dtype is None or dtype.kind not in "iub" else np.asarray(alpha).astype(dtype)


def _scaled_in_half(dtype: DType, a: Any, b: Any, alpha: float) -> Any:
    """`a + alpha * b` in half precision: PyTorch's scalar code rounds the product too."""
    a, b, factor = (dtypes.stored(np.asarray(x, np.float32), dtype) for x in (a, b, alpha))
    product = np.asarray(factor * b)
    once = np.asarray(a + product)
    return np.where(elementary.in_vectors(once, 32 * once.itemsize, a, b), once, a + dtypes.stored(product, dtype))


ADD_SCALED = Pointwise(
    "AddBackward0",
    lambda a, b, alpha: elementary.fused(b, _factor(alpha, b), a),
    "input other",
    "alpha",
    in_half=_scaled_in_half,
    input=UNCHANGED,
    other=Rule(lambda xp, grad, alpha: xp.call(MUL_NUMBER, grad, alpha), "grad * alpha"),
    complex=lambda a, b, alpha: a + alpha * b,
)
SUB = Pointwise(
    "SubBackward0",
    np.subtract,
    "input other",
    saved="alpha=1",
    input=UNCHANGED,
    other=NEGATED,
    complex=lambda a, b: a + b * np.complex64(-1),
)
SUB_NUMBER = Pointwise("SubBackward1", np.subtract, "input", "other", saved="", kind="number", input=UNCHANGED, complex=True)


def _minus(a: Any, b: Any, alpha: Any) -> Any:
    """`a - alpha * b`."""
    if isinstance(a, np.ndarray) and a.dtype.kind == "f":
        return elementary.fused(b, -alpha, a)
    return np.subtract(a, b * _factor(alpha, b)) if alpha else np.add(a, b * _factor(-alpha, b))


def _minus_scaled_rule(xp: Any, grad: Any, alpha: Any) -> Any:
    return -grad if alpha == 1 else xp.call(MUL_NUMBER, -grad, alpha)


SUB_SCALED = Pointwise(
    "SubBackward0",
    _minus,
    "input other",
    "alpha",
    in_half=lambda dtype, a, b, alpha: _scaled_in_half(dtype, a, b, -alpha),
    input=UNCHANGED,
    other=Rule(_minus_scaled_rule, "-grad * alpha"),
    complex=True,
)
SUB_NUMBER_SCALED = Pointwise(
    "SubBackward1",
    # minus the whole number 0 is 0, not -0
    lambda a, other, alpha: _minus(a, a.dtype.type(other), alpha if alpha == 0 else a.dtype.type(alpha)),
    "input",
    "other alpha",
    saved="",
    layout="numbered",
    in_half=lambda dtype, a, b, alpha: _scaled_in_half(dtype, a, b, -alpha),
    input=UNCHANGED,
    complex=True,
)
RSUB = Pointwise(
    "RsubBackward1",
    lambda a, b, alpha: np.subtract(b, a) if alpha == 1 else np.subtract(b, a * _factor(alpha, a)),
    "input other",
    "alpha",
    in_half=lambda dtype, a, b, alpha: _scaled_in_half(dtype, b, a, -alpha),
    input=Rule(_minus_scaled_rule, "-grad * alpha"),
    other=NONDIFF,
    complex=lambda a, b, alpha: b + a * a.dtype.type(-alpha),
)
RSUB_TENSOR = Pointwise(
    "RsubBackward0",
    lambda a, b, alpha: np.subtract(b, a) if alpha == 1 else _minus(b, a, alpha),
    "input other",
    "alpha",
    in_half=lambda dtype, a, b, alpha: _scaled_in_half(dtype, b, a, -alpha),
    layout="reversed",
    input=Rule(_minus_scaled_rule, "-grad * alpha"),
    other=UNCHANGED,
    complex=lambda a, b, alpha: b + a * a.dtype.type(-alpha),
)
MUL = Pointwise(
    "MulBackward0",
    np.multiply,
    "input other",
    jvp=_product_jvp,
    factor=True,
    input=Rule(_times, "grad * other"),
    other=Rule(lambda grad, input: grad * input, "grad * input"),
    complex=elementary.complex_product,
)
MUL_NUMBER: Pointwise = Pointwise(
    "MulBackward1",
    lambda a, other: np.multiply(a, _factor(other, a) if type(other) is int else other),
    "input",
    "other",
    kind="number",
    input=Rule(lambda xp, grad, other: xp.call(MUL_NUMBER, grad, other), "grad * other"),
    complex=elementary.complex_product,
)
NEG = Pointwise("NegBackward0", np.negative, "input", input=NEGATED, complex=True)
ADDCMUL = Pointwise(
    "AddcmulBackward0",
    lambda a, x, y, value: elementary.fused(value * x if value != 1 else x, y, a),
    "input tensor1 tensor2",
    "value",
    input=UNCHANGED,
    tensor1=Rule(lambda xp, grad, tensor2, value: grad * xp.call(MUL_NUMBER, tensor2, value), "grad * tensor2 * value"),
    tensor2=Rule(lambda xp, grad, tensor1, value: grad * xp.call(MUL_NUMBER, tensor1, value), "grad * tensor1 * value"),
    complex=elementary.complex_sum_with_product,
)


def _check_alpha(a: Operand, b: Operand, alpha: Number, negated: bool = False) -> None:
    """Raise RuntimeError where the factor `alpha` would change the category of the result's dtype, or does not fit; `negated`: minus it."""
    if type(alpha) is int and alpha.bit_length() < 8:
        return
    dtype = dtypes.result_type((a, b))
    text = ""
    if type(alpha) is bool and dtype is not dtypes.bool_:
        text = "Boolean alpha only supported for Boolean results."
    elif type(alpha) in (float, complex) and not dtype.is_differentiable:
        text = "For integral input tensors, argument alpha must not be a floating point number."
    elif type(alpha) is complex and not dtype.is_complex:
        text = "For non-complex input tensors, argument alpha must not be a complex number."
    check_broadcast([np.asarray(t.array if type(t) is Tensor else t) for t in (a, b)])
    if text:
        raise runtime_error(text, Code.AFTER_CHECKS)
    scalar_of(-alpha if negated else alpha, dtype)


def add(a: Operand, b: Operand, alpha: Number = 1) -> Tensor:
    """`a + alpha * b`; one of both may be a number."""
    _check_alpha(a, b, alpha)
    if alpha != 1:
        return ADD_SCALED(a, b, alpha)
    return ADD(a, b) if type(a) is Tensor else ADD(b, a)


def _add_in_order(a: Operand, b: Operand, alpha: Number = 1) -> Tensor:
    """`add` with a number that stays first in the graph, as the function has it, unlike the operator."""
    return add(a, b, alpha) if type(a) is Tensor or type(alpha) is bool or alpha != 1 else ADD(a, b)


def _is_bool(operand: Operand) -> bool:
    return operand.dtype is dtypes.bool_ if type(operand) is Tensor else type(operand) is bool


def no_difference(a: Operand, b: Operand) -> ProgramError:
    """The error of a subtraction with a bool operand."""
    for operand in (a, b):
        if type(operand) is int:
            dtypes.check_whole(operand)
    if _is_bool(a) and _is_bool(b):
        return runtime_error(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        )
    return runtime_error(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
        "use the `~` or `logical_not()` operator instead."
    )


def sub(a: Operand, b: Operand, alpha: Number = 1) -> Tensor:
    """`a - alpha * b`; one of both may be a number."""
    if (a.dtype is dtypes.bool_ if type(a) is Tensor else type(a) is bool) or (
        b.dtype is dtypes.bool_ if type(b) is Tensor else type(b) is bool
    ):
        raise no_difference(a, b)
    _check_alpha(a, b, alpha, True)
    return SUB(a, b) if alpha == 1 else SUB_SCALED(a, b, alpha)


def rsub(a: Tensor, b: Operand, alpha: Number = 1) -> Tensor:
    """`b - alpha * a`; b may be a number."""
    if _is_bool(a) or _is_bool(b):
        raise no_difference(a, b)
    _check_alpha(b, a, alpha, True)
    return RSUB_TENSOR(a, b, alpha) if type(b) is Tensor else RSUB(a, b, alpha)


def mul(a: Operand, b: Operand) -> Tensor:
    """`a * b`; one of both may be a number."""
    return MUL(a, b) if type(a) is Tensor else MUL(b, a)


def neg(a: Tensor) -> Tensor:
    """`-a`."""
    if a.dtype is dtypes.bool_:
        raise runtime_error(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    return NEG(a)


def positive(a: Tensor) -> Tensor:
    """`+a`: the tensor itself."""
    if a.dtype is dtypes.bool_:
        raise runtime_error("The `+` operator, on a bool tensor is not supported.")
    return a


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Number = 1) -> Tensor:
    """`input + value * tensor1 * tensor2`; the three tensors are broadcast."""
    dtype = dtypes.result_type((input, tensor1, tensor2))
    if not dtype.is_differentiable:
        check_broadcast([t.array for t in (input, tensor1, tensor2)])
        refuse_bool("addcmul_cpu_out", dtype)
    return ADDCMUL(input, tensor1, tensor2, scalar_of(value, dtypes.widened(dtype)))


def _subtract_number(a: Operand, other: Number, alpha: Number) -> Tensor:
    if _is_bool(a) or type(other) is bool:
        raise no_difference(a, other)
    _check_alpha(a, other, alpha, True)
    return SUB_NUMBER_SCALED(a, other, alpha) if type(a) is Tensor and a.dtype.is_differentiable else sub(a, other, alpha)


_TWO = "Operand input, Operand other"
_BY_NUMBER = "Tensor input, Number other |no out"
_SCALED = "Tensor input, Number value, Tensor tensor1, Tensor tensor2 |deprecated"
_X, _Y = [0.5, -1.5, 2.0], [1.5, 0.5, -3.0]

FUNCTIONS = (
    Function(
        "add",
        ("Operand input, Operand other, *, Number alpha=1", _add_in_order),
        ("Operand input, Number alpha, Operand other |deprecated", lambda a, alpha, b: _add_in_order(a, b, alpha)),
        doc="Sum; other is scaled by alpha first.",
        ops=(ADD, ADD_SCALED),
        samples=(Sample("x + y", np.add, x=_X, y=_Y), Sample("add(x, y, alpha=3)", lambda x, y: x + 3 * y, x=_X, y=[2.0])),
        inplace=True,
        analytic=np.add,
        out=True,
    ),
    Function(
        "sub",
        ("Operand input, Operand other, *, Number alpha=1", sub),
        ("Operand input, Number alpha, Operand other |deprecated", lambda a, alpha, b: sub(a, b, alpha)),
        doc="Difference; other is scaled by alpha first.",
        ops=(SUB, SUB_SCALED),
        samples=(Sample("x - y", np.subtract, x=_X, y=_Y),),
        inplace=True,
        analytic=np.subtract,
        out=True,
    ),
    Function(
        "subtract",
        ("Operand input, Operand other, *, Number alpha=1", sub),
        ("Operand input, Number other, Number alpha=1 |no out", _subtract_number),
        doc="As sub.",
        ops=(SUB, SUB_SCALED),
        inplace=True,
        out=Out(operator="sub"),
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
        (_TWO, lambda a, b: MUL(a, b)),
        doc="Product.",
        ops=(MUL,),
        samples=(Sample("x * y", np.multiply, x=_X, y=_Y), Sample("3 * x", lambda x: 3 * x, x=_X)),
        inplace=True,
        analytic=np.multiply,
        out=True,
    ),
    Function(
        "multiply", (_TWO, lambda a, b: MUL(a, b)), (_BY_NUMBER, mul), doc="As mul.", ops=(MUL,), inplace=True, out=Out(operator="mul")
    ),
    Function(
        "neg",
        ("Tensor input", neg),
        doc="Minus input.",
        ops=(NEG,),
        samples=(Sample("-x", lambda x: -x, x=_X),),
        torch_inplace=("neg_", "negative_"),
        analytic=np.negative,
        aliases=("negative",),
        out=Out(SAME),
    ),
    Function("positive", ("Tensor input", positive), doc="input itself."),
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
)
