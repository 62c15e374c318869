"""Sums of a tensor and a product: addmm, addmv, addr, addbmm, baddbmm.

All raise RuntimeError for ranks, sizes or dtypes that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import scalar_of, stored
from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.functions.out import EXACT, Out, OutRule
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import check_memory
from gradcli.core.kernels import Array, memory_format, products
from gradcli.core.ops.checks import refuse_bool, size
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.linalg.products import (
    BMM,
    MV,
    check_addmv,
    check_batch_sizes,
    check_batches,
    check_product,
    check_ranks,
    exact_out,
    gradient_of_left,
    gradient_of_right,
    is_column_major,
    multiply,
    with_out_dtype,
)
from gradcli.core.ops.linalg.samples import BATCH, PAIR, SQUARE_2, TALL, TRIPLE
from gradcli.core.ops.shape.broadcasting import expanded_shape
from gradcli.core.ops.shape.transpose import T_RECORD, TRANSPOSE
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def _scaled(xp: Any, value: Any, factor: Any) -> Any:
    return value if factor == 1 else scalars.times(xp, value, factor)


def _number(array: Array, factor: Any) -> Any:
    """A factor as an int where the array holds integers, as a bool where it holds bools."""
    return scalar_of(factor, dtypes.of(array.dtype)) if array.dtype.kind in "iub" else factor


def _sum(a: Array, product: Array, beta: Any, alpha: Any) -> Array:
    if not product.size:
        return product
    if alpha != 1:
        product = product * _number(product, alpha)
    # with beta 0 PyTorch ignores the tensor, its nans too
    if beta == 0:
        return product
    return (a if beta == 1 else a * _number(a, beta)) + product


def _rounded_once(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    if a.dtype != np.float16:
        return _sum(a, multiply(x, y), beta, alpha)
    a, x, y = (part.astype(np.float32) for part in (a, x, y))
    return np.asarray(_sum(a, multiply(x, y), beta, alpha)).astype(np.float16)


_INPUT = Rule(lambda xp, grad, beta: _scaled(xp, grad, beta), "beta * grad")


def _tangent(product: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """The scaled tangents of the tensor and of both factors, each `product` with the other factor; a factor without one has zeros."""

    def jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, _: Any) -> Any:
        (_, first, second), (beta, alpha, *_) = inputs, attrs
        moved, *of_factors = tangents
        of_first, of_second = (xp.zeros_like(x) if t is None else t for x, t in zip((first, second), of_factors, strict=True))
        added = _scaled(xp, product(xp, of_first, second), alpha)
        added = added if moved is None else _scaled(xp, moved, beta) + added
        return added + _scaled(xp, product(xp, first, of_second), alpha)

    return jvp


def _record(grad_fn: str, tensors: str, forward: Callable[..., Array], saved: str | None = None, **rules: Any) -> Op:
    """The record of `beta * input + alpha * product`, whose factors are called `tensors`."""
    return Op(grad_fn, forward, f"input {tensors}", "beta alpha", saved=saved, complex=True, input=_INPUT, **rules)


def _onto(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    """`beta * a + alpha * (x @ y)`; the library multiplies the left factor by alpha, and adds the terms to the start."""
    if a.dtype.kind != "f" or a.dtype == np.float16:
        return _rounded_once(a, x, y, beta, alpha)
    x = x if alpha == 1 else x * x.dtype.type(alpha)
    if beta == 0:
        return multiply(x, y)
    return products.matmul_onto(a if beta == 1 else a * a.dtype.type(beta), x, y)


ADDMM: Op = Op(
    "AddmmBackward0",
    lambda a, x, y, beta, alpha, left_columns, right_columns: _onto(a, x, y, beta, alpha),
    "input mat1 mat2",
    "beta alpha left_columns right_columns",
    saved="mat1 mat2 alpha beta mat1_sym_sizes mat1_sym_strides mat2_sym_sizes mat2_sym_strides",
    jvp=_tangent(lambda xp, a, b: xp.matmul(a, b)),
    input=_INPUT,
    mat1=Rule(
        lambda xp, grad, mat2, alpha, left_columns: _scaled(xp, gradient_of_left(xp, grad, mat2, left_columns), alpha),
        "alpha * (grad @ mat2.t())",
    ),
    mat2=Rule(
        lambda xp, grad, mat1, alpha, right_columns: _scaled(xp, gradient_of_right(xp, grad, mat1, right_columns), alpha),
        "alpha * (mat1.t() @ grad)",
    ),
    complex=True,
)


def _onto_vector(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    if not x.size or (alpha == 0 and a.dtype.char in "fd"):  # the library leaves the product out, and what is not finite in it
        return _sum(np.broadcast_to(a, len(x)), np.zeros(len(x), a.dtype), beta, 1)
    if alpha != 1 and is_column_major(x):  # the library multiplies the vector
        y, alpha = (y.astype(np.float32) if y.dtype == np.float16 else y) * _number(y, alpha), 1
    return _rounded_once(a, x, y, beta, alpha)


ADDMV: Op = _record(
    "AddmvBackward0",
    "mat vec",
    _onto_vector,
    jvp=_tangent(lambda xp, a, b: xp.call(MV, a, b)),
    mat=Rule(lambda xp, grad, vec, alpha: _scaled(xp, xp.reshape(grad, (grad.shape[0], 1)) * vec, alpha), "alpha * outer(grad, vec)"),
    vec=Rule(lambda xp, grad, mat, alpha: _scaled(xp, xp.call(MV, xp.call(T_RECORD, mat), grad), alpha), "alpha * (mat.t() @ grad)"),
)


def _addr_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, _: Any) -> Any:
    """The scaled tangents of the three, each with the others as they are; PyTorch leaves out those that are missing."""
    (_, first, second), (beta, alpha) = inputs, attrs
    moved, of_first, of_second = tangents
    parts = [] if moved is None else [_scaled(xp, moved, beta)]
    pairs = [(a, b) for a, b in ((of_first, second), (first, of_second)) if a is not None and b is not None]
    parts += [_scaled(xp, xp.expand_dims(a, -1) * b, alpha) for a, b in pairs]
    return sum(parts[1:], parts[0])


def _like(a: Array, x: Array, y: Array, made: Array) -> Array:
    """An outer product of vectors, laid out as PyTorch's elementwise operation does for the tensor that is added."""
    return memory_format.like_operands(made, (np.broadcast_to(a, (x.size, y.size)),))


ADDR: Op = _record(
    "AddrBackward0",
    "vec1 vec2",
    lambda a, x, y, beta, alpha: _like(a, x, y, _sum(a, x[:, None] * y, beta, alpha)),
    jvp=_addr_jvp,
    vec1=Rule(lambda xp, grad, vec2, alpha: _scaled(xp, xp.call(MV, grad, vec2), alpha), "alpha * (grad @ vec2)"),
    vec2=Rule(lambda xp, grad, vec1, alpha: _scaled(xp, xp.call(MV, xp.call(T_RECORD, grad), vec1), alpha), "alpha * (grad.t() @ vec1)"),
)


def _batched(xp: Any, grad: Any, count: int) -> Any:
    """The gradient repeated for each of `count` matrices."""
    return xp.broadcast_to(xp.expand_dims(grad, 0), (count, *grad.shape))


def _added_up(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    """The products of a batch, each added to the sum so far."""
    made = np.broadcast_to(a, (x.shape[1], y.shape[2]))
    if not len(x):
        return _sum(made, np.zeros_like(made), beta, 1)
    for left, right in zip(x, y, strict=True):
        made, beta = _onto(made, left, right, beta, alpha), 1
    return made


#: from this many multiplications on PyTorch leaves a batch of products to the library, which multiplies the left factors by alpha
_LIBRARY = 400


def _of_batches(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    if a.dtype == np.float16:
        return _rounded_once(a, x, y, beta, alpha)
    if alpha != 1 and a.dtype.char in "fd" and x.size * y.shape[2] >= _LIBRARY * len(x):
        x, alpha = x * x.dtype.type(alpha), 1
    return _sum(a, multiply(x, y), beta, alpha)


ADDBMM: Op = _record(
    "AddbmmBackward0",
    "batch1 batch2",
    _added_up,
    "batch1 batch2 alpha batch1_sym_argsize_0 batch1_sym_argsize_1 batch2_sym_argsize_2 beta",
    jvp=_tangent(lambda xp, a, b: xp.sum(xp.call(BMM, a, b), (0,))),
    batch1=Rule(
        lambda xp, grad, batch2, alpha: _scaled(
            xp, xp.call(BMM, _batched(xp, grad, batch2.shape[0]), xp.call(TRANSPOSE, batch2, 1, 2)), alpha
        ),
        "alpha * (grad @ batch2.mT)",
    ),
    batch2=Rule(
        lambda xp, grad, batch1, alpha: _scaled(
            xp, xp.call(BMM, xp.call(TRANSPOSE, batch1, 1, 2), _batched(xp, grad, batch1.shape[0])), alpha
        ),
        "alpha * (batch1.mT @ grad)",
    ),
)
BADDBMM: Op = _record(
    "BaddbmmBackward0",
    "batch1 batch2",
    _of_batches,
    jvp=_tangent(lambda xp, a, b: xp.call(BMM, a, b)),
    batch1=Rule(
        lambda xp, grad, batch2, alpha: _scaled(xp, xp.call(BMM, grad, xp.call(TRANSPOSE, batch2, 1, 2)), alpha),
        "alpha * (grad @ batch2.mT)",
    ),
    batch2=Rule(
        lambda xp, grad, batch1, alpha: _scaled(xp, xp.call(BMM, xp.call(TRANSPOSE, batch1, 1, 2), grad), alpha),
        "alpha * (batch1.mT @ grad)",
    ),
)


def _check_dtypes(input: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    for name, t in (("self", input), ("mat1", mat1)):
        if t.dtype is not mat2.dtype:
            raise runtime_error(f"{name} and mat2 must have the same dtype, but got {t.dtype.torch_name} and {mat2.dtype.torch_name}")


def _check_written(input: Tensor, dtype: DType, *shape: int) -> None:
    """Raise RuntimeError where a result of that dtype and shape cannot be written to the tensor."""
    if input.dtype is not dtype:
        kinds = f"input tensor dtype {input.dtype.c_name} and output tensor dtype {dtype.c_name}"
        raise runtime_error(f"Bad in-place call: {kinds} should match")
    if input.array.shape != shape:
        sizes = f"input tensor size {list(input.array.shape)} and output tensor size {list(shape)}"
        raise shape_error(f"Bad in-place call: {sizes} should match")


def _check_held(input: Tensor, shape: tuple[int, ...], *factors: Any) -> None:
    """Raise RuntimeError for a factor beyond the range of the dtype in which a result of that shape is accumulated, if it has elements."""
    dtype = dtypes.widened(input.dtype)
    if 0 not in shape:
        for factor in factors:
            scalar_of(factor, dtype)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1, written: bool = False) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`, which is to be `written` to the input or not."""
    _check_dtypes(input, mat1, mat2)
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.array.ndim != 2:
            raise shape_error(f"{name} must be a matrix, got {t.array.ndim}-D tensor")
    (rows, inner), (others, columns) = mat1.array.shape, mat2.array.shape
    if inner == others:
        if written:
            _check_written(input, mat2.dtype, rows, columns)
        try:
            expanded_shape(input, (rows, columns))
        except ProgramError as error:
            raise runtime_error(error.message, Code.AFTER_CHECKS) from None
    check_product(mat1, mat2)
    _check_held(input, (rows, columns), beta, alpha)
    return ADDMM(input, mat1, mat2, beta, alpha, is_column_major(mat1.array), is_column_major(mat2.array))  # type: ignore[no-any-return]


def addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: Any = 1, alpha: Any = 1, written: bool = False) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`, which is to be `written` to the input or not."""
    check_addmv(input, mat, vec)
    rows = len(mat.array)
    if written:
        _check_written(input, vec.dtype, rows)
    if mat.array.size:
        refuse_bool("addmv_impl_cpu", mat.dtype)
        scalar_of(alpha, mat.dtype)
    elif input.array.shape != (rows,) and beta != 0:  # PyTorch's result has the shape of the tensor
        raise runtime_error("addmv that broadcasts the tensor for a matrix without elements is not part of gradcli")
    (scalar_of if mat.array.size else stored)(beta, mat.dtype)
    limits.check_work(mat.array.size)
    return ADDMV(input, mat, vec, beta, alpha)  # type: ignore[no-any-return]


def _addr_of_truth(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    """`addr` of bools, with "and" for products and "or" for the sum."""
    product = np.logical_and(x[:, None], y) & bool(alpha)
    return _like(a, x, y, np.asarray(product if not beta else np.logical_or(a, product)))


def _addr_in_steps(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    """`addr` of bfloat16 numbers, rounded after each step."""
    step = dtypes.round_bfloat16
    product = step(step(x[:, None] * y) * np.float32(alpha))
    return _like(a, x, y, product if beta == 0 else step(a * np.float32(beta)) + product)


_ADDR_RULES: Any = ADDR.rules
_ADDR_OF = {
    dtype: Op("AddrBackward0", forward, "input vec1 vec2", "beta alpha", saved=ADDR.saved, **_ADDR_RULES)
    for dtype, forward in ((dtypes.bool_, _addr_of_truth), (dtypes.bfloat16, _addr_in_steps))
}


def _check_factors(dtype: DType, **factors: Any) -> None:
    """Raise RuntimeError for a factor that does not go with the dtype."""
    for name, value in factors.items():
        if type(value) is bool and dtype is not dtypes.bool_:
            raise runtime_error(f"Boolean {name} only supported for Boolean results.", Code.AFTER_CHECKS)
        if type(value) is float and not dtype.is_differentiable:
            text = f"For integral input tensors, argument {name} must not be a floating point number."
            raise runtime_error(text, Code.AFTER_CHECKS)


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Any = 1, alpha: Any = 1, written: bool = False) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`, which is to be `written` to the input or not; of bools with "and" and "or"."""
    for name, t in (("vec1", vec1), ("vec2", vec2)):
        if t.array.ndim != 1:
            raise shape_error(f"addr: Expected 1-D argument {name}, but got {t.array.ndim}-D")
    if written:
        have, rows, columns = (list(t.array.shape) for t in (input, vec1, vec2))
        if len(have) != 2:
            raise shape_error(f"2D tensor expected, got {len(have)}D tensor for input")
        if have != rows + columns:
            raise shape_error(f"size mismatch, input: {have}, v1: {rows}, v2: {columns}")
    expanded_shape(input, (vec1.array.size, vec2.array.size))
    limits.check_elements(vec1.array.size * vec2.array.size, input.dtype.itemsize)
    dtype = dtypes.result_type((input, vec1, vec2))
    _check_factors(dtype, beta=beta, alpha=alpha)
    for factor in (beta, alpha):
        scalar_of(factor, dtype)
    input, vec1, vec2 = (t if t.dtype is dtype else traced.cast(t, dtype) for t in (input, vec1, vec2))
    return _ADDR_OF.get(dtype, ADDR)(input, vec1, vec2, beta, alpha)  # type: ignore[no-any-return]


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2).sum(0)`."""
    if state.enabled and (input.requires_grad or batch1.requires_grad or batch2.requires_grad):
        size(batch1, 0)  # the node saves the number of matrices before PyTorch checks the shapes
    expanded_shape(input, (size(batch1, 1), size(batch2, 2)))
    check_ranks(batch1, batch2)
    (count, n, k), (others, m, p) = batch1.array.shape, batch2.array.shape
    if count != others:
        raise shape_error(f"batch1 and batch2 must have same number of batches, got {count} and {others}")
    if k != m:
        raise shape_error(f"Incompatible matrix sizes for bmm ({n}x{k} and {m}x{p})")
    _check_dtypes(input, batch1, batch2)
    if count and n and p:
        refuse_bool("addmm_impl_cpu_", batch1.dtype)
    check_batches(batch1, batch2, "bmm")
    _check_held(input, (n, p), beta, alpha)
    return ADDBMM(input, batch1, batch2, beta, alpha)  # type: ignore[no-any-return]


def _copy_first(values: list[Any], out: Tensor) -> None:
    """`addbmm` copies its tensor into `out`, and computes in that dtype."""
    if values[0].dtype is not out.dtype:
        values[0] = traced.cast(values[0], out.dtype)


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1, written: bool = False) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)`, which is to be `written` to the input or not."""
    shape = size(batch1, 0), size(batch1, 1), size(batch2, 2)
    expanded_shape(input, shape)
    if input.dtype is not batch1.dtype:
        names = [t.dtype.c_name for t in (input, batch1, batch2)]
        raise runtime_error(f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, batch2: {names[2]}")
    check_batch_sizes(batch1, batch2)
    if written:
        _check_written(input, batch2.dtype, *shape)
    check_batches(batch1, batch2, "baddbmm")
    _check_held(input, shape, beta, alpha)
    return BADDBMM(input, batch1, batch2, beta, alpha)  # type: ignore[no-any-return]


_FACTORS = "*, Number beta=1, Number alpha=1"


def _declared(
    name: str, tensors: str, run: Callable[..., Tensor], doc: str, op: Op, sample: Sample, *more: Overload, out: OutRule
) -> Function:
    """The function, with its deprecated overloads, in which the factors stand among the tensors."""

    def overloads(run: Callable[..., Tensor], *more: Overload) -> tuple[Overload, ...]:
        return (
            (f"Tensor input, {tensors}, {_FACTORS}", run),
            *more,
            (f"Number beta, Tensor input, Number alpha, {tensors} |deprecated", lambda b, x, a, m, n: run(x, m, n, b, a)),
            (f"Number beta, Tensor input, {tensors} |deprecated", lambda b, x, m, n: run(x, m, n, b)),
        )

    in_torch = ("addmv_",) if name == "addmv" else ()  # torch has this one of the in-place forms as a function
    written = overloads(run if run is addbmm else partial(run, written=True))
    return Function(name, *overloads(run, *more), doc=doc, ops=(op,), samples=(sample,), written=written, torch_inplace=in_torch, out=out)


def _with_out_dtype(name: str, tensors: str) -> Overload:
    return with_out_dtype(name, tensors, f", {_FACTORS}")


def _addr_out(*values: Any) -> Out:
    return Out(memory="first", overlap="partial", instead={i: 1 for i, value in enumerate(values) if type(value) is not Tensor})


_MATRICES, _BATCHES = "Tensor mat1, Tensor mat2", "Tensor batch1, Tensor batch2"
FUNCTIONS: tuple[Function, ...] = (
    _declared(
        "addmm",
        _MATRICES,
        addmm,
        "beta * input + alpha * (mat1 @ mat2).",
        ADDMM,
        Sample("addmm(w, x, y, beta=2, alpha=3)", lambda w, x, y: 2 * w + 3 * (x @ y), w=PAIR, x=TALL, y=SQUARE_2),
        _with_out_dtype("addmm", _MATRICES),
        out=exact_out("addmm"),
    ),
    _declared(
        "addmv",
        "Tensor mat, Tensor vec",
        addmv,
        "beta * input + alpha * (mat @ vec).",
        ADDMV,
        Sample("addmv(w, x, v, beta=2, alpha=3)", lambda w, x, v: 2 * w + 3 * (x @ v), w=TRIPLE, x=TALL, v=PAIR),
        out=Out(EXACT, memory="own", overlap=("partial", "any", "any")),
    ),
    _declared(
        "addr",
        "Tensor vec1, Tensor vec2",
        addr,
        "beta * input + alpha * outer(vec1, vec2).",
        ADDR,
        Sample("addr(x, w, v, beta=2, alpha=3)", lambda x, w, v: 2 * x + 3 * np.outer(w, v), x=TALL, w=TRIPLE, v=PAIR),
        out=_addr_out,
    ),
    _declared(
        "addbmm",
        _BATCHES,
        addbmm,
        "beta * input + alpha * (batch1 @ batch2).sum(0).",
        ADDBMM,
        Sample("addbmm(y, b, b, beta=2, alpha=3)", lambda y, b: 2 * y + 3 * (b @ b).sum(0), y=SQUARE_2, b=BATCH),
        out=Out(
            "self and mat2 must have the same dtype, but got {out} and {result}",
            silent=True,
            memory="own",
            prepare=_copy_first,
            check=lambda out, _: check_memory(out),
        ),
    ),
    _declared(
        "baddbmm",
        _BATCHES,
        baddbmm,
        "beta * input + alpha * (batch1 @ batch2).",
        BADDBMM,
        Sample("baddbmm(y, b, b, beta=2, alpha=3)", lambda y, b: 2 * y + 3 * (b @ b), y=SQUARE_2, b=BATCH),
        _with_out_dtype("baddbmm", _BATCHES),
        out=exact_out("baddbmm"),
    ),
)
