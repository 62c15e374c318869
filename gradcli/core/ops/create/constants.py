"""Tensors of constants: one number everywhere, the identity, the indices of triangles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph import strided
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import in_format, not_implemented
from gradcli.core.ops.create.leaf import LIKE, NEW, OPTIONS, blank, check_sizes, making, unset
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, filling, wide_scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error

Made = tuple[Array, DType]


def _constant(name: str, size: tuple[int, ...], value: Any, dtype: DType) -> Made:
    check_sizes(size, dtype, name)
    plain = not value and not (type(value) is float and math.copysign(1, value) < 0)
    return (np.zeros(size, dtype.np) if plain else np.full(size, dtypes.cast(np.asarray(value), dtype), dtype.np)), dtype


def _filled(name: str, value: Any) -> Overload:
    late = name == "zeros"
    return making("ints size, *", lambda size, dtype: _constant(name, size, value, dtype or dtypes.get_default()), late=late)


def _empty(size: tuple[int, ...], format: Any, dtype: DType | None) -> Made:
    if format is not None and format.name == "preserve_format":
        raise runtime_error("unsupported memory format Preserve")
    array, kind = _constant("", size, 0, dtype or dtypes.get_default())
    return unset(in_format(array, format), kind), kind


def _filled_like(value: Any) -> Overload:
    return making("Tensor input, *", lambda input, *how: _like(input, value, *how), LIKE)


def _like(input: Tensor, value: Any, memory_format: Any, dtype: DType | None) -> Made:
    wanted = dtype or input.dtype
    made = blank(input, memory_format, wanted)
    made[...] = dtypes.cast(np.asarray(value), wanted)
    return made, wanted


def _new_filled(value: Any) -> Overload:
    return making("Tensor input, ints size, *", lambda input, size, dtype: _constant("", size, value, dtype or input.dtype))


def _empty_like(input: Tensor, format: Any, dtype: DType | None) -> Made:
    array, kind = _like(input, 0, format, dtype)
    return unset(array, kind), kind


def _new_empty(input: Tensor, size: tuple[int, ...], dtype: DType | None) -> Made:
    array, kind = _constant("", size, 0, dtype or input.dtype)
    return unset(array, kind), kind


def _full(size: tuple[int, ...], fill_value: Any, dtype: DType | None) -> Made:
    if dtype is None and type(fill_value) is complex:
        dtype = dtypes.complex128 if dtypes.get_default() is dtypes.float64 else dtypes.complex64
    wanted = dtype or dtypes.scalar_dtype(fill_value)
    check_sizes(size, wanted)
    return _constant("", size, filling(fill_value, wanted, math.prod(size)), wanted)


def _full_like(input: Tensor, fill_value: Any, memory_format: Any, dtype: DType | None) -> Made:
    wanted = dtype or input.dtype
    return _like(input, filling(fill_value, wanted, input.array.size), memory_format, wanted)


def _new_full(input: Tensor, size: tuple[int, ...], fill_value: Any, dtype: DType | None) -> Made:
    wanted = dtype or input.dtype
    check_sizes(size, wanted)
    return _constant("", size, filling(fill_value, wanted, math.prod(size)), wanted)


def _scalar_tensor(s: Any, dtype: DType | None) -> Made:
    wanted = dtype or dtypes.get_default()
    return _constant("scalar_tensor", (), wide_scalar_of(s, wanted), wanted)


def _eye(n: int, m: int, dtype: DType | None) -> Made:
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise runtime_error(f"{name} must be greater or equal to 0, got {size}")
    wanted = dtype or dtypes.get_default()
    check_sizes((n, m), wanted)
    return np.eye(n, m, dtype=wanted.np), wanted


def _strided(size: tuple[int, ...], stride: tuple[int, ...], wanted: DType) -> Made:
    if len(size) != len(stride):
        raise shape_error(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    check_sizes(size, wanted)
    needed = strided.extent(size, stride)
    if any(s < 0 for s in stride) or needed * wanted.itemsize >= 1 << 63:
        raise runtime_error(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    limits.check_elements(needed, wanted.itemsize)
    return unset(strided.seen(np.zeros(needed, wanted.np), (size, stride, 0)), wanted), wanted


def _empty_strided(size: tuple[int, ...], stride: tuple[int, ...], dtype: DType | None) -> Made:
    return _strided(size, stride, dtype or dtypes.get_default())


def _new_strided(input: Tensor, size: tuple[int, ...], stride: tuple[int, ...], dtype: DType | None) -> Made:
    return _strided(size, stride, dtype or input.dtype)


def _empty_permuted(size: tuple[int, ...], physical_layout: tuple[int, ...], dtype: DType | None) -> Made:
    rank = len(size)
    if rank != len(physical_layout):
        text = f"i.e. len(size) = {rank} is not equal to len(physical_layout) = {len(physical_layout)}"
        raise shape_error(f"Number of dimensions in size does not match the length of the physical_layout; {text}")
    for at, dim in enumerate(physical_layout):
        if not 0 <= dim < rank:
            raise shape_error(
                f"Dimension out of range (expected to be between 0 and {rank - 1}, but got {dim} at index {at}).  "
                "NB: negative dims not currently supported; file an issue if you want it."
            )
        if dim in physical_layout[:at]:
            raise shape_error("Duplicate dim not allowed")
    array, kind = _constant("", tuple(size[dim] for dim in physical_layout), 0, dtype or dtypes.get_default())
    return unset(memory_format.spelled_out(array).transpose(np.argsort(physical_layout)), kind), kind


def _triangle(name: str, indices: Callable[..., Any], doc: str) -> Function:
    def run(row: int, col: int, offset: int, dtype: DType | None) -> Made:
        for what, size in (("row", row), ("col", col)):
            if size < 0:
                raise runtime_error(f"{what} must be non-negative, got{size}")
        wanted = dtype or dtypes.int64
        if wanted not in (dtypes.int64, dtypes.int32):
            raise not_implemented(name, wanted)
        limits.check_elements(row * col, 8)
        return np.stack(indices(row, offset, col)).astype(wanted.np), wanted

    return Function(name, making("int row, int col, int offset=0, *", run, late=True), doc=doc, method=False)


# --- a constant in the place of a tensor, which has a gradient ---


def _full_of(a: Array, value: Any) -> Array:
    made = memory_format.empty_like(a)
    made[...] = value
    return made


_NO_INFLUENCE = Rule(lambda xp, grad: xp.zeros_like(grad), "zeros_like(grad)")
FILL = Op("FillBackward0", _full_of, "input", "value", saved="", jvp="transpose", input=_NO_INFLUENCE, complex=True)
FILL_TENSOR = Op(
    "FillBackward1",
    _full_of,
    "input value",
    input=_NO_INFLUENCE,
    value=Rule(lambda xp, grad: xp.sum(grad), "grad.sum()"),
    complex=True,
    real_part=False,
)


def _fill(input: Tensor, value: Any) -> Any:
    if type(value) is not Tensor:
        return FILL(input, filling(value, input.dtype, input.array.size))
    if value.array.ndim:
        raise shape_error(f"fill_ only supports 0-dimension value tensor but got tensor with {value.array.ndim} dimensions.")
    return FILL_TENSOR(input, value)


_X: Any = [[0.5, -1.5], [2.0, 0.25]]
_Y: Any = [[1.5, 0.75], [0.5, 2.0]]

FUNCTIONS = (
    Function("zeros", _filled("zeros", 0), doc="Zeros.", samples=(Sample("zeros(2, 3)"),), method=False, out=NEW),
    Function("ones", _filled("", 1), doc="Ones.", samples=(Sample("ones(2, 3)"),), method=False, out=NEW),
    Function(
        "empty",
        making("ints size, *", _empty, f"memory_format? memory_format=None, {OPTIONS}"),
        doc="Uninitialised in PyTorch; zeros here.",
        method=False,
        out=Out(autograd="fallback", silent=True, memory="unchecked"),
    ),
    Function(
        "full",
        making("ints size, Number fill_value, *", _full),
        doc="One number everywhere.",
        samples=(Sample("full((2,), 7.)"),),
        method=False,
        out=NEW,
    ),
    Function("zeros_like", _filled_like(0), doc="Zeros of the same shape.", method=False),
    Function("ones_like", _filled_like(1), doc="Ones of the same shape.", method=False),
    Function("empty_like", making("Tensor input, *", _empty_like, LIKE), doc="Uninitialised in PyTorch; zeros here.", method=False),
    Function(
        "full_like", making("Tensor input, Number fill_value, *", _full_like, LIKE), doc="One number in the same shape.", method=False
    ),
    Function("new_zeros", _new_filled(0), doc="Zeros of the same dtype.", function=False),
    Function("new_ones", _new_filled(1), doc="Ones of the same dtype.", function=False),
    Function("new_empty", making("Tensor input, ints size, *", _new_empty), doc="Uninitialised in PyTorch; zeros here.", function=False),
    Function(
        "empty_strided",
        making("ints size, ints stride, *", _empty_strided),
        doc="Of these strides. Uninitialised in PyTorch; zeros here.",
        samples=(Sample("torch.empty_strided((2, 3), (1, 2)).stride()"),),
        method=False,
    ),
    Function(
        "empty_permuted",
        making("ints size, ints physical_layout, *", _empty_permuted),
        doc="With the dimensions in this order in memory. Uninitialised in PyTorch; zeros here.",
        samples=(Sample("torch.empty_permuted((2, 3), (1, 0)).stride()"),),
        method=False,
    ),
    Function(
        "new_empty_strided",
        making("Tensor input, ints size, ints stride, *", _new_strided),
        doc="Of these strides and of the same dtype. Uninitialised in PyTorch; zeros here.",
        samples=(Sample("tensor([1.]).new_empty_strided((2, 3), (1, 2)).stride()"),),
        function=False,
    ),
    Function(
        "new_full", making("Tensor input, ints size, Number fill_value, *", _new_full), doc="One number in the same dtype.", function=False
    ),
    Function("scalar_tensor", making("Number s, *", _scalar_tensor), doc="A 0-d tensor.", method=False),
    Function(
        "eye",
        making("symint n, *", lambda n, dtype: _eye(n, n, dtype)),
        making("symint n, symint m, *", _eye),
        doc="The identity matrix.",
        samples=(Sample("eye(3)"),),
        method=False,
        out=NEW,
    ),
    _triangle("tril_indices", np.tril_indices, "Indices of the lower triangle."),
    _triangle("triu_indices", np.triu_indices, "Indices of the upper triangle."),
    Function(
        "fill",
        ("Tensor input, Tensor value", _fill),
        ("Tensor input, Number value", _fill),
        doc="One value everywhere.",
        ops=(FILL, FILL_TENSOR),
        samples=(Sample("torch.fill(x, 2.) * x", lambda x: 2 * x, x=_X), Sample("torch.fill(x, y.sum())", None, x=_X, y=_Y)),
        method=False,
    ),
)
