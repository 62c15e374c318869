"""Diagonals and triangles: diagonal, diag, diag_embed, diagflat, tril, triu."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import check_size, is_sample, wrap_dim
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def _diagonal(a: Array, offset: int, dim1: int, dim2: int) -> Array:
    moved = np.moveaxis(a, (dim1, dim2), (-2, -1))
    corner = moved[..., max(-offset, 0) :, max(offset, 0) :]
    *lead, row, column = corner.strides
    shape = (*corner.shape[:-2], min(corner.shape[-2:]))
    return np.lib.stride_tricks.as_strided(corner, shape, (*lead, row + column), writeable=a.flags.writeable)


def _diagonal_back(grad: Array, offset: int, dim1: int, dim2: int, shape: Any) -> Array:
    made = np.zeros(shape, grad.dtype)
    rows = np.arange(grad.shape[-1]) if grad.ndim else np.arange(0)
    moved = np.moveaxis(made, (dim1, dim2), (-2, -1))
    moved[..., rows + max(-offset, 0), rows + max(offset, 0)] = grad
    return made


_DIAGONAL_RULE = Rule(
    lambda xp, grad, offset, dim1, dim2, input_shape: xp.call(DIAGONAL_BACK, grad, offset, dim1, dim2, input_shape),
    "zeros_like(input).diagonal_scatter(grad, offset, dim1, dim2)",
)
_GATHERED = Rule(lambda xp, grad, offset, dim1, dim2: xp.call(DIAGONAL, grad, offset, dim1, dim2), "grad.diagonal(offset, dim1, dim2)")
DIAGONAL: Op = Op("DiagonalBackward0", _diagonal, "input", "offset dim1 dim2", view=True, input=_DIAGONAL_RULE)
DIAGONAL_COPY: Op = Op(
    "DiagonalBackward0_copy", lambda a, *where: _diagonal(a, *where).copy(), "input", "offset dim1 dim2", input=_DIAGONAL_RULE, complex=True
)
DIAGONAL_BACK: Op = Op(
    "DiagonalBackwardBackward0", _diagonal_back, "input", "offset dim1 dim2 shape", saved="dim1 dim2 offset", input=_GATHERED, complex=True
)


def _diag_embed(a: Array, offset: int, dim1: int, dim2: int) -> Array:
    n = a.shape[-1] + abs(offset)
    rows = np.arange(a.shape[-1])
    made = np.zeros((*a.shape[:-1], n, n), a.dtype)
    made[..., rows + max(-offset, 0), rows + max(offset, 0)] = a
    return np.moveaxis(made, (-2, -1), (dim1, dim2))


DIAG_EMBED: Op = Op("DiagEmbedBackward0", _diag_embed, "input", "offset dim1 dim2", layout="contiguous", input=_GATHERED, complex=True)


def _triangle(name: str, forward: Callable[..., Array]) -> Op:
    rule = Rule(lambda xp, grad, diagonal: xp.call(record, grad, diagonal), f"grad.{name.lower()}(diagonal)")
    record: Op = Op(f"{name}Backward0", forward, "input", "diagonal", layout="contiguous", input=rule, complex=True)
    return record


TRIL, TRIU = _triangle("Tril", np.tril), _triangle("Triu", np.triu)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonal of two dimensions, as the last dimension; `offset` counts from the main diagonal."""
    rank = input.array.ndim
    if wrap_dim(dim1, rank) == wrap_dim(dim2, rank):
        raise shape_error(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return DIAGONAL(input, offset, dim1, dim2)  # type: ignore[no-any-return]


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A copy of the diagonal of a matrix, or the matrix with a vector on its diagonal."""
    rank = input.array.ndim
    if rank == 1:
        return diag_embed(input, diagonal)
    if rank == 2:
        return DIAGONAL_COPY(input, diagonal, 0, 1)  # type: ignore[no-any-return]
    raise shape_error(f"diag(): Supports 1D or 2D tensors. Got {rank}D")


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, in dimensions dim1 and dim2, with the last dimension of input on their diagonal."""
    rank = input.array.ndim + 1
    if wrap_dim(dim1, rank) == wrap_dim(dim2, rank):
        raise shape_error(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = input.array.shape[-1] + abs(offset)
    check_size((*input.array.shape[:-1], n, n), input.dtype.itemsize)
    return DIAG_EMBED(input, offset, dim1, dim2)  # type: ignore[no-any-return]


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements of a tensor on its diagonal."""
    return diag(view(contiguous(input), (-1,)), offset)


def _diag_out(input: Tensor, diagonal: int) -> Out:
    if input.array.ndim not in (1, 2):
        raise shape_error(f"Supports 1D or 2D tensors. Got {input.array.ndim}D")
    if input.array.ndim == 1:
        lower = "diag: result type {result} can't be cast to the desired out= type {out}"
        return Out(EXACT, lower=lower, operator="diag_embed", autograd="fallback", late=True, resized_first=True)
    return Out(EXACT, operator="diagonal_copy", autograd="fallback", late=True, resized_first=True)


_V: Any = [1.0, 2.0, 3.0]
_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def _check_batch(out: Tensor, result: Tensor) -> None:
    """Refuse matrices that do not lie at equal distances, since PyTorch takes them for such and writes beside them."""
    shape = out.array.shape
    if shape != result.array.shape or len(shape) < 4 or not out.array.size:
        return
    strides = memory_format.element_strides(out.array)
    if any(n > 1 and strides[d] != strides[-3] * math.prod(shape[d + 1 : -2]) for d, n in enumerate(shape[:-3])):
        raise runtime_error("an out whose matrices do not lie at equal distances is not part of gradcli")


def _triangular(name: str, record: Op, doc: str, sample: Sample) -> Function:
    def run(input: Tensor, diagonal: int = 0) -> Tensor:
        if is_sample(input):  # PyTorch checks the batch, and takes the last two dimensions of it
            if not input.array.ndim:
                raise shape_error(f"{name}: The input tensor must have at least 2 dimensions.")
            return record(input, diagonal)  # type: ignore[no-any-return]
        return write(input, diagonal)

    def write(input: Tensor, diagonal: int = 0) -> Tensor:
        if input.array.ndim < 2:
            raise shape_error(f"{name}: input tensor must have at least 2 dimensions")
        return record(input, diagonal)  # type: ignore[no-any-return]

    out = Out(EXACT, memory="unchecked", overlap="partial", check=_check_batch)
    own: Any = {"doc": doc, "ops": (record,), "samples": (sample,), "fills": True, "out": out}
    overload = "Tensor input, symint diagonal=0"
    return Function(name, (overload, run), written=((overload, write),), **own)


FUNCTIONS = (
    Function(
        "diagonal",
        ("Tensor input, int offset=0, int dim1=0, int dim2=1", diagonal),
        doc="The diagonal of two dimensions, as the last one.",
        ops=(DIAGONAL,),
        samples=(
            Sample("diagonal(x)", lambda x: np.diagonal(x), x=_M),
            Sample("diagonal(x, 1, 1, 0)", lambda x: np.diagonal(x, 1, 1, 0), x=_M),
        ),
    ),
    Function(
        "diag",
        ("Tensor input, int diagonal=0", diag),
        doc="The diagonal of a matrix, or the matrix with that diagonal.",
        ops=(DIAGONAL_COPY, DIAG_EMBED),
        samples=(Sample("diag(x)", np.diag, x=_M), Sample("diag(x, -1)", lambda x: np.diag(x, -1), x=_V)),
        out=_diag_out,
    ),
    Function(
        "diag_embed",
        ("Tensor input, int offset=0, int dim1=-2, int dim2=-1", diag_embed),
        doc="Matrices with the last dimension on their diagonal.",
        samples=(Sample("diag_embed(x)", lambda x: np.stack([np.diag(r) for r in x]), x=_M),),
    ),
    Function(
        "diagflat",
        ("Tensor input, int offset=0", diagflat),
        doc="The matrix with all elements on its diagonal.",
        samples=(Sample("diagflat(x)", np.diagflat, x=_V), Sample("diagflat(x, 1)", lambda x: np.diagflat(x, 1), x=_M)),
    ),
    _triangular("tril", TRIL, "The lower triangle, 0 above it.", Sample("tril(x)", np.tril, x=_M)),
    _triangular("triu", TRIU, "The upper triangle, 0 below it.", Sample("triu(x, 1)", lambda x: np.triu(x, 1), x=_M)),
)
