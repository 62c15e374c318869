"""Sums of a tensor and a product: addmm, addmv, and what they share with addr, addbmm and baddbmm.

All raise RuntimeError for ranks, sizes or dtypes that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.functions.out import EXACT, Out, OutRule
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, products
from gradcli.core.ops.checks import refuse_bool
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.linalg.products.matrix_products import (
    MV,
    check_addmv,
    check_product,
    exact_out,
    factor_strides,
    gradient_of_left,
    gradient_of_right,
    multiply,
    with_out_dtype,
)
from gradcli.core.ops.linalg.samples import PAIR, SQUARE_2, TALL, TRIPLE
from gradcli.core.ops.shape.broadcasting import expanded_shape
from gradcli.core.ops.shape.transpose import T_RECORD
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of, wide_scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def scaled(xp: Any, value: Any, factor: Any) -> Any:
    """The product with a factor; 1 adds no operation."""
    return value if factor == 1 else scalars.times(xp, value, factor)


def _number(array: Array, factor: Any) -> Any:
    """A factor as an int where the array holds integers, as a bool where it holds bools."""
    return scalar_of(factor, dtypes.of(array.dtype)) if array.dtype.kind in "iub" else factor


def weighted_sum(a: Array, product: Array, beta: Any, alpha: Any) -> Array:
    """`beta * a + alpha * product`."""
    if not product.size:
        return product
    if alpha != 1:
        product = product * _number(product, alpha)
    # with beta 0 PyTorch ignores the tensor, its nans too
    if beta == 0:
        return product
    return (a if beta == 1 else a * _number(a, beta)) + product


def rounded_once(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    """`beta * a + alpha * (x @ y)`, which half precision rounds once, at the end."""
    if a.dtype != np.float16:
        return weighted_sum(a, multiply(x, y), beta, alpha)
    a, x, y = (part.astype(np.float32) for part in (a, x, y))
    return np.asarray(weighted_sum(a, multiply(x, y), beta, alpha)).astype(np.float16)


_INPUT = Rule(lambda xp, grad, beta: scaled(xp, grad, beta), "beta * grad")


def sum_tangent(product: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """The scaled tangents of the tensor and of both factors, each `product` with the other factor; a factor without one has zeros."""

    def jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, _: Any) -> Any:
        (_, first, second), (beta, alpha, *_) = inputs, attrs
        moved, *of_factors = tangents
        of_first, of_second = (xp.zeros_like(x) if t is None else t for x, t in zip((first, second), of_factors, strict=True))
        added = scaled(xp, product(xp, of_first, second), alpha)
        added = added if moved is None else scaled(xp, moved, beta) + added
        return added + scaled(xp, product(xp, first, of_second), alpha)

    return jvp


def sum_record(grad_fn: str, tensors: str, forward: Callable[..., Array], saved: str | None = None, **rules: Any) -> Op:
    """The record of `beta * input + alpha * product`, whose factors are called `tensors`."""
    return Op(grad_fn, forward, f"input {tensors}", "beta alpha", saved=saved, complex=True, input=_INPUT, **rules)


def product_onto(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    """`beta * a + alpha * (x @ y)`; the library multiplies the left factor by alpha, and adds the terms to the start."""
    if a.dtype.kind != "f" or a.dtype == np.float16:
        return rounded_once(a, x, y, beta, alpha)
    x = x if alpha == 1 else x * x.dtype.type(alpha)
    if beta == 0:
        return multiply(x, y)
    return products.matmul_onto(a if beta == 1 else a * a.dtype.type(beta), x, y)


def _in_half(dtype: DType, a: Array, x: Array, y: Array, beta: Any, alpha: Any, *_: bool) -> Array:
    """`product_onto`; where there are no products, beta has the dtype of the tensor, as in PyTorch."""
    return product_onto(a, x, y, beta if x.shape[1] else dtypes.stored(np.asarray(beta, np.float32), dtype), alpha)


ADDMM: Op = Op(
    "AddmmBackward0",
    lambda a, x, y, beta, alpha, mat1_sym_strides, mat2_sym_strides: product_onto(a, x, y, beta, alpha),
    "input mat1 mat2",
    "beta alpha mat1_sym_strides mat2_sym_strides",
    in_half=_in_half,
    saved="mat1 mat2 alpha beta mat1_sym_sizes mat1_sym_strides mat2_sym_sizes mat2_sym_strides",
    jvp=sum_tangent(lambda xp, a, b: xp.matmul(a, b)),
    input=_INPUT,
    mat1=Rule(
        lambda xp, grad, mat2, alpha, mat1_sym_strides: scaled(xp, gradient_of_left(xp, grad, mat2, mat1_sym_strides), alpha),
        "alpha * (grad @ mat2.t())",
    ),
    mat2=Rule(
        lambda xp, grad, mat1, alpha, mat2_sym_strides: scaled(xp, gradient_of_right(xp, grad, mat1, mat2_sym_strides), alpha),
        "alpha * (mat1.t() @ grad)",
    ),
    complex=True,
)


def _is_column_major(array: Array) -> bool:
    return array.strides[0] == array.itemsize and array.strides[1] == array.itemsize * array.shape[0]


def _onto_vector(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    if not x.size or (alpha == 0 and a.dtype.char in "fd"):  # the library leaves the product out, and what is not finite in it
        return weighted_sum(np.broadcast_to(a, len(x)), np.zeros(len(x), a.dtype), beta, 1)
    if alpha != 1 and _is_column_major(x):  # the library multiplies the vector
        y, alpha = (y.astype(np.float32) if y.dtype == np.float16 else y) * _number(y, alpha), 1
    return rounded_once(a, x, y, beta, alpha)


def _onto_vector_in_half(dtype: DType, a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    """The sums are made in single precision; of a matrix that lies column by column alpha multiplies the vector, and they are rounded."""
    if not x.size:
        return _onto_vector(a, x, y, beta, alpha)
    a, x, y, alpha, beta = (np.asarray(part, np.float32) for part in (a, x, y, alpha, beta))
    alpha = dtypes.stored(alpha, dtype)
    product = dtypes.stored(multiply(x, y * alpha), dtype) if _is_column_major(x) else multiply(x, y) * alpha
    return dtypes.cast(product if beta == 0 else dtypes.stored(a * dtypes.stored(beta, dtype), dtype) + product, dtype)


ADDMV: Op = sum_record(
    "AddmvBackward0",
    "mat vec",
    _onto_vector,
    in_half=_onto_vector_in_half,
    jvp=sum_tangent(lambda xp, a, b: xp.call(MV, a, b)),
    mat=Rule(lambda xp, grad, vec, alpha: scaled(xp, xp.reshape(grad, (grad.shape[0], 1)) * vec, alpha), "alpha * outer(grad, vec)"),
    vec=Rule(lambda xp, grad, mat, alpha: scaled(xp, xp.call(MV, xp.call(T_RECORD, mat), grad), alpha), "alpha * (mat.t() @ grad)"),
)


def check_dtypes(input: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    """Raise RuntimeError unless all three have one dtype."""
    for name, t in (("self", input), ("mat1", mat1)):
        if t.dtype is not mat2.dtype:
            raise runtime_error(f"{name} and mat2 must have the same dtype, but got {t.dtype.torch_name} and {mat2.dtype.torch_name}")


def check_written(input: Tensor, dtype: DType, *shape: int) -> None:
    """Raise RuntimeError where a result of that dtype and shape cannot be written to the tensor."""
    if input.dtype is not dtype:
        kinds = f"input tensor dtype {input.dtype.c_name} and output tensor dtype {dtype.c_name}"
        raise runtime_error(f"Bad in-place call: {kinds} should match")
    if input.array.shape != shape:
        sizes = f"input tensor size {list(input.array.shape)} and output tensor size {list(shape)}"
        raise shape_error(f"Bad in-place call: {sizes} should match")


def check_held(input: Tensor, shape: tuple[int, ...], *factors: Any) -> None:
    """Raise RuntimeError for a factor beyond the range of the dtype in which a result of that shape is accumulated, if it has elements."""
    dtype = dtypes.widened(input.dtype)
    if 0 not in shape:
        for factor in factors:
            scalar_of(factor, dtype)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1, written: bool = False) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`, which is to be `written` to the input or not."""
    check_dtypes(input, mat1, mat2)
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.array.ndim != 2:
            raise shape_error(f"{name} must be a matrix, got {t.array.ndim}-D tensor")
    (rows, inner), (others, columns) = mat1.array.shape, mat2.array.shape
    if inner == others:
        if written:
            check_written(input, mat2.dtype, rows, columns)
        try:
            expanded_shape(input, (rows, columns))
        except ProgramError as error:
            raise runtime_error(error.message, Code.AFTER_CHECKS) from None
    check_product(mat1, mat2)
    check_held(input, (rows, columns), beta, alpha)
    if input.dtype is dtypes.bool_ and not inner and rows and columns and beta and type(beta) is not bool:
        # without products PyTorch multiplies the input by beta
        text = f"result type {dtypes.result_type((input, beta)).torch_name} can't be cast to the desired output type Bool"
        raise runtime_error(text)
    return ADDMM(input, mat1, mat2, beta, alpha, factor_strides(mat1), factor_strides(mat2))  # type: ignore[no-any-return]


def addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: Any = 1, alpha: Any = 1, written: bool = False) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`, which is to be `written` to the input or not."""
    check_addmv(input, mat, vec)
    rows = len(mat.array)
    if written:
        check_written(input, vec.dtype, rows)
    if mat.array.size:
        refuse_bool("addmv_impl_cpu", mat.dtype)
        scalar_of(alpha, mat.dtype)
    elif input.array.shape != (rows,) and beta != 0:  # PyTorch's result has the shape of the tensor
        raise runtime_error("addmv that broadcasts the tensor for a matrix without elements is not part of gradcli")
    (scalar_of if mat.array.size else wide_scalar_of)(beta, mat.dtype)
    limits.check_work(mat.array.size)
    return ADDMV(input, mat, vec, beta, alpha)  # type: ignore[no-any-return]


_FACTORS = "*, Number beta=1, Number alpha=1"


def declared(
    name: str,
    tensors: str,
    run: Callable[..., Tensor],
    doc: str,
    op: Op,
    sample: Sample,
    *more: Overload,
    out: OutRule,
    written: bool = True,
) -> Function:
    """The function, with its deprecated overloads, in which the factors stand among the tensors.

    `written`: it takes this argument, with which it makes the checks of the in-place form.
    """

    def overloads(run: Callable[..., Tensor], *more: Overload) -> tuple[Overload, ...]:
        return (
            (f"Tensor input, {tensors}, {_FACTORS}", run),
            *more,
            (f"Number beta, Tensor input, Number alpha, {tensors} |deprecated", lambda b, x, a, m, n: run(x, m, n, b, a)),
            (f"Number beta, Tensor input, {tensors} |deprecated", lambda b, x, m, n: run(x, m, n, b)),
        )

    in_torch = ("addmv_",) if name == "addmv" else ()  # torch has this one of the in-place forms as a function
    inplace = overloads(partial(run, written=True) if written else run)
    return Function(name, *overloads(run, *more), doc=doc, ops=(op,), samples=(sample,), written=inplace, torch_inplace=in_torch, out=out)


def with_factors_and_dtype(name: str, tensors: str) -> Overload:
    """The overload with an argument for the dtype of the result, and with the factors."""
    return with_out_dtype(name, tensors, f", {_FACTORS}")


_MATRICES = "Tensor mat1, Tensor mat2"

FUNCTIONS: tuple[Function, ...] = (
    declared(
        "addmm",
        _MATRICES,
        addmm,
        "beta * input + alpha * (mat1 @ mat2).",
        ADDMM,
        Sample("addmm(w, x, y, beta=2, alpha=3)", lambda w, x, y: 2 * w + 3 * (x @ y), w=PAIR, x=TALL, y=SQUARE_2),
        with_factors_and_dtype("addmm", _MATRICES),
        out=exact_out("addmm"),
    ),
    declared(
        "addmv",
        "Tensor mat, Tensor vec",
        addmv,
        "beta * input + alpha * (mat @ vec).",
        ADDMV,
        Sample("addmv(w, x, v, beta=2, alpha=3)", lambda w, x, v: 2 * w + 3 * (x @ v), w=TRIPLE, x=TALL, v=PAIR),
        out=Out(EXACT, memory="own", overlap=("partial", "any", "any")),
    ),
)
