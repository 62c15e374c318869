"""Products of two tensors summed over pairs of dimensions: tensordot and inner."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import language
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.ops.checks import with_method, wrap_dim, wrap_dims
from gradcli.core.ops.elementwise import add_multiply
from gradcli.core.ops.linalg.einsum import volume
from gradcli.core.ops.linalg.products import dot, mm
from gradcli.core.ops.linalg.samples import SQUARE_2, TALL
from gradcli.core.ops.reduce import sum_mean
from gradcli.core.ops.reduce.sum_mean import SUM
from gradcli.core.ops.shape.squeeze import squeeze
from gradcli.core.ops.shape.transpose import PERMUTE
from gradcli.core.ops.shape.views import flatten, reshape
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error


def contract(input: Tensor, other: Tensor, first: Sequence[int], second: Sequence[int]) -> Tensor:
    """The products summed over pairs of dimensions, as one matrix product. Raises RuntimeError for sizes or dtypes that do not fit."""
    if len(first) != len(second):
        raise shape_error("both dimension lists should have same length")
    if input.dtype is not other.dtype:
        raise runtime_error("both inputs should have same dtype")
    a, b = input, other
    dims_a = [wrap_dim(d, a.array.ndim) for d in first]
    dims_b = [wrap_dim(d, b.array.ndim) for d in second]
    inner = 1
    for given_a, given_b, d, e in zip(first, second, dims_a, dims_b, strict=True):
        n, m = a.array.shape[d], b.array.shape[e]
        if m == 1:
            a = sum_mean.sum(a, (d,), True, a.dtype)
        elif n == 1:
            b = sum_mean.sum(b, (e,), True, b.dtype)
        elif n != m:
            text = f"contracted dimensions need to match, but first has size {n} in dim {given_a} and second has size {m} in dim {given_b}"
            raise shape_error(text)
        else:
            inner *= n
    wrap_dims(dims_a, a.array.ndim), wrap_dims(dims_b, b.array.ndim)
    rest_a = [d for d in range(a.array.ndim) if d not in dims_a]
    rest_b = [d for d in range(b.array.ndim) if d not in dims_b]
    sizes = tuple([a.array.shape[d] for d in rest_a] + [b.array.shape[d] for d in rest_b])
    x: Tensor = PERMUTE(a, tuple(rest_a + dims_a))
    y: Tensor = PERMUTE(b, tuple(dims_b + rest_b))
    rows, columns = volume(a.array.shape, rest_a), volume(b.array.shape, rest_b)
    if rows == columns == 1:
        product = _dot(x, y)
    else:
        limits.check_work(rows * inner * columns)
        product = mm(reshape(x, (rows, inner)), reshape(y, (inner, columns)))
    return reshape(product, sizes)


def _dot(x: Tensor, y: Tensor) -> Tensor:
    """The sum of all products; PyTorch's library takes rows without gaps alone."""
    if x.array.flags.c_contiguous and y.array.flags.c_contiguous:
        return dot(flatten(x), flatten(y))
    total: Tensor = SUM(add_multiply.mul(squeeze(x), squeeze(y)), x.dtype)
    return total


def tensordot(a: Any, b: Any, dims: Any = 2) -> Tensor:
    """The products summed over the last `dims` dimensions of a and the first of b, or over two lists of dimensions.

    Raises RuntimeError for a number that is negative or too large, and for sizes or dtypes that do not fit, AttributeError and TypeError
    for what is no tensor.
    """
    left, right = _dimensions(a, b, dims)
    return contract(a, b, left, right)


def _dimensions(a: Any, b: Any, dims: Any) -> tuple[Any, Any]:
    """The dimensions of both that are summed over; PyTorch looks at `out` after all of these."""
    left, right = _pair(a, b, dims)
    _check_tensors(a, b)
    for name, value, at in (("dims_self", left, 3), ("dims_other", right, 4)):
        if not isinstance(value, (tuple, list, range)):
            raise ProgramError(
                "TypeError", f"tensordot(): argument '{name}' (position {at}) must be tuple of ints, not {language.type_name(value)}"
            )
        for i, d in enumerate(() if isinstance(value, range) else value):
            if not isinstance(d, int):
                kind = f"element of type {language.type_name(d)} at pos {i}"
                raise ProgramError("TypeError", f"tensordot(): argument '{name}' (position {at}) must be tuple of ints, but found {kind}")
    return left, right


def _pair(a: Any, b: Any, dims: Any) -> tuple[Any, Any]:
    """The dimensions of both, as PyTorch's function, which is in Python, finds them."""
    if type(dims) is Tensor:
        left, right = _listed(a, dims)
        return left, right
    if isinstance(dims, int):
        if dims < 0:
            raise runtime_error(f"tensordot expects dims >= 0, but got dims={formatted(dims)}")
        if dims > min(with_method(t, "dim").array.ndim for t in (a, b)):
            raise runtime_error(f"tensordot expects dims < ndim_a or ndim_b, but got dims={formatted(dims)}")
        return range(-dims, 0), range(dims)
    if not isinstance(dims, (tuple, list)):
        expected = "int or tuple[list[int], list[int]] or list[list[int]] containing two lists"
        raise runtime_error(f"tensordot expects dims to be {expected}, but got dims={formatted(dims)}")
    if len(dims) != 2:
        few = f"not enough values to unpack (expected 2, got {len(dims)})"
        raise ProgramError("ValueError", few if len(dims) < 2 else "too many values to unpack (expected 2)")
    return dims[0], dims[1]


class _Tensordot(Function):
    """PyTorch writes it in Python: what is no `out` is found when the dimensions are."""

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(kwargs.get("out"), (Tensor, NoneType)):
            given = dict(zip(("a", "b", "dims"), args, strict=False)) | kwargs
            if "a" in given and "b" in given:
                _dimensions(given["a"], given["b"], given.get("dims", 2))
        return super().__call__(*args, **kwargs)


def _check_tensors(a: Any, b: Any) -> None:
    for name, value, at in (("input", a, 1), ("other", b, 2)):
        if type(value) is not Tensor:
            text = f"tensordot(): argument '{name}' (position {at}) must be Tensor, not {language.type_name(value)}"
            raise ProgramError("TypeError", text)


def _listed(a: Any, dims: Tensor) -> Any:
    """Dimensions that a tensor holds, as PyTorch reads them: two rows, or a number."""
    if dims.array.size > 1:
        if dims.array.shape[0] != 2:
            raise ProgramError("AssertionError", f"dims tensor must have size 2 in first dimension, got {dims.array.shape[0]}")
        return [row.tolist() for row in dims.array]
    try:
        count = int(dims.item())
    except (ValueError, OverflowError, TypeError) as error:
        raise ProgramError(type(error).__name__, str(error)) from None
    if count < 0:
        raise runtime_error(f"tensordot expects dims >= 0, but got dims={formatted(dims if dims.array.ndim else dims.item())}")
    if type(a) is Tensor and count:
        wrap_dim(-count, a.array.ndim)
    return range(-count, 0), range(count)


def inner(input: Tensor, other: Tensor) -> Tensor:
    """The products summed over the last dimension of both. Raises RuntimeError for sizes or dtypes that do not fit."""
    a, b = input.array, other.array
    if not a.ndim or not b.ndim:
        return add_multiply.mul(input, other)
    if a.shape[-1] != b.shape[-1]:
        raise shape_error(f"inner() the last dimension must match on both input tensors but got shapes {list(a.shape)} and {list(b.shape)}")
    return contract(input, other, (-1,), (-1,))


def _check_shape(out: Tensor, result: Tensor) -> None:
    if out.requires_grad and out.array.shape != result.array.shape:
        raise runtime_error(
            "tensordot(): the 'out' tensor was specified and requires gradients, and its shape does not match the expected result. Either "
            "remove the 'out' argument, ensure it does not require gradients, or make sure its shape matches the expected output."
        )


_DTYPE = "tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with dtype {out}"
_CONTRACTED = Out(_DTYPE, autograd="composed", check=_check_shape)

FUNCTIONS: tuple[Function, ...] = (
    _Tensordot(
        "tensordot",
        ("any a, any b, any dims=2", tensordot),
        doc="Products summed over the last dims of a and the first of b, or over two lists of dimensions.",
        samples=(Sample("tensordot(x, y, 1)", lambda x, y: np.tensordot(x, y, 1), x=TALL, y=SQUARE_2),),
        method=False,
        out=_CONTRACTED,
        python="tensordot",
    ),
    Function(
        "inner",
        ("Tensor input, Tensor other", inner),
        doc="Sums of products over the last dimension of both.",
        samples=(Sample("inner(x, y)", np.inner, x=TALL, y=SQUARE_2),),
        out=lambda input, other: _CONTRACTED if input.array.ndim and other.array.ndim else Out(operator="mul"),
    ),
)
