"""Products of vectors and matrices. `matmul` takes the same way through mm, mv, bmm and views as PyTorch's does."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.ops.checks import common_shape
from gradcli.core.ops.elementwise import add_multiply
from gradcli.core.ops.linalg.product_overloads import FACTORS, scaled, wider
from gradcli.core.ops.linalg.product_records import ADDBMM, ADDMM, ADDMV, ADDR, BADDBMM, BMM, DOT, MM, MV, VDOT, by_columns
from gradcli.core.ops.shape.broadcasting import expand, expanded_shape
from gradcli.core.ops.shape.casting import CONTIGUOUS
from gradcli.core.ops.shape.squeeze import SQUEEZE_DIM_INPLACE, UNSQUEEZE, squeeze_dim
from gradcli.core.ops.shape.transpose import T_RECORD, TRANSPOSE
from gradcli.core.ops.shape.views import UNSAFE_VIEW, reshape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError


def _error(text: str, kind: str = "RuntimeError", code: Code | None = None) -> ProgramError:
    return ProgramError(kind, text, code=code)


# --- checks ---


def _no_bool(tensor: Tensor, kernel: str) -> None:
    if tensor.dtype is dtypes.bool_:
        raise _error(f"\"{kernel}\" not implemented for 'Bool'", "NotImplementedError")


def _check_pair(a: Tensor, b: Tensor) -> None:
    """mm's errors: dtypes that differ, inner sizes that differ."""
    if a.array.shape[1] != b.array.shape[0]:
        (n, k), (j, m) = a.array.shape, b.array.shape
        raise _error(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {j}x{m})", code=Code.MATRIX_PRODUCT)
    if a.dtype is not b.dtype:
        text = f"expected m1 and m2 to have the same dtype, but got: {a.dtype.c_name} != {b.dtype.c_name}"
        raise _error(text, code=Code.DTYPES_DIFFER)
    _no_bool(a, "addmm_impl_cpu_")
    limits.check_work(a.array.shape[0] * a.array.shape[1] * b.array.shape[1])
    limits.check_elements(a.array.shape[0] * b.array.shape[1], a.dtype.itemsize)


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    for name, t in (("self", input), ("mat2", mat2)):
        if t.array.ndim != 2:
            raise _error(f"{name} must be a matrix")
    _check_pair(input, mat2)
    return MM(input, mat2, by_columns(input.array), by_columns(mat2.array))  # type: ignore[no-any-return]


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector."""
    if input.array.ndim != 2 or vec.array.ndim != 1:
        raise _error(f"vector + matrix @ vector expected, got 1, {input.array.ndim}, {vec.array.ndim}")
    _check_vector(vec, input, vec)
    return MV(input, vec)  # type: ignore[no-any-return]


def _check_vector(first: Tensor, mat: Tensor, vec: Tensor) -> None:
    (n, m), (k,) = mat.array.shape, vec.array.shape
    length = n if first is vec else (first.array.shape[0] if first.array.ndim else n)
    if m != k or length not in (n, 1):
        shown = k if first is vec else length
        raise _error(f"size mismatch, got input ({n if first is vec else shown}), mat ({n}x{m}), vec ({k})")
    if not first.dtype is mat.dtype is vec.dtype:
        names = [t.dtype.torch_name for t in (first, mat, vec)]
        raise _error(f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}")
    _no_bool(mat, "addmv_impl_cpu")
    limits.check_work(n * m)


def _check_vectors(a: Tensor, b: Tensor) -> None:
    if a.array.ndim != 1 or b.array.ndim != 1:
        raise _error(f"1D tensors expected, but got {a.array.ndim}D and {b.array.ndim}D tensors")
    if a.dtype is not b.dtype:
        raise _error(f"dot : expected both vectors to have same dtype, but found {a.dtype.torch_name} and {b.dtype.torch_name}")
    if a.array.size != b.array.size:
        n, m = a.array.size, b.array.size
        raise _error(
            f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of elements, but got {n} and {m} "
            "elements respectively"
        )
    _no_bool(a, "dot")


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements."""
    _check_vectors(input, tensor)
    return DOT(input, tensor)  # type: ignore[no-any-return]


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """As dot, for real tensors."""
    _check_vectors(input, other)
    return VDOT(input, other)  # type: ignore[no-any-return]


def _check_batches(a: Tensor, b: Tensor) -> None:
    for name, t in (("batch1", a), ("batch2", b)):
        if t.array.ndim != 3:
            raise _error(f"{name} must be a 3D tensor")
    count, n, k = a.array.shape
    if b.array.shape[:2] != (count, k):
        raise _error(f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {k}] but got: {list(b.array.shape[:2])}.")
    if a.dtype is not b.dtype:
        raise _error(f"expected scalar type {a.dtype.torch_name} but found {b.dtype.torch_name}", code=Code.DTYPES_DIFFER)
    _no_bool(a, "bmm")
    limits.check_work(count * n * k * b.array.shape[2])
    limits.check_elements(count * n * b.array.shape[2], a.dtype.itemsize)


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices."""
    _check_batches(input, mat2)
    return BMM(input, mat2)  # type: ignore[no-any-return]


# --- matmul ---


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Product of vectors, matrices or batches of them."""
    n, m = input.array.ndim, other.array.ndim
    if n == 2 and m == 2:
        _check_pair(input, other)
        return MM(input, other, by_columns(input.array), by_columns(other.array))  # type: ignore[no-any-return]
    if not n or not m:
        raise _error(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        return dot(input, other)
    if n == 2 and m == 1:
        return mv(input, other)
    if n == 1 and m == 2:
        return SQUEEZE_DIM_INPLACE(mm(UNSQUEEZE(input, 0), other), 0)  # type: ignore[no-any-return]
    if _folds(input, other):
        return _folded(input, other)
    return _in_batches(input, other)


def _folds(a: Tensor, b: Tensor) -> bool:
    """Whether a batch times a matrix is done as one product of the batch's rows, as PyTorch decides."""
    larger = a.array.ndim >= b.array.ndim
    batch, small = (a.array, b) if larger else (b.array.swapaxes(-1, -2), a)
    if batch.ndim < 3 or small.array.ndim > 2:
        return False
    if small.requires_grad:
        return True
    if a.array.ndim == 2:
        return False
    if not batch.size:
        return True
    return all(batch.strides[i] == batch.strides[i + 1] * batch.shape[i + 1] for i in range(batch.ndim - 2))


def _folded(a: Tensor, b: Tensor) -> Tensor:
    swapped = b.array.ndim > a.array.ndim
    batch: Tensor = TRANSPOSE(b, -2, -1) if swapped else a
    small: Tensor = b
    if swapped:
        small = T_RECORD(a) if a.array.ndim == 2 else a
    shape = batch.array.shape
    rows = 1
    for n in shape[:-1]:
        rows *= n
    flat = reshape(batch, (rows, shape[-1]))
    if small.array.ndim == 1:
        return UNSAFE_VIEW(mv(flat, small), shape[:-1])  # type: ignore[no-any-return]
    out: Tensor = UNSAFE_VIEW(mm(flat, small), (*shape[:-1], small.array.shape[1]))
    return CONTIGUOUS(TRANSPOSE(out, -2, -1)) if swapped else out


def _in_batches(a: Tensor, b: Tensor) -> Tensor:
    x, y = a.array.shape, b.array.shape
    if len(x) == 3 and len(y) == 3 and x[0] != y[0]:
        # where a batch of one would be repeated, its gradient is cheaper without
        if x[0] == 1 and a.requires_grad:
            return matmul(squeeze_dim(a, 0), b)
        if y[0] == 1 and b.requires_grad:
            return matmul(a, squeeze_dim(b, 0))
    n = x[-2] if len(x) > 1 else 1
    inner, other_inner = x[-1], y[-2] if len(y) > 1 else y[-1]
    p = y[-1] if len(y) > 1 else 1
    batch = common_shape([x[:-2], y[:-2]])
    count = 1
    for size in batch:
        count *= size
    limits.check_work(count * n * inner * p)
    limits.check_elements(count * n * p, a.dtype.itemsize)
    left = reshape(expand(a, (*batch, n, inner)), (count, n, inner))
    if len(y) == 1:
        right = UNSQUEEZE(reshape(expand(b, (*batch, other_inner)), (count, other_inner)), 2)
        product = squeeze_dim(bmm(left, right), -1)
    else:
        product = bmm(left, reshape(expand(b, (*batch, other_inner, p)), (count, other_inner, p)))
    shape = batch + ((n,) if len(x) > 1 else ()) + ((p,) if len(y) > 1 else ())
    return UNSAFE_VIEW(product, shape)  # type: ignore[no-any-return]


# --- outer products and their kin ---


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of two vectors' elements."""
    for name, t in (("self", input), ("vec2", vec2)):
        if t.array.ndim != 1:
            raise _error(f"outer: Expected 1-D argument {name}, but got {t.array.ndim}-D")
    limits.check_elements(input.array.size * vec2.array.size, input.dtype.itemsize)
    return add_multiply.mul(reshape(input, (input.array.size, 1)), vec2)


def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product."""
    rank = max(input.array.ndim, other.array.ndim)
    left = (1,) * (rank - input.array.ndim) + input.array.shape
    right = (1,) * (rank - other.array.ndim) + other.array.shape
    limits.check_elements(input.array.size * other.array.size, input.dtype.itemsize)
    a = _unsafe_reshape(input, tuple(s for n in left for s in (n, 1)))
    b = _unsafe_reshape(other, tuple(s for n in right for s in (1, n)))
    shape = tuple(n * m for n, m in zip(left, right, strict=True))
    return UNSAFE_VIEW(add_multiply.mul(a, b), shape)  # type: ignore[no-any-return]


def _unsafe_reshape(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    dense = t if t.array.flags.c_contiguous else CONTIGUOUS(t)
    return UNSAFE_VIEW(dense, shape)  # type: ignore[no-any-return]


# --- a sum and a product ---


def _add_checked(input: Tensor, a: Tensor, name: str) -> None:
    if input.dtype is not a.dtype:
        raise _error(f"self and {name} must have the same dtype, but got {input.dtype.torch_name} and {a.dtype.torch_name}")


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.array.ndim != 2:
            raise _error(f"{name} must be a matrix, got {t.array.ndim}-D tensor")
    _add_checked(input, mat2, "mat2")
    if mat1.dtype is not mat2.dtype:
        raise _error(f"mat1 and mat2 must have the same dtype, but got {mat1.dtype.torch_name} and {mat2.dtype.torch_name}")
    if mat1.array.shape[1] == mat2.array.shape[0]:
        expanded_shape(input, (mat1.array.shape[0], mat2.array.shape[1]))
    _check_pair(mat1, mat2)
    return ADDMM(input, mat1, mat2, beta, alpha, by_columns(mat1.array), by_columns(mat2.array))  # type: ignore[no-any-return]


def addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
    if mat.array.ndim != 2 or vec.array.ndim != 1 or input.array.ndim > 1:
        raise _error(f"vector + matrix @ vector expected, got {input.array.ndim}, {mat.array.ndim}, {vec.array.ndim}")
    _check_vector(input, mat, vec)
    return ADDMV(input, mat, vec, beta, alpha)  # type: ignore[no-any-return]


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    for name, t in (("vec1", vec1), ("vec2", vec2)):
        if t.array.ndim != 1:
            raise _error(f"addr: Expected 1-D argument {name}, but got {t.array.ndim}-D")
    expanded_shape(input, (vec1.array.size, vec2.array.size))
    limits.check_elements(vec1.array.size * vec2.array.size, input.dtype.itemsize)
    return ADDR(input, vec1, vec2, beta, alpha)  # type: ignore[no-any-return]


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2).sum(0)`."""
    if batch1.array.ndim == 3 and batch2.array.ndim == 3 and batch1.array.shape[2] != batch2.array.shape[1]:
        n, k = batch1.array.shape[1:]
        m, p = batch2.array.shape[1:]
        raise _error(f"Incompatible matrix sizes for bmm ({n}x{k} and {m}x{p})")
    _check_batches(batch1, batch2)
    expanded_shape(input, (batch1.array.shape[1], batch2.array.shape[2]))
    _add_checked(input, batch1, "batch1")
    return ADDBMM(input, batch1, batch2, beta, alpha)  # type: ignore[no-any-return]


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)`."""
    _check_batches(batch1, batch2)
    expanded_shape(input, (batch1.array.shape[0], batch1.array.shape[1], batch2.array.shape[2]))
    _add_checked(input, batch1, "batch1")
    return BADDBMM(input, batch1, batch2, beta, alpha)  # type: ignore[no-any-return]


_M: Any = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
_N: Any = [[0.5, -1.0], [2.0, 1.5]]
_B: Any = [[[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 1.5]]]
_V: Any = [1.0, -2.0]
_W: Any = [0.5, 1.5, -1.0]

FUNCTIONS = (
    Function(
        "matmul",
        ("Tensor input, Tensor other", matmul),
        analytic=np.matmul,
        doc="Product of vectors, matrices or batches of them; the operator @.",
        samples=(
            Sample("x @ y", lambda x, y: x @ y, x=_M, y=_N),
            Sample("v @ y", lambda v, y: v @ y, v=_V, y=_N),
            Sample("x @ v", lambda x, v: x @ v, x=_M, v=_V),
            Sample("b @ y", lambda b, y: b @ y, b=_B, y=_N),
            Sample("b @ b", lambda b: b @ b, b=_B),
        ),
        aliases=("linalg.matmul",),
        out=True,
    ),
    Function(
        "mm",
        ("Tensor input, Tensor mat2", mm),
        wider("mm", "Tensor mat2"),
        analytic=np.matmul,
        doc="Product of two matrices.",
        ops=(MM,),
        samples=(Sample("mm(x, y)", lambda x, y: x @ y, x=_M, y=_N),),
        out=True,
    ),
    Function(
        "mv",
        ("Tensor input, Tensor vec", mv),
        analytic=np.matmul,
        doc="Product of a matrix and a vector.",
        ops=(MV,),
        samples=(Sample("mv(x, v)", lambda x, v: x @ v, x=_M, v=_V),),
        out=True,
    ),
    Function(
        "dot",
        ("Tensor input, Tensor tensor", dot),
        analytic=np.dot,
        doc="Sum of the products of two vectors' elements.",
        ops=(DOT,),
        samples=(Sample("dot(v, w)", np.dot, v=_V, w=[3.0, 4.0]),),
        out=True,
    ),
    Function(
        "vdot",
        ("Tensor input, Tensor other", vdot),
        doc="As dot, for real tensors.",
        ops=(VDOT,),
        samples=(Sample("vdot(v, w)", np.vdot, v=_V, w=[3.0, 4.0]),),
        out=True,
    ),
    Function(
        "bmm",
        ("Tensor input, Tensor mat2", bmm),
        wider("bmm", "Tensor mat2"),
        doc="Products of two batches of matrices.",
        ops=(BMM,),
        samples=(Sample("bmm(b, b)", lambda b: b @ b, b=_B),),
        out=True,
    ),
    Function(
        "outer",
        ("Tensor input, Tensor vec2", outer),
        doc="All products of two vectors' elements.",
        samples=(Sample("outer(v, w)", np.outer, v=_V, w=_W),),
        aliases=("ger",),
        out=True,
    ),
    Function(
        "kron",
        ("Tensor input, Tensor other", kron),
        doc="The Kronecker product.",
        samples=(Sample("kron(x, y)", np.kron, x=_M, y=_N),),
        out=True,
    ),
    Function(
        "addmm",
        (f"Tensor input, Tensor mat1, Tensor mat2, {FACTORS}", addmm),
        wider("addmm", "Tensor mat1, Tensor mat2", f", {FACTORS}"),
        *scaled("Tensor mat1, Tensor mat2", addmm),
        doc="beta * input + alpha * (mat1 @ mat2).",
        ops=(ADDMM,),
        samples=(Sample("addmm(w, x, y, beta=2, alpha=3)", lambda w, x, y: 2 * w + 3 * (x @ y), w=_V, x=_M, y=_N),),
        inplace=True,
        out=True,
    ),
    Function(
        "addmv",
        (f"Tensor input, Tensor mat, Tensor vec, {FACTORS}", addmv),
        *scaled("Tensor mat, Tensor vec", addmv),
        doc="beta * input + alpha * (mat @ vec).",
        ops=(ADDMV,),
        samples=(Sample("addmv(w, x, v, beta=2, alpha=3)", lambda w, x, v: 2 * w + 3 * (x @ v), w=_W, x=_M, v=_V),),
        torch_inplace=("addmv_",),
        out=True,
    ),
    Function(
        "addr",
        (f"Tensor input, Tensor vec1, Tensor vec2, {FACTORS}", addr),
        *scaled("Tensor vec1, Tensor vec2", addr),
        doc="beta * input + alpha * outer(vec1, vec2).",
        ops=(ADDR,),
        samples=(Sample("addr(x, w, v, beta=2, alpha=3)", lambda x, w, v: 2 * x + 3 * np.outer(w, v), x=_M, w=_W, v=_V),),
        inplace=True,
        out=True,
    ),
    Function(
        "addbmm",
        (f"Tensor input, Tensor batch1, Tensor batch2, {FACTORS}", addbmm),
        *scaled("Tensor batch1, Tensor batch2", addbmm),
        doc="beta * input + alpha * (batch1 @ batch2).sum(0).",
        ops=(ADDBMM,),
        samples=(Sample("addbmm(y, b, b, beta=2, alpha=3)", lambda y, b: 2 * y + 3 * (b @ b).sum(0), y=_N, b=_B),),
        inplace=True,
        out=True,
    ),
    Function(
        "baddbmm",
        (f"Tensor input, Tensor batch1, Tensor batch2, {FACTORS}", baddbmm),
        wider("baddbmm", "Tensor batch1, Tensor batch2", f", {FACTORS}"),
        *scaled("Tensor batch1, Tensor batch2", baddbmm),
        doc="beta * input + alpha * (batch1 @ batch2).",
        ops=(BADDBMM,),
        samples=(Sample("baddbmm(y, b, b, beta=2, alpha=3)", lambda y, b: 2 * y + 3 * (b @ b), y=_N, b=_B),),
        inplace=True,
        out=True,
    ),
)
