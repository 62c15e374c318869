"""addr: the sum of a tensor and an outer product, which unlike products of matrices promotes and takes element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, elementary, memory_format
from gradcli.core.ops.linalg.products.addmm import declared, scaled, sum_record, weighted_sum
from gradcli.core.ops.linalg.products.matrix_products import MV
from gradcli.core.ops.linalg.samples import PAIR, TALL, TRIPLE
from gradcli.core.ops.shape.broadcasting import expanded_shape
from gradcli.core.ops.shape.transpose import T_RECORD
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, runtime_error, shape_error


def _addr_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, _: Any) -> Any:
    """The scaled tangents of the three, each with the others as they are; PyTorch leaves out those that are missing."""
    (_, first, second), (beta, alpha) = inputs, attrs
    moved, of_first, of_second = tangents
    parts = [] if moved is None else [scaled(xp, moved, beta)]
    pairs = [(a, b) for a, b in ((of_first, second), (first, of_second)) if a is not None and b is not None]
    parts += [scaled(xp, xp.expand_dims(a, -1) * b, alpha) for a, b in pairs]
    return sum(parts[1:], parts[0])


def _like(a: Array, x: Array, y: Array, made: Array) -> Array:
    """An outer product of vectors, laid out as PyTorch's elementwise operation does for the tensor that is added."""
    strides = memory_format.element_strides(memory_format.expanded(a, made.shape))
    return memory_format.laid_out(made, memory_format.dense(made.shape, memory_format.outer_first(made.shape, strides, ())[::-1]))


def _addr(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    """alpha multiplies the first vector. One product and the sum are rounded once: that of the vectors in PyTorch's vector code, which
    takes as many neighbours as four registers hold, and that with beta for the rest.
    """
    if a.dtype.kind != "f":
        return _like(a, x, y, weighted_sum(a, (x * x.dtype.type(alpha))[:, None] * y, beta, 1))
    left, right, beta = (x if alpha == 1 else x * x.dtype.type(alpha))[:, None], y[None], a.dtype.type(beta)
    if beta == 0:
        return _like(a, x, y, left * right)
    a = memory_format.expanded(a, (x.size, y.size))
    made = np.asarray(elementary.fused(a, beta, left * right))
    strides = memory_format.element_strides(a)
    inner = made.shape.index(1) ^ 1 if 1 in made.shape else memory_format.outer_first(made.shape, strides, ())[-1]
    lanes = 64 // a.itemsize
    whole = made.shape[inner] // lanes * lanes if strides[inner] == 1 and a.dtype != np.float16 else 0
    if whole:
        at = (slice(whole), slice(None)) if inner == 0 else (slice(None), slice(whole))
        made[at] = elementary.fused(left[at] if inner == 0 else left, right if inner == 0 else right[at], a[at] * beta)
    return _like(a, x, y, made)


ADDR: Op = sum_record(
    "AddrBackward0",
    "vec1 vec2",
    _addr,
    jvp=_addr_jvp,
    vec1=Rule(lambda xp, grad, vec2, alpha: scaled(xp, xp.call(MV, grad, vec2), alpha), "alpha * (grad @ vec2)"),
    vec2=Rule(lambda xp, grad, vec1, alpha: scaled(xp, xp.call(MV, xp.call(T_RECORD, grad), vec1), alpha), "alpha * (grad.t() @ vec1)"),
)


def _addr_of_truth(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    """`addr` of bools, with "and" for products and "or" for the sum."""
    product = np.logical_and(x[:, None], y) & bool(alpha)
    return _like(a, x, y, np.asarray(product if not beta else np.logical_or(a, product)))


def _addr_in_steps(a: Array, x: Array, y: Array, beta: Any, alpha: Any) -> Array:
    """`addr` of bfloat16 numbers, rounded after each step."""
    step = dtypes.round_bfloat16
    product = step(step(x * step(np.asarray(alpha, np.float32)))[:, None] * y)
    return _like(a, x, y, product if beta == 0 else step(a * step(np.asarray(beta, np.float32))) + product)


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


def _addr_out(*values: Any) -> Out:
    return Out(memory="first", overlap="partial", instead={i: 1 for i, value in enumerate(values) if type(value) is not Tensor})


FUNCTIONS: tuple[Function, ...] = (
    declared(
        "addr",
        "Tensor vec1, Tensor vec2",
        addr,
        "beta * input + alpha * outer(vec1, vec2).",
        ADDR,
        Sample("addr(x, w, v, beta=2, alpha=3)", lambda x, w, v: 2 * x + 3 * np.outer(w, v), x=TALL, w=TRIPLE, v=PAIR),
        out=_addr_out,
    ),
)
