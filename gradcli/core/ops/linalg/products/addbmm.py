"""Sums of a tensor and products of batches: addbmm, baddbmm."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import check_memory
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import refuse_bool, size
from gradcli.core.ops.linalg.products.addmm import (
    check_dtypes,
    check_held,
    check_written,
    declared,
    product_onto,
    rounded_once,
    scaled,
    sum_record,
    sum_tangent,
    weighted_sum,
    with_factors_and_dtype,
)
from gradcli.core.ops.linalg.products.matrix_products import BMM, check_batch_sizes, check_batches, check_ranks, exact_out, multiply
from gradcli.core.ops.linalg.samples import BATCH, SQUARE_2
from gradcli.core.ops.rules import in_half_precision
from gradcli.core.ops.shape.broadcasting import expanded_shape
from gradcli.core.ops.shape.transpose import TRANSPOSE
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def _batched(xp: Any, grad: Any, count: int) -> Any:
    """The gradient repeated for each of `count` matrices."""
    return xp.broadcast_to(xp.expand_dims(grad, 0), (count, *grad.shape))


def _added_up(a: Array, x: Array, y: Array, beta: Any, alpha: Any, rounded: Any = np.asarray) -> Array:
    """The products of a batch, each added to the sum so far, which is `rounded`."""
    made = np.broadcast_to(a, (x.shape[1], y.shape[2]))
    if not len(x):
        return weighted_sum(made, np.zeros_like(made), beta, 1)
    for left, right in zip(x, y, strict=True):
        made, beta = rounded(product_onto(made, left, right, beta, alpha)), 1
    return made


#: from this many multiplications on PyTorch leaves a batch of products to the library, which multiplies the left factors by alpha
_LIBRARY = 400


def _of_batches(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    if a.dtype == np.float16:
        return rounded_once(a, x, y, beta, alpha)
    if alpha != 1 and a.dtype.char in "fd" and x.size * y.shape[2] >= _LIBRARY * len(x):
        x, alpha = x * x.dtype.type(alpha), 1
    return weighted_sum(a, multiply(x, y), beta, alpha)


ADDBMM: Op = sum_record(
    "AddbmmBackward0",
    "batch1 batch2",
    _added_up,
    "batch1 batch2 alpha batch1_sym_argsize_0 batch1_sym_argsize_1 batch2_sym_argsize_2 beta",
    jvp=sum_tangent(lambda xp, a, b: xp.sum(xp.call(BMM, a, b), (0,))),
    batch1=Rule(
        lambda xp, grad, batch2, alpha: scaled(
            xp, xp.call(BMM, _batched(xp, grad, batch2.shape[0]), xp.call(TRANSPOSE, batch2, 1, 2)), alpha
        ),
        "alpha * (grad @ batch2.mT)",
    ),
    batch2=Rule(
        lambda xp, grad, batch1, alpha: scaled(
            xp, xp.call(BMM, xp.call(TRANSPOSE, batch1, 1, 2), _batched(xp, grad, batch1.shape[0])), alpha
        ),
        "alpha * (batch1.mT @ grad)",
    ),
)
_ADDBMM_BFLOAT = in_half_precision(ADDBMM, partial(_added_up, rounded=dtypes.round_bfloat16))
BADDBMM: Op = sum_record(
    "BaddbmmBackward0",
    "batch1 batch2",
    _of_batches,
    jvp=sum_tangent(lambda xp, a, b: xp.call(BMM, a, b)),
    batch1=Rule(
        lambda xp, grad, batch2, alpha: scaled(xp, xp.call(BMM, grad, xp.call(TRANSPOSE, batch2, 1, 2)), alpha),
        "alpha * (grad @ batch2.mT)",
    ),
    batch2=Rule(
        lambda xp, grad, batch1, alpha: scaled(xp, xp.call(BMM, xp.call(TRANSPOSE, batch1, 1, 2), grad), alpha),
        "alpha * (batch1.mT @ grad)",
    ),
)


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
    check_dtypes(input, batch1, batch2)
    if count and n and p:
        refuse_bool("addmm_impl_cpu_", batch1.dtype)
    check_batches(batch1, batch2, "bmm")
    check_held(input, (n, p), beta, alpha)
    record = _ADDBMM_BFLOAT if input.dtype is dtypes.bfloat16 else ADDBMM
    return record(input, batch1, batch2, beta, alpha)  # type: ignore[no-any-return]


def _copy_first(values: list[Any], out: Tensor) -> None:
    """`addbmm` copies its tensor into `out`, and computes in that dtype."""
    at = next(i for i, value in enumerate(values) if type(value) is Tensor)  # numbers may stand before it
    batch1, batch2 = [value for value in values if type(value) is Tensor][1:]
    expanded_shape(values[at], (size(batch1, 1), size(batch2, 2)))
    if values[at].dtype is not out.dtype:
        values[at] = traced.cast(values[at], out.dtype)


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1, written: bool = False) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)`, which is to be `written` to the input or not."""
    shape = size(batch1, 0), size(batch1, 1), size(batch2, 2)
    expanded_shape(input, shape)
    if input.dtype is not batch1.dtype:
        names = [t.dtype.c_name for t in (input, batch1, batch2)]
        raise runtime_error(f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, batch2: {names[2]}")
    check_batch_sizes(batch1, batch2)
    if written:
        check_written(input, batch2.dtype, *shape)
    check_batches(batch1, batch2, "baddbmm")
    check_held(input, shape, beta, alpha)
    return BADDBMM(input, batch1, batch2, beta, alpha)  # type: ignore[no-any-return]


_BATCHES = "Tensor batch1, Tensor batch2"
FUNCTIONS: tuple[Function, ...] = (
    declared(
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
            inspect=_copy_first,
            check=lambda out, _: check_memory(out),
        ),
        written=False,
    ),
    declared(
        "baddbmm",
        _BATCHES,
        baddbmm,
        "beta * input + alpha * (batch1 @ batch2).",
        BADDBMM,
        Sample("baddbmm(y, b, b, beta=2, alpha=3)", lambda y, b: 2 * y + 3 * (b @ b), y=SQUARE_2, b=BATCH),
        with_factors_and_dtype("baddbmm", _BATCHES),
        out=exact_out("baddbmm"),
    ),
)
