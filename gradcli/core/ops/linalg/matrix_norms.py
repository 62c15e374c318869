"""Norms and condition numbers of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import CASTABLE, EXACT, Out
from gradcli.core.graph import inplace_forms
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.elementwise import add_multiply, divide_remainder
from gradcli.core.ops.elementwise.divide_remainder import RECIPROCAL
from gradcli.core.ops.elementwise.floating_point import NAN_TO_NUM
from gradcli.core.ops.index.masked import MASKED_FILL
from gradcli.core.ops.linalg.decompositions.svd import svdvals
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_floats, check_matrices, check_squares
from gradcli.core.ops.linalg.samples import PAIR, SQUARE, WIDE
from gradcli.core.ops.linalg.solving.inverse import inv_ex
from gradcli.core.ops.reduce import sum_mean
from gradcli.core.ops.reduce.norms import NORM, check_dtype, check_kind, vector_norm
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.ops.shape.slicing import narrow
from gradcli.core.ops.shape.squeeze import squeeze_dim, unsqueeze
from gradcli.core.ops.shape.transpose import permute
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import runtime_error, shape_error


def _two_dims(name: str, A: Tensor, dim: Sequence[int]) -> tuple[int, int]:
    """The two dimensions of the matrices, counted from 0. Raises RuntimeError for another number and for equal ones."""
    if len(dim) != 2:
        raise runtime_error(f"{name}: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    first, second = wrap_dim(dim[0], A.array.ndim), wrap_dim(dim[1], A.array.ndim)
    if first == second:
        raise runtime_error(f"{name}: dims must be different. Got ({first}, {second})")
    return first, second


def matrix_norm(A: Tensor, ord: Any = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, dtype: Any = None) -> Any:
    """The Frobenius, nuclear or operator norm of matrices, which lie along the two dimensions `dim`.

    Raises RuntimeError for dtypes, dimensions and orders that have none.
    """
    name = "linalg.matrix_norm"
    if type(ord) is complex:
        raise runtime_error(f"{name}: Expected a non-complex scalar as the order of norm.")
    if ord not in ("fro", "nuc") if isinstance(ord, str) else abs(ord) not in (1, 2, math.inf):
        raise runtime_error(f"{name}: Order {ord if isinstance(ord, str) else format(ord, 'g')} not supported.")
    check_matrices(name, A)
    by_values = ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2)
    check_floats(name, A, low=not by_values)
    first, second = _two_dims(name, A, dim)
    check_dtype(name, A.dtype, dtype)
    if ord == "fro":
        return vector_norm(A, 2, (first, second), keepdim, dtype)
    largest = catalog.function("amax" if ord == "nuc" or ord > 0 else "amin")
    if ord != "nuc" and abs(ord) == math.inf:
        first, second = second, first
    sizes = A.array.shape
    compared = min(sizes[first], sizes[second]) if by_values else sizes[second]
    if not compared and ord != "nuc" and ord > 0:  # the largest of nothing is 0
        left = [1 if d in (first, second) else n for d, n in enumerate(sizes) if keepdim or d not in (first, second)]
        kind = (dtype or A.dtype).real
        return Tensor(np.zeros(left, kind.np), kind)
    if not by_values:
        sums = vector_norm(A, 1.0, (first,), keepdim, dtype)
        return largest(sums, (second - (not keepdim and second > first),), keepdim)
    A = A if dtype is None else to_dtype(A, dtype)
    rest = [d for d in range(A.array.ndim) if d not in (first, second)]
    values = svdvals(permute(A, (*rest, first, second)))
    result = sum_mean.sum(values, (-1,), keepdim) if ord == "nuc" else largest(values, (-1,), keepdim)
    if keepdim:
        order = [*rest, first, second]
        result = permute(unsqueeze(result, -1), tuple(order.index(d) for d in range(len(order))))
    return result


def norm(A: Tensor, ord: Any = None, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The matrix norm where `ord` is given for two dimensions, else the vector norm."""
    rank = A.array.ndim
    if dim is not None and len(dim) not in (1, 2):
        found = f"[{', '.join(map(str, dim))}]"
        raise runtime_error(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {found}")
    if isinstance(ord, str):
        if dim is None and rank not in (1, 2):
            raise shape_error(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {rank}D.")
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype)
    if ord is not None and dim is None and rank not in (1, 2):
        raise shape_error(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {rank}D.")
    if ord is not None and (len(dim) == 2 if dim is not None else rank == 2):
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype)
    return vector_norm(A, 2.0 if ord is None else ord, dim, keepdim, dtype)


def cond(A: Tensor, p: Any = None) -> Any:
    """The condition number: the norm of A times the norm of its inverse; for p 2 and -2 the ratio of singular values.

    Raises RuntimeError for other shapes, dtypes or norms.
    """
    if type(p) is bool:
        p = int(p)
    shown = "" if p is None else f"linalg.cond(ord={p if isinstance(p, (str, int)) else format(p, 'f')})"
    if isinstance(p, str):
        check_squares(shown, A)
    elif A.array.ndim < 2:
        raise shape_error("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p not in (None, 2, -2, 1, -1, math.inf, -math.inf, "fro", "nuc"):
        raise runtime_error(f"linalg.cond got an invalid norm type: {formatted(p) if isinstance(p, str) else format(p, 'g')}")
    if not A.array.size:
        return Tensor(np.zeros(A.array.shape[:-2], A.dtype.real.np), A.dtype.real)
    if p == "nuc":
        values = svdvals(A)
        return add_multiply.mul(sum_mean.sum(values, (-1,)), sum_mean.sum(RECIPROCAL(values), (-1,)))
    if p in (None, 2, -2):
        values = svdvals(A)
        low, high = narrow(values, -1, values.array.shape[-1] - 1, 1), narrow(values, -1, 0, 1)
        ratio = divide_remainder.div(low, high) if p == -2 else divide_remainder.div(high, low)
        return squeeze_dim(ratio, -1)
    check_squares(shown, A)
    inverse, info = inv_ex(A)
    # in place, as in PyTorch: the inverse, which its node saves, has another version then, and the gradient is an error
    inplace_forms.apply(inverse, lambda t: MASKED_FILL(t, info.array[..., None, None] > 0, math.inf))
    product = add_multiply.mul(matrix_norm(A, p), matrix_norm(inverse, p))
    return inplace_forms.apply(product, lambda t: NAN_TO_NUM(t, math.inf, math.inf, -math.inf))  # in place too: its node keeps a clone


def _warn(name: str, instead: str, line: int) -> None:
    text = (
        f"at::{name} is deprecated and it is just left for JIT compatibility. It will be removed in a future PyTorch release. Please use "
        f"`linalg.{instead}` instead (Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/LinearAlgebra.cpp:{line}.)"
    )
    warnings.emit(text, once=f"{name}:{line}")


def _frobenius_norm(input: Tensor, dim: Sequence[int], keepdim: bool, out: Tensor | None = None) -> Any:
    """The old form of the Frobenius norm, along two dimensions at most; all, if there are none. Raises RuntimeError for more."""
    _warn("frobenius_norm", "vector_norm(A, 2., dim, keepdim)", 3175 if out is None else 3195)
    if len(dim) > 2:
        raise runtime_error(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return _OLD_NORM(input, 2.0, dim, keepdim, **({} if out is None else {"out": out}))


def _nuclear_norm(input: Tensor, dim: Sequence[int], keepdim: bool) -> Any:
    """The old form of the nuclear norm."""
    _warn("nuclear_norm", "matrix_norm(A, 'nuc', dim, keepdim)", 3229)
    return matrix_norm(input, "nuc", dim, keepdim)


def _nuclear_norm_out(input: Tensor, *more: Any) -> Any:
    *dim, keepdim, out = more
    _warn("nuclear_norm", "matrix_norm(A, 'nuc', dim, keepdim)", 3241 if dim else 3217)
    return catalog.function("linalg.matrix_norm")(input, "nuc", *(dim or [(-2, -1)]), keepdim, out=out)


def _old_norm(input: Tensor, p: float, dim: Sequence[int], keepdim: bool) -> Any:
    check_kind(input)
    return NORM(input, p, tuple(dim), keepdim)


_OLD_NORM = Function(
    "norm",
    ("Tensor input, float p, ints dim, bool keepdim", _old_norm),
    doc="",
    ops=(NORM,),
    namespace="torch._C._nn",
    method=False,
    out=Out(EXACT, memory="unchecked", adds=True),
)
_NORM = Out("{name} expected out tensor dtype {result} but got: {out}", autograd="composed")

FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "matrix_norm",
        ("Tensor input, Number ord, ints dim={-2,-1}, bool keepdim=False, *, dtype? dtype=None", matrix_norm),
        ("Tensor input, str ord='fro', ints dim={-2,-1}, bool keepdim=False, *, dtype? dtype=None", matrix_norm),
        doc="Frobenius, nuclear, or operator norm of matrices.",
        samples=(
            Sample("torch.linalg.matrix_norm(x)", np.linalg.norm, x=WIDE),
            Sample("torch.linalg.matrix_norm(x, 'nuc')", lambda x: np.linalg.norm(x, "nuc"), x=WIDE),
            Sample("torch.linalg.matrix_norm(x, 2)", lambda x: np.linalg.norm(x, 2), x=WIDE),
            Sample("torch.linalg.matrix_norm(x, 1)", lambda x: np.linalg.norm(x, 1), x=WIDE),
        ),
        out=_NORM,
    ),
    LinalgFunction(
        "norm",
        ("Tensor input, Number? ord=None, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None", norm),
        ("Tensor input, str ord, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None", norm),
        doc="The vector norm, or the matrix norm where ord is given for two dimensions.",
        samples=(
            Sample("torch.linalg.norm(v)", np.linalg.norm, v=PAIR),
            Sample("torch.linalg.norm(x, dim=1)", lambda x: np.linalg.norm(x, axis=1), x=WIDE),
        ),
        out=_NORM,
    ),
    LinalgFunction(
        "cond",
        ("Tensor input, Number? p=None", cond),
        ("Tensor input, str p", cond),
        doc="The condition number.",
        samples=(Sample("torch.linalg.cond(x)", np.linalg.cond, x=SQUARE),),
        out=lambda A, _: Out(lower=CASTABLE, dtype=A.dtype.real, first=True, autograd="composed"),
    ),
    Function(
        "frobenius_norm",
        ("Tensor input, ints1 dim, bool keepdim=False", _frobenius_norm),
        doc="The old form of the Frobenius norm, along one or two dimensions.",
        ops=(NORM,),
        samples=(Sample("torch.frobenius_norm(x, (0, 1))", np.linalg.norm, x=WIDE),),
        method=False,
        out=Out(steps=_frobenius_norm, autograd="composed"),
    ),
    Function(
        "nuclear_norm",
        ("Tensor input, ints2 dim, bool keepdim=False", _nuclear_norm),
        ("Tensor input, bool keepdim=False", lambda input, keepdim: _nuclear_norm(input, (-2, -1), keepdim)),
        doc="The old form of the nuclear norm of matrices.",
        samples=(Sample("torch.nuclear_norm(x)", lambda x: np.linalg.norm(x, "nuc"), x=WIDE),),
        method=False,
        out=Out(steps=_nuclear_norm_out, autograd="composed"),
    ),
)
