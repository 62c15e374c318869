"""Scaled dot product attention (Vaswani et al. 2017).

Queries are (..., rows, features), keys and values (..., columns, features); scores are (..., rows, columns).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.pointwise import check_into
from gradcli.core.graph.record import Op, Rule, without_jvp
from gradcli.core.kernels import Array, elementary, half_to_single, memory_format
from gradcli.core.kernels.memory_format import element_strides
from gradcli.core.ops.activation.softmax import SOFTMAX
from gradcli.core.ops.checks import own_dim, size
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.layers.dropout import drop
from gradcli.core.ops.linalg.products.matmul import matmul
from gradcli.core.ops.reduce.sum_mean import sum_all
from gradcli.core.ops.rules import not_differentiable
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.ops.shape.rearrange import repeat_interleave
from gradcli.core.ops.shape.transpose import transpose
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def _exponentials(scores: Array) -> tuple[Array, Array]:
    """The exponentials of the last dimension, from its maximum on, and their sum, 1 where every score is minus infinity."""
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    shares = elementary.exp(scores - np.where(np.isinf(top), 0, top).astype(scores.dtype))
    total = shares.sum(-1, keepdims=True)
    return shares, np.where(total == 0, 1, total).astype(scores.dtype)


def _softmax(scores: Array) -> Array:
    """softmax along the last dimension; 0 where every score is minus infinity."""
    shares, total = _exponentials(scores)
    return np.asarray(shares / total)


def _for_all_heads(query: Array, *others: Array) -> list[Array]:
    """Keys and values with a head for each head of the queries, of which several in a row may share one."""
    return [x if x.shape[1] == query.shape[1] else np.repeat(x, query.shape[1] // x.shape[1], 1) for x in others]


def _per_head(gradient: Array, operand: Array) -> Array:
    """The gradient of an operand, added up over the heads that share one of its heads."""
    if gradient.shape[1] == operand.shape[1]:
        return gradient
    batch, heads, *rest = operand.shape
    return np.asarray(gradient.reshape(batch, heads, -1, *rest).sum(2))


def _attention(query: Array, key: Array, value: Array, attn_mask: Array | None, scale: float, *_: Any) -> Array:
    key, value = _for_all_heads(query, key, value)
    scores = np.matmul(query, key.swapaxes(-1, -2)) * query.dtype.type(scale)
    if attn_mask is not None:
        scores = scores + attn_mask.astype(scores.dtype)
    out = np.empty_like(query)  # PyTorch gives the result the memory layout of the queries
    out[...] = np.matmul(_softmax(scores), value)
    return out


def _attention_in_half(dtype: DType, query: Array, key: Array, value: Array, attn_mask: Array | None, scale: float, *_: Any) -> Array:
    """PyTorch rounds the exponentials, and divides by their sum at the end."""
    key, value = _for_all_heads(query, key, value)
    shares, total = _exponentials(_scores(half_to_single(query), half_to_single(key), attn_mask, scale))
    out = np.empty_like(query)
    out[...] = dtypes.cast(np.matmul(dtypes.stored(shares, dtype), half_to_single(value)) / total, dtype)
    return out


def _scores(query: Array, key: Array, attn_mask: Array | None, scale: float, *_: Any) -> Array:
    """The scores. That of a masked element is minus infinity, even where it would be infinite."""
    scores = np.matmul(query, key.swapaxes(-1, -2)) * query.dtype.type(scale)
    if attn_mask is None:
        return np.asarray(scores)
    return np.where(attn_mask == -np.inf, -np.inf, scores + attn_mask.astype(scores.dtype))


def _shares(scores: Array) -> Array:
    """The softmax of the scores by the logarithm of the sum, which PyTorch's kernel keeps: that of large scores has few digits."""
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    top = np.where(np.isinf(top), 0, top).astype(scores.dtype)
    total = elementary.exp(scores - top).sum(-1, keepdims=True)
    return elementary.exp(scores - (top + elementary.log(np.where(total == 0, 1, total).astype(scores.dtype))))  # type: ignore[no-any-return]


def _pushed(grad: Array, query: Array, key: Array, value: Array, attn_mask: Array | None, scale: float, *_: Any) -> Array:
    """The gradient of the scores."""
    scores = _scores(query, key, attn_mask, scale)
    slopes = np.matmul(grad, value.swapaxes(-1, -2))
    along = (_softmax(scores) * slopes).sum(-1, keepdims=True)
    return np.asarray(_shares(scores) * (slopes - along) * query.dtype.type(scale))


def _gradient_in_half(
    place: int,
    dtype: DType,
    grad: Array,
    query: Array,
    key: Array,
    value: Array,
    out: Array,
    attn_mask: Array | None,
    scale: float,
    *_: Any,
) -> Array:
    """The gradient of the operand at a place; PyTorch rounds the shares and the slopes, and scales the products of the slopes."""
    grad, query, key, value, out = map(half_to_single, (grad, query, key, value, out))
    shares = _shares(_scores(query, key, attn_mask, scale))
    if place == 2:
        return np.asarray(np.matmul(dtypes.stored(shares, dtype).swapaxes(-1, -2), grad))
    slopes = dtypes.stored(shares * (np.matmul(grad, value.swapaxes(-1, -2)) - (grad * out).sum(-1, keepdims=True)), dtype)
    return np.asarray((np.matmul(slopes.swapaxes(-1, -2), query) if place else np.matmul(slopes, key)) * np.float32(scale))


def _by_rows(x: Array) -> Array:
    """The same numbers with the heads of a row next to each other in memory, as PyTorch's kernel leaves its gradients."""
    batch, heads, rows, features = x.shape
    strides = memory_format.contiguous_strides((batch, rows, heads, features))
    made = memory_format.empty(x.shape, (strides[0], strides[2], strides[1], strides[3]), x.dtype)
    made[...] = x
    return made


#: the mask and the factor that the scores get, and what the program gave
_ATTRS = "attn_mask scale given_mask is_causal given_scale"


def _sums(query: Array, key: Array, _: Any, *how: Any) -> Array:
    """The logarithm of the sum of each row's exponentials, with the heads of a row next to each other in memory."""
    made = np.logaddexp.reduce(_scores(query, _for_all_heads(query, key)[0], *how), axis=-1)
    return memory_format.contiguous(made.swapaxes(1, 2)).swapaxes(1, 2)


def _rule(place: int, gradient: Callable[..., Array], formula: str) -> Rule:
    """The rule of the operand at a place; the derivative of its gradient is one that PyTorch does not have."""

    def run(grad: Array, query: Array, key: Array, value: Array, _: Array, *how: Any) -> Array:
        made = gradient(grad, query, *_for_all_heads(query, key, value), *how)
        return _by_rows(_per_head(made, (query, key, value)[place]))

    def in_half(dtype: DType, grad: Array, query: Array, key: Array, value: Array, out: Array, *how: Any) -> Array:
        keys, values = _for_all_heads(query, key, value)
        made = _gradient_in_half(place, dtype, grad, query, keys, values, out, *how)
        return _by_rows(dtypes.cast(_per_head(made, (query, key, value)[place]), dtype))

    op = not_differentiable(
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        run,
        "grad query key value out",
        _ATTRS,
        in_half=in_half,
    )
    return Rule(lambda xp, grad, query, key, value, out, attrs: xp.call(op, grad, query, key, value, out, *attrs), formula)


#: for formulas: the shares, and the gradient of the scores
_P = "P = (query @ key.mT * scale + (0 if attn_mask is None else attn_mask)).softmax(-1); "
_D = _P + "d = grad @ value.mT; D = P * (d - (P * d).sum(-1, True)) * scale; "
ATTENTION = Op(
    "ScaledDotProductFlashAttentionForCpuBackward0",
    _attention,
    "query key value",
    _ATTRS,
    in_half=_attention_in_half,
    saved="attn_mask=given_mask key logsumexp=? output=out query value dropout_p=0.0 is_causal scale=given_scale",
    computed={"logsumexp": _sums},
    jvp=without_jvp("_scaled_dot_product_flash_attention_for_cpu"),
    query=_rule(0, lambda grad, query, key, value, *how: np.matmul(_pushed(grad, query, key, value, *how), key), _D + "D @ key"),
    key=_rule(
        1,
        lambda grad, query, key, value, *how: np.matmul(_pushed(grad, query, key, value, *how).swapaxes(-1, -2), query),
        _D + "D.mT @ query",
    ),
    value=_rule(
        2, lambda grad, query, key, value, *how: np.matmul(_shares(_scores(query, key, *how)).swapaxes(-1, -2), grad), _P + "P.mT @ grad"
    ),
)
SAFE_SOFTMAX = Op("SafeSoftmaxBackward0", lambda x, dim: _softmax(x), "input", "dim", input=SOFTMAX.rules["input"])


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    """Raise RuntimeError for ranks or dtypes that do not fit."""
    kinds = [t.dtype.c_name for t in (query, key, value)]
    if len(set(kinds)) > 1:
        raise runtime_error(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {kinds[0]} key.dtype: {kinds[1]} and "
            f"value.dtype: {kinds[2]} instead."
        )
    ranks = [t.array.ndim for t in (query, key, value)]
    if min(ranks) < 2:
        raise shape_error(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {ranks[0]} key.dim: {ranks[1]} and "
            f"value.dim: {ranks[2]} instead.",
        )
    if mask is not None and mask.dtype not in (query.dtype, dtypes.bool_, dtypes.float32):
        raise runtime_error(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{mask.dtype.c_name} and  query.dtype: {kinds[0]} instead."
        )


def additive(mask: Tensor, like: Tensor) -> Tensor:
    """A mask that is added to scores: of bool, 0 where True and minus infinity where False; other dtypes stay as they are."""
    if mask.dtype is not dtypes.bool_:
        return mask
    hidden = scalar_of(-math.inf, like.dtype)
    return Tensor(np.where(mask.array, 0, hidden).astype(like.dtype.np), like.dtype)


def _causal(query: Tensor, key: Tensor) -> Tensor:
    """The additive mask under which row i sees columns up to i."""
    rows, columns = query.array.shape[-2], key.array.shape[-2]
    limits.check_elements(rows * columns, query.dtype.itemsize)
    return Tensor(np.where(np.tri(rows, columns, dtype=np.bool_), 0, -np.inf).astype(query.dtype.np), query.dtype)


def _fits(mask: tuple[int, ...], scores: tuple[int, ...]) -> bool:
    """Whether a mask of this shape broadcasts to that of the scores."""
    return len(mask) <= len(scores) and all(m in (1, n) for m, n in zip(mask[::-1], scores[::-1], strict=False))


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Any:
    """`softmax(query @ key.mT * scale + mask) @ value`: as one operation where PyTorch has a kernel, else step by step.

    With `enable_gqa` several heads of the queries in a row share one head of the keys and values. Raises RuntimeError for ranks, dtypes
    or numbers of heads that do not fit.
    """
    _check(query, key, value, attn_mask)
    if not key.array.shape[-2] or 0 in (*query.array.shape[:-1], value.array.shape[-1]):
        return _of_nothing(query, key, value)
    mask = None if attn_mask is None else additive(attn_mask, query)
    width = query.array.shape[-1]
    factor = (1.0 / math.sqrt(width) if width else math.inf) if scale is None else scale
    limits.check_elements(query.array.size // max(query.array.shape[-1], 1) * key.array.shape[-2], query.dtype.itemsize)
    shapes = [t.array.shape for t in (query, key, value)]
    if enable_gqa:
        heads = [size(t, -3) for t in (query, key, value)]
        if any(not n or heads[0] % n for n in heads):
            raise shape_error("Number of heads in key and value must divide the number of heads in ")
        limits.check_elements(heads[0] * (key.array.size // heads[1] + value.array.size // heads[2]), query.dtype.itemsize)
        if heads[1] == heads[2]:
            shapes[1:] = [(*shape[:-3], heads[0], *shape[-2:]) for shape in shapes[1:]]
    alike = len({s[:-2] for s in shapes}) == 1 and len({s[-1] for s in shapes}) == 1 and shapes[1] == shapes[2]
    chosen = query.array.ndim == 4 and len({s[:-2] for s in shapes}) == 1 and not dropout_p
    if mask is not None and chosen and not mask.requires_grad:  # the sizes of the mask decide which kernel is taken
        own_dim(mask, -2)
    # PyTorch's kernel takes rows in one piece
    alike = alike and all(element_strides(t.array)[-1] == 1 for t in (query, key, value))
    alike = alike and query.dtype.is_differentiable
    by_kernel = query.array.ndim == 4 and alike and not dropout_p and (mask is None or not mask.requires_grad)
    if is_causal and mask is not None and not (by_kernel and _fits(mask.array.shape, (*shapes[0][:-1], shapes[1][-2]))):
        raise runtime_error("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if query.array.ndim == 4 and alike and dropout_p < 0:
        raise runtime_error("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    if by_kernel:
        limits.check_work(query.array.size * key.array.shape[-2] * 2)
        given = both = None if mask is None else mask.array
        if both is not None:
            check_into(np.broadcast_to(both.dtype.type(0), (*shapes[0][:-1], shapes[1][-2])), both)
        if is_causal:
            causal = _causal(query, key).array
            both = causal if both is None else both + causal
        return ATTENTION(query, key, value, both, factor, given, is_causal, scale)
    if enable_gqa:
        key, value = (t if n == heads[0] else repeat_interleave(t, heads[0] // n, -3) for t, n in ((key, heads[1]), (value, heads[2])))
    return _by_steps(query, key, value, mask, dropout_p, is_causal, factor)


def _of_nothing(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Zeros, which depend on the sums of all operands."""
    zeros = np.zeros((*query.array.shape[:-1], value.array.shape[-1]), query.dtype.np)
    total = sum_all(query) + sum_all(key) + sum_all(value)
    return Tensor(zeros, query.dtype) + scalars.times(traced, total, 0)  # type: ignore[no-any-return]


def _by_steps(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool, factor: float) -> Tensor:
    """Attention by operations that have nodes of their own, in float32 for half precision."""
    dtype = query.dtype
    if dtype in (dtypes.float16, dtypes.bfloat16):
        query, key, value = (to_dtype(t, dtypes.float32) for t in (query, key, value))
    if is_causal:
        mask = _causal(query, key)
    root = math.sqrt(abs(factor))
    scores = matmul(scalars.times(traced, query, math.copysign(root, factor)), scalars.times(traced, transpose(key, -2, -1), root))
    if mask is not None:
        check_into(scores.array, mask.array)
        scores = scores + mask
    shares = SAFE_SOFTMAX(scores, scores.array.ndim - 1)
    if dropout_p > 0:
        shares = drop(shares, dropout_p, True)
    return to_dtype(matmul(shares, value), dtype)


_Q, _K, _V = [[[[0.5, -1.0], [0.2, 0.3]]]], [[[[1.0, 0.4], [-0.3, 0.8]]]], [[[[0.7, -0.6], [0.9, 0.1]]]]


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "scaled_dot_product_attention",
        (
            "Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, "
            "float? scale=None, bool enable_gqa=False",
            scaled_dot_product_attention,
        ),
        doc="A mixture of values, by how well their keys fit a query.",
        ops=(ATTENTION, SAFE_SOFTMAX),
        samples=(
            Sample("F.scaled_dot_product_attention(q, k, v)", None, q=_Q, k=_K, v=_V),
            Sample("F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.7)", None, q=_Q, k=_K, v=_V),
            Sample("F.scaled_dot_product_attention(q, k, v, m)", None, q=_Q[0], k=_K[0], v=_V[0], m=[[0.5, 0.1], [0.2, -0.3]]),
        ),
        namespace="torch.nn.functional",
        method=False,
    ),
)
