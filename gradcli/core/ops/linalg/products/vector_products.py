"""Outer, Kronecker and cross products, and dot products along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph import in_place
from gradcli.core.graph.conjugate import conj
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import check_overlap, check_unread
from gradcli.core.kernels import Array, elementary, memory_format
from gradcli.core.kernels.elementary import by_steps
from gradcli.core.ops.checks import not_implemented, scalar_type_error, wrap_dim
from gradcli.core.ops.elementwise import add_multiply
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_floats
from gradcli.core.ops.linalg.products.matrix_products import check_tangent_of_view, vdot
from gradcli.core.ops.linalg.samples import PAIR, SQUARE_2, TALL, TRIPLE, WIDE, WIDE_2
from gradcli.core.ops.reduce import sum_mean
from gradcli.core.ops.rules import in_half_precision
from gradcli.core.ops.shape.broadcasting import broadcast_tensors
from gradcli.core.ops.shape.views import UNSAFE_VIEW, check_view, reshape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def _row_and_column(input: Tensor, vec2: Tensor) -> tuple[Tensor, Tensor]:
    """The vectors whose product as broadcast is their outer product."""
    for name, t in (("self", input), ("vec2", vec2)):
        if t.array.ndim != 1:
            raise shape_error(f"outer: Expected 1-D argument {name}, but got {t.array.ndim}-D")
    limits.check_elements(input.array.size * vec2.array.size, input.dtype.itemsize)
    return reshape(input, (input.array.size, 1)), vec2


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The matrix of all products of elements of two vectors. Raises RuntimeError for other ranks."""
    return add_multiply.mul(*_row_and_column(input, vec2))


def _outer_into(input: Tensor, vec2: Tensor, out: Tensor) -> Tensor:
    return catalog.function("mul")(*_row_and_column(input, vec2), out=out)  # type: ignore[no-any-return]


def _ger_into(input: Tensor, vec2: Tensor, out: Tensor) -> Tensor:
    warnings.emit(
        "torch.ger is deprecated and will be removed in a future PyTorch release. Use torch.outer instead. (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/LinearAlgebra.cpp:1270.)"
    )
    return _outer_into(input, vec2, out)


def _spread(input: Tensor, other: Tensor) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Views whose product as broadcast has the elements of the Kronecker product, and its shape."""
    rank = max(input.array.ndim, other.array.ndim)
    left = (1,) * (rank - input.array.ndim) + input.array.shape
    right = (1,) * (rank - other.array.ndim) + other.array.shape
    limits.check_elements(input.array.size * other.array.size, input.dtype.itemsize)
    a = UNSAFE_VIEW(input, tuple(s for n in left for s in (n, 1)))
    b = UNSAFE_VIEW(other, tuple(s for n in right for s in (1, n)))
    for part, whole in ((a, input), (b, other)):
        if whole.property_of("inference"):
            part.set_property("inference", True)
    return a, b, tuple(n * m for n, m in zip(left, right, strict=True))


def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product; the tensor of lower rank gets leading dimensions of size 1."""
    a, b, shape = _spread(input, other)
    made = add_multiply.mul(a, b)
    check_view(made.array, shape)
    return UNSAFE_VIEW(made, shape)  # type: ignore[no-any-return]


def _kron_into(input: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """`kron` with `out`, which is resized first; the product is written into a view of it."""
    a, b, shape = _spread(input, other)
    before, *held = (Tensor(t.array, t.dtype) for t in (out, input, other))
    in_place.resize_to(out, shape)
    pairs = tuple(n for pair in zip(a.array.shape[::2], b.array.shape[1::2], strict=True) for n in pair)
    check_view(out.array, pairs)
    check_tangent_of_view(out, pairs)
    if out.array is not before.array and not (state.enabled and any(t.requires_grad for t in (a, b, out))):
        copied = out.dtype is dtypes.bfloat16  # views of these are copies here
        for operand in held if copied else (a, b):  # which keep their memory here
            check_overlap(before, operand, copied)
        check_unread(before, held)
    view = UNSAFE_VIEW(out, pairs)
    view.array = out.array.reshape(pairs)
    catalog.function("mul")(a, b, out=view)
    return out


# --- cross product ---


def _cross(a: Array, b: Array, dim: int) -> Array:
    x, y = np.moveaxis(a, dim, -1), np.moveaxis(b, dim, -1)
    if a.dtype.kind == "c":
        parts = [by_steps(x[..., i - 2], y[..., i - 1]) - by_steps(x[..., i - 1], y[..., i - 2]) for i in range(3)]
    else:
        parts = [elementary.fused(x[..., i - 2], y[..., i - 1], -(x[..., i - 1] * y[..., i - 2])) for i in range(3)]
    return memory_format.contiguous(np.moveaxis(np.stack(parts, -1), -1, dim))


CROSS: Op = Op(
    "LinalgCrossBackward0",
    _cross,
    "input other",
    "dim",
    input=Rule(lambda xp, grad, other, dim: xp.call(CROSS, other, grad, dim), "torch.linalg.cross(other, grad, dim=dim)"),
    other=Rule(lambda xp, grad, input, dim: xp.call(CROSS, grad, input, dim), "torch.linalg.cross(grad, input, dim=dim)"),
    complex=True,
)


def _cross_in_bfloat16(a: Array, b: Array, dim: int) -> Array:
    x, y, r = np.moveaxis(a, dim, -1), np.moveaxis(b, dim, -1), dtypes.round_bfloat16
    parts = [r(x[..., i - 2] * y[..., i - 1]) - r(x[..., i - 1] * y[..., i - 2]) for i in range(3)]
    return memory_format.contiguous(np.moveaxis(np.stack(parts, -1), -1, dim))


_CROSS_BFLOAT = in_half_precision(CROSS, _cross_in_bfloat16)


def cross(input: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    """The cross product along a dimension of size 3. Raises RuntimeError for ranks or sizes that do not fit."""
    if input.array.ndim != other.array.ndim:
        raise shape_error("linalg.cross: inputs must have the same number of dimensions.")
    a, b = input.array, other.array
    if not a.ndim:
        raise shape_error(f"Dimension specified as {dim} but tensor has no dimensions", "IndexError")
    at = wrap_dim(dim, a.ndim)
    if not a.ndim:
        raise ProgramError("IndexError", f"Dimension specified as {dim} but tensor has no dimensions")
    if a.shape[at] != 3 or b.shape[at] != 3:
        raise shape_error(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a.shape[at]} and {b.shape[at]}")
    if input.dtype is dtypes.bool_:
        raise not_implemented("cross", dtypes.bool_)
    if other.dtype is not input.dtype:
        raise scalar_type_error(input.dtype, other.dtype)
    if a.shape != b.shape:
        broadcast_tensors((input, other))  # PyTorch's error, if they do not; its kernel broadcasts without nodes
    return (_CROSS_BFLOAT if input.dtype is dtypes.bfloat16 else CROSS)(input, other, dim)  # type: ignore[no-any-return]


def _old_cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The form that takes the first dimension of size 3 by default."""
    if dim is not None:
        return cross(input, other, dim)
    warnings.emit(
        "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
        "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release. "
        "(Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/Cross.cpp:63.)",
        once="cross",
    )
    return cross(input, other, _first_of_size_3(input))


def _first_of_size_3(input: Tensor) -> int:
    if 3 not in input.array.shape:
        raise shape_error("no dimension of size 3 in input")
    at: int = input.array.shape.index(3)
    return at


def vecdot(x: Tensor, y: Tensor, dim: int = -1) -> Tensor:
    """The dot products along a dimension. Raises RuntimeError for integers and for two dtypes."""
    _check_same_floats(x, y)
    if x.array.ndim == y.array.ndim == 1:
        return vdot(x, y)
    return sum_mean.sum(add_multiply.mul(conj(x), y), (dim,))


def _check_same_floats(x: Tensor, y: Tensor) -> None:
    check_floats("linalg.vecdot", x, low=True)
    if x.dtype is not y.dtype:
        raise runtime_error(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype.torch_name} and y of type "
            f"{y.dtype.torch_name} instead"
        )


def _vecdot_into(x: Tensor, y: Tensor, dim: int, out: Tensor) -> Tensor:
    _check_same_floats(x, y)
    if out.dtype is not x.dtype:
        raise runtime_error(f"linalg.vecdot: Expected out of dtype{x.dtype.torch_name} but found {out.dtype.torch_name}")
    if x.array.ndim == y.array.ndim == 1:
        in_place.resize_to(out, ())
        return catalog.function("vdot")(x, y, out=out)  # type: ignore[no-any-return]
    return catalog.function("sum")(add_multiply.mul(conj(x), y), (dim,), out=out)  # type: ignore[no-any-return]


def _find_dim(values: list[Any], out: Tensor) -> None:
    """Give `torch.cross` its dimension, without the warning. Raises RuntimeError where none is of size 3."""
    if values[2] is None:
        values[2] = _first_of_size_3(values[0])


def _cross_out(input: Tensor, other: Tensor, *_: Any, prepare: Any = None) -> Out:
    """How `cross` takes `out`: PyTorch does not see that tensors with gaps share memory, and reads elements that it has written."""

    def check(out: Tensor, result: Tensor) -> None:
        if out.array.shape == result.array.shape:
            for operand in (input, other):
                check_overlap(out, operand, True)
            check_unread(out, (input, other))

    return Out(EXACT, operator="linalg_cross", overlap="any", prepare=prepare, check=check)


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "outer",
        ("Tensor input, Tensor vec2", outer),
        doc="All products of two vectors' elements.",
        samples=(Sample("outer(v, w)", np.outer, v=PAIR, w=TRIPLE),),
        out=Out(autograd="composed", steps=_outer_into),
    ),
    Function(
        "ger",
        ("Tensor input, Tensor vec2", outer),
        doc="All products of two vectors' elements; use outer.",
        samples=(Sample("ger(v, w)", np.outer, v=PAIR, w=TRIPLE),),
        out=Out(autograd="composed", steps=_ger_into),
    ),
    Function(
        "kron",
        ("Tensor input, Tensor other", kron),
        doc="The Kronecker product.",
        samples=(Sample("kron(x, y)", np.kron, x=TALL, y=SQUARE_2),),
        out=Out(autograd="composed", steps=_kron_into),
    ),
    LinalgFunction(
        "cross",
        ("Tensor input, Tensor other, *, int dim=-1", cross),
        doc="The vector product along a dimension of size 3.",
        ops=(CROSS,),
        samples=(Sample("torch.linalg.cross(x, y)", np.cross, x=WIDE, y=WIDE_2),),
        out=_cross_out,
    ),
    Function(
        "cross",
        ("Tensor input, Tensor other, int? dim=None", _old_cross),
        doc="The vector product along dim.",
        samples=(Sample("cross(x, y, dim=1)", np.cross, x=WIDE, y=WIDE_2),),
        out=lambda *values: _cross_out(*values, prepare=_find_dim),
    ),
    LinalgFunction(
        "vecdot",
        ("Tensor x, Tensor y, *, int dim=-1", vecdot),
        doc="Sums of products along a dimension.",
        samples=(Sample("torch.linalg.vecdot(x, y)", lambda x, y: (x * y).sum(-1), x=WIDE, y=WIDE_2),),
        out=Out(autograd="composed", steps=_vecdot_into),
    ),
)
