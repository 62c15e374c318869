"""Linear and bilinear maps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.pointwise import check_into
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, half_to_single
from gradcli.core.ops.checks import refuse_bool, size
from gradcli.core.ops.layers.samples import ROWS, WEIGHT
from gradcli.core.ops.linalg.products.addmm import addmm
from gradcli.core.ops.linalg.products.matmul import matmul
from gradcli.core.ops.linalg.products.matrix_products import mm
from gradcli.core.ops.shape.slicing import SELECT
from gradcli.core.ops.shape.transpose import t
from gradcli.core.ops.shape.views import infer_size, reshape, view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """`input @ weight.T + bias`, with PyTorch's choice among mm, addmm and matmul. Raises RuntimeError for sizes that do not fit."""
    rank, width = input.array.ndim, weight.array.ndim
    if not rank or not width:
        # torch.func takes it apart; the vmap of torch.autograd.functional, around a level of forward mode, is none of its transforms
        name = "linear" if not state.transforms or (state.dual is not None and state.transforms == ("vmap",)) else "matmul"
        raise shape_error(f"both arguments to {name} need to be at least 1D, but they are {rank}D and {width}D")
    transposed = t(weight)
    if bias is None:
        return mm(input, transposed) if rank == width == 2 else matmul(input, transposed)
    if rank == 2:
        return addmm(bias, input, transposed)
    row = bias.array.ndim == 1 or sum(n != 1 for n in bias.array.shape) == 1
    # inside torch.func PyTorch makes rows of three dimensions alone
    rows = input.array.flags.c_contiguous and (rank == 3 or not state.transforms)
    if not row or not rows or not bias.array.flags.c_contiguous:
        made = matmul(input, transposed)
        if state.dual is None or state.dual.tangent_of(bias) is None:  # PyTorch adds in place, unless the bias has a tangent
            check_into(made.array, bias.array)
        if made.dtype is not bias.dtype and not bias.array.ndim:
            return catalog.method("add_").method(made, (bias,), {})
        return made + bias
    shape = input.array.shape
    flat = addmm(bias, view(input, (math.prod(shape[:-1]), shape[-1])), transposed)
    return view(flat, (*shape[:-1], flat.array.shape[-1]))


# --- bilinear maps: PyTorch adds their parts to zeros, so that no zero is -0 ---


def _bilinear_part(xp: Any, matrix: Any, rows: Any, shape: tuple[int, int, int]) -> Any:
    """`einsum("oij,nj->noi", matrix, rows)`; `shape` is that of the matrix."""
    out, first, second = shape
    return xp.reshape(xp.matmul(rows, xp.mT(xp.reshape(matrix, (out * first, second)))), (rows.shape[0], out, first))


def _in_steps(xp: Any, grad: Any, i2: Any, part: Callable[[Any, Any], Any]) -> Any:
    """The sum of `part(grad[:, k], i2[k])` for each output, which half precision rounds after each of them; None for other tensors."""
    if xp is numeric or grad.dtype.itemsize > 2 or not grad.shape[1]:
        return None
    total = 0.0
    for k in range(grad.shape[1]):
        total = part(xp.expand_dims(xp.call(SELECT, grad, 1, k), 1), xp.call(SELECT, i2, 0, k)) + total
    return total


def _to_first(xp: Any, grad: Any, i2: Any, i3: Any) -> Any:
    def part(slopes: Any, matrix: Any) -> Any:
        return xp.reshape(xp.matmul(xp.expand_dims(slopes, 2) * matrix, xp.expand_dims(i3, 2)), (i3.shape[0], matrix.shape[0]))

    made = _in_steps(xp, grad, i2, part)
    if made is not None:
        return made
    return xp.sum(xp.expand_dims(grad, 2) * _bilinear_part(xp, i2, i3, tuple(i2.shape)), (1,)) + 0.0


def _to_last(xp: Any, grad: Any, i1: Any, i2: Any) -> Any:
    made = _in_steps(xp, grad, i2, lambda slopes, matrix: xp.matmul(i1, matrix) * slopes)
    if made is not None:
        return made
    out, first, second = i2.shape
    part = xp.matmul(xp.reshape(i1, (i1.shape[0], 1, 1, first)), xp.reshape(i2, (1, out, first, second)))
    return xp.sum(xp.expand_dims(grad, 2) * xp.reshape(part, (i1.shape[0], out, second)), (1,)) + 0.0


def _to_weight(xp: Any, grad: Any, i1: Any, i3: Any) -> Any:
    rows, out = grad.shape
    left = xp.reshape(xp.expand_dims(grad, 2) * xp.expand_dims(i1, 1), (rows, out * i1.shape[1]))
    return xp.reshape(xp.matmul(xp.mT(left), i3), (out, i1.shape[1], i3.shape[1])) + 0.0


def _trilinear(i1: Array, i2: Array, i3: Array) -> Array:
    """`einsum("ni,oij,nj->no", i1, i2, i3)`, from left to right as PyTorch does it."""
    made = np.zeros((len(i1), len(i2)), i1.dtype)
    made += (np.matmul(i1, i2) * i3).sum(-1, dtype=i1.dtype).T
    return made


def _trilinear_in_half(dtype: DType, i1: Array, i2: Array, i3: Array) -> Array:
    part = dtypes.stored(np.matmul(half_to_single(i1), half_to_single(i2)), dtype)
    made = np.zeros((len(i1), len(i2)), np.float32)
    made += (part * half_to_single(i3)).sum(-1).T
    return dtypes.cast(made, dtype)


TRILINEAR = Op(
    "TrilinearBackward0",
    _trilinear,
    "i1 i2 i3",
    in_half=_trilinear_in_half,
    saved="i1 i2 i3 expand1=? expand2=? expand3=? sumdim=?",
    i1=Rule(_to_first, 'torch.einsum("no,oij,nj->ni", grad, i2, i3)'),
    i2=Rule(_to_weight, 'torch.einsum("no,ni,nj->oij", grad, i1, i3)'),
    i3=Rule(_to_last, 'torch.einsum("no,ni,oij->nj", grad, i1, i2)'),
)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """`input1 @ weight[k] @ input2` for each k, plus bias. Raises RuntimeError for sizes and dtypes that do not fit."""
    given = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    if len({tensor.dtype for tensor in given.values()}) > 1:
        listed = ", ".join(f"{name}: {tensor.dtype.c_name}" for name, tensor in given.items())
        raise runtime_error(f"All tensors must have the same dtype, got {listed}")
    first, second = input1.array.shape, input2.array.shape
    if len(first) != len(second):
        raise shape_error(f"bilinear(): input dimensions do not match: got {len(first)} and {len(second)}")
    for at, (n, m) in enumerate(zip(first[:-1], second[:-1], strict=True)):
        if n != m:
            raise shape_error(f"bilinear(): input batch dimensions do not match at dim {at}: got {n} and {m}")
    for number, operand in enumerate((input1, input2), 1):
        if size(weight, number) != size(operand, -1):
            found = (operand.array.shape[-1], weight.array.shape[number])
            raise shape_error(f"bilinear(): input{number} size does not match weight size: got {found[0]} but expected {found[1]}")
    if weight.array.ndim != 3:
        raise shape_error("number of dimensions must match")
    out = weight.array.shape[0]
    if bias is not None and size(bias, 0) != out:
        raise shape_error(f"bilinear(): bias size does not match weight size: got {bias.array.shape[0]} but expected {out}")
    rows = math.prod(first[:-1])
    for columns in (first[-1], second[-1]):
        infer_size((-1, columns), rows * columns)
    if rows and out:
        refuse_bool("bmm", weight.dtype)
    limits.check_work(rows * weight.array.size)
    limits.check_elements(rows * out * max(first[-1], second[-1], 1), weight.dtype.itemsize)
    made = TRILINEAR(reshape(input1, (rows, first[-1])), weight, reshape(input2, (rows, second[-1])))
    made = view(made, (*first[:-1], out))
    return made if bias is None else made + bias


def _linear_into(input: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> Tensor:
    """`linear` with `out`, into which the product is written, and the bias added afterwards. PyTorch counts that as one write."""
    writes = out.counter().count
    if bias is not None and input.array.ndim == 2:
        made = catalog.function("addmm")(bias, input, t(weight), out=out)
    else:
        made = catalog.function("matmul")(input, t(weight), out=out)
        if bias is not None:
            catalog.function("add")(made, bias, out=made)
    out.counter().count = writes + 1
    return made  # type: ignore[no-any-return]


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "linear",
        ("Tensor input, Tensor weight, Tensor? bias=None", linear),
        doc="A linear map: input @ weight.T + bias.",
        samples=(
            Sample("F.linear(x, w, b)", lambda x, w, b: x @ w.T + b, x=ROWS, w=WEIGHT, b=[0.5, -1.0]),
            Sample("F.linear(x, w)", lambda x, w: x @ w.T, x=ROWS[0], w=WEIGHT),
        ),
        namespace="torch.nn.functional",
        method=False,
        out=Out(operator="linear", steps=_linear_into),
    ),
    Function(
        "bilinear",
        ("Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None", bilinear),
        doc="A bilinear map: input1 @ weight @ input2 + bias.",
        ops=(TRILINEAR,),
        samples=(
            Sample(
                "F.bilinear(x, y, w, b)",
                lambda x, y, w, b: np.einsum("ni,oij,nj->no", x, w, y) + b,
                x=[[0.5, -1.0], [0.2, 0.3]],
                y=[[1.0, 0.4, -0.3], [0.8, 0.7, -0.6]],
                w=[[[0.1, 0.2, 0.3], [0.4, -0.5, 0.6]], [[0.7, -0.8, 0.9], [1.0, 0.5, 0.2]]],
                b=[0.5, -0.5],
            ),
        ),
        method=False,
        aliases=("nn.functional.bilinear",),
    ),
)
