"""Attention of several heads side by side, each of a part of the features (Vaswani et al. 2017).

Queries, keys and values are (rows, batch, features), or (rows, features) without a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.ops.checks import with_method
from gradcli.core.ops.layers.attention import additive
from gradcli.core.ops.layers.dropout import dropout
from gradcli.core.ops.layers.linear import linear
from gradcli.core.ops.operators import is_true, ordered
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error


def _call(name: str, *args: Any) -> Any:
    return catalog.function(name)(*args)


def _view(x: Any, *shape: int) -> Any:
    return catalog.method("view").method(x, (shape,), {})


def _compact(x: Any) -> Any:
    return catalog.method("contiguous").method(x, (), {})


def _require(condition: Any, text: str) -> None:
    if not condition:
        raise shape_error(text, "AssertionError")


# --- masks ---


def canonical_masks(like: Tensor, mask: Any, name: str, padding: Any, padding_name: str) -> tuple[Any, Any]:
    """Two masks, or None, as tensors to add to scores; a boolean one is True where a score is hidden, which is minus infinity then.

    Warns of masks of two dtypes. Raises AssertionError for other dtypes.
    """
    made: list[Any] = [mask, padding]
    for i, one, its_name, other in ((1, padding, padding_name, mask), (0, mask, name, None)):
        if one is None:
            continue
        if one.dtype is not dtypes.bool_ and not one.dtype.is_floating_point:
            raise ProgramError("AssertionError", f"only bool and floating types of {its_name} are supported")
        if other is not None and other.dtype is not one.dtype:
            text = f"Support for mismatched {its_name} and {name} is deprecated. Use same type for both instead."
            warnings.emit(text, inside="MultiheadAttention")
        made[i] = additive(Tensor(~one.array, one.dtype), like) if one.dtype is dtypes.bool_ else one
    return made[0], made[1]


def _with_heads(mask: Any, rows: int, columns: int, batch: int, heads: int) -> Any:
    """A mask of scores in three dimensions. Raises RuntimeError for one of another shape."""
    wanted = (rows, columns) if mask.array.ndim == 2 else (batch * heads, rows, columns)
    if mask.array.shape != wanted:
        raise shape_error(f"The shape of the {mask.array.ndim}D attn_mask is {mask.shape!r}, but should be {wanted}.")
    return _call("unsqueeze", mask, 0) if len(wanted) == 2 else mask


def _with_padding(mask: Any, padding: Any, batch: int, heads: int, columns: int) -> Any:
    """The mask of scores, or None, and that of padded keys in one."""
    for i, wanted in enumerate((batch, columns)):
        _require(padding.array.shape[i] == wanted, f"Expected key_padded_mask.shape[{i}] to be {wanted}, but got {padding.array.shape[i]}")
    hidden = catalog.method("expand").method(_view(padding, batch, 1, 1, columns), ((-1, heads, -1, -1),), {})
    hidden = _call("reshape", hidden, (batch * heads, 1, columns))
    return hidden if mask is None else mask + hidden


def _wider(mask: Any) -> Any:
    """A mask, or None, for one key more, which is never hidden."""
    return None if mask is None else _call("nn.functional.pad", mask, (0, 1))


# --- projections ---


def _taken_apart(x: Any, count: int, size: int) -> list[Any]:
    """The `count` parts, of `size` features each, of a joint projection."""
    x = catalog.method("unflatten").method(x, (-1, (count, size)), {})
    x = _call("squeeze", _call("transpose", _call("unsqueeze", x, 0), 0, -2), -2)
    x = _compact(x)
    return [_call("select", x, 0, i) for i in range(count)]


def _in_one(query: Tensor, key: Tensor, value: Tensor, weight: Any, bias: Any) -> list[Any]:
    """The projections by one weight of all three, with the features of all heads in the last dimension."""
    _require(weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
    size = query.array.shape[-1]
    if query is key is value:
        return _taken_apart(linear(query, weight, bias), 3, size)
    if key is value:
        first, both = _call("split", weight, [size, 2 * size])
        one, two = (None, None) if bias is None else _call("split", bias, [size, 2 * size])
        return [linear(query, first, one), *_taken_apart(linear(key, both, two), 2, size)]
    weights, biases = _thirds(weight), _thirds(bias)
    return [linear(*each) for each in zip((query, key, value), weights, biases, strict=True)]


def _thirds(x: Any) -> Any:
    """The parts of a weight or a bias for query, key and value; None for each where there is none."""
    parts = (None, None, None) if x is None else _call("chunk", x, 3)
    if len(parts) < 3:
        raise ProgramError("ValueError", f"not enough values to unpack (expected 3, got {len(parts)})")
    return parts


def _each(query: Tensor, key: Tensor, value: Tensor, weights: tuple[Any, Any, Any], bias: Any) -> list[Any]:
    """The projections by a weight each. Raises AssertionError for weights of other sizes."""
    for name, weight in zip("qkv", weights, strict=True):
        _require(weight is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
    size, given = query.array.shape[-1], (query, key, value)
    biases = _thirds(bias)
    names = ("query", "key", "value")
    for name, x, weight in zip(names, given, weights, strict=True):
        wanted = size, x.array.shape[-1]
        _require(weight.array.shape == wanted, f"expecting {name} weights shape of {wanted}, but got {weight.shape!r}")
    for name, own in zip(names, biases, strict=True):
        if own is not None and own.array.shape != (size,):
            raise shape_error(f"expecting {name} bias shape of {(size,)}, but got {own.shape!r}", "AssertionError")
    return [linear(*each) for each in zip(given, weights, biases, strict=True)]


# --- attention ---


def check_ranks(query: Tensor, key: Tensor, value: Tensor, mask: Any, padding: Any, heads: int) -> None:
    """Raise AssertionError for tensors and masks of other ranks than those of single sequences, or of batches."""
    rank = query.array.ndim
    _require(rank in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    start = f"For {'batched' if rank == 3 else 'unbatched'} ({rank}-D) `query`, expected"
    found = f"{key.array.ndim}-D and {value.array.ndim}-D tensors respectively"
    _require(key.array.ndim == value.array.ndim == rank, f"{start} `key` and `value` to be {rank}-D but found {found}")
    if padding is not None:
        text = f"{start} `key_padding_mask` to be `None` or {rank - 1}-D but found {padding.array.ndim}-D tensor instead"
        _require(padding.array.ndim == rank - 1, text)
    if mask is None:
        return
    text = f"{start} `attn_mask` to be `None`, 2-D or 3-D but found {mask.array.ndim}-D tensor instead"
    _require(mask.array.ndim in (2, 3), text)
    wanted = (heads, query.array.shape[0], key.array.shape[0])
    single = rank == 2 and mask.array.ndim == 3
    _require(not single or mask.array.shape == wanted, f"Expected `attn_mask` shape to be {wanted} but got {mask.shape!r}")


def each_once(query: Any, key: Any, value: Any, change: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """`change` of all three; arguments that are the same tensor give the same tensor."""
    q = change(query)
    k = q if key is query else change(key)
    return q, k, k if value is key else q if value is query else change(value)


def _with_bias(k: Any, v: Any, bias_k: Any, bias_v: Any, static_k: Any, static_v: Any, batch: int) -> list[Any]:
    """Keys and values with one more of each, the biases. Raises AssertionError for one bias alone, and for biases of static tensors."""
    if bias_k is not None and bias_v is not None:
        _require(static_k is None, "bias cannot be added to static key.")
        _require(static_v is None, "bias cannot be added to static value.")
        repeat = catalog.method("repeat").method
        return [_call("cat", (x, repeat(bias, ((1, batch, 1),), {}))) for x, bias in ((k, bias_k), (v, bias_v))]
    _require(bias_k is None, "bias_k is set but bias_v is None")
    _require(bias_v is None, "bias_v is set but bias_k is None")
    return [k, v]


def _in_heads(name: str, x: Any, static: Any, count: int, width: int) -> Any:
    """A projection as (batch * heads, rows, features of a head), or the `static` tensor that stands for it."""
    if static is None:
        return _call("transpose", _view(x, len(x.array), count, width), 0, 1)
    for dim, wanted in ((0, count), (2, width)):
        _require(static.array.shape[dim] == wanted, f"expecting {name}.size({dim}) of {wanted}, but got {static.array.shape[dim]}")
    return static


def _with_weights(q: Any, k: Any, v: Any, mask: Any, dropout_p: float) -> tuple[Any, Any]:
    """The results of all heads as (rows, batch * heads, features of a head), and the shares of the values."""
    scaled, turned = q * math.sqrt(1.0 / float(q.array.shape[2])), _call("transpose", k, -2, -1)
    scores = _call("bmm", scaled, turned) if mask is None else _call("baddbmm", mask, scaled, turned)
    weights = catalog.method("softmax").method(scores, (-1,), {})
    if ordered(dropout_p, ">", 0.0):
        weights = dropout(weights, dropout_p)
    return _call("transpose", _call("bmm", weights, v), 0, 1), weights


def _in_one_piece(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, causal: bool, batch: int, heads: int) -> Any:
    """The results of all heads, by scaled_dot_product_attention."""
    width = q.array.shape[2]
    if mask is not None:
        alone = mask.array.shape[0] == 1
        mask = _call("unsqueeze", mask, 0) if alone else _view(mask, batch, heads, -1, k.array.shape[1])
    parts = (_view(x, batch, heads, x.array.shape[1], width) for x in (q, k, v))
    out = catalog.function("nn.functional.scaled_dot_product_attention")(*parts, mask, dropout_p, causal)
    return _compact(_call("permute", out, (2, 0, 1, 3)))


_NO_MASK = (
    "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method `generate_square_subsequent_mask` to "
    "create this mask."
)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: Any,
    dropout_p: Any,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: Any = True,
    key_padding_mask: Tensor | None = None,
    need_weights: Any = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: Any = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: Any = True,
    is_causal: Any = False,
) -> tuple[Any, Any]:
    """The projected results of all heads and, if they are needed, the shares that the values have in them.

    Raises AssertionError and RuntimeError for shapes that do not fit.
    """
    query, key, value = (with_method(x, "dim") for x in (query, key, value))
    more = (in_proj_weight, in_proj_bias, bias_k, bias_v, out_proj_bias, q_proj_weight, k_proj_weight, v_proj_weight, static_k, static_v)
    for operand in (out_proj_weight, *(x for x in (key_padding_mask, attn_mask, *more) if x is not None)):
        with_method(operand, "dim")
    for name, number in (("embed_dim_to_check", embed_dim_to_check), ("num_heads", num_heads)):
        if type(number) is not int or number < 1:
            raise ProgramError("TypeError", f"multi_head_attention_forward with {name}={formatted(number)} is not part of gradcli")
    check_ranks(query, key, value, attn_mask, key_padding_mask, num_heads)
    single = query.array.ndim == 2
    if single:
        query, key, value = (_call("unsqueeze", x, 1) for x in (query, key, value))  # other tensors, even if they were the same
        key_padding_mask = None if key_padding_mask is None else _call("unsqueeze", key_padding_mask, 0)
    rows, batch, size = query.array.shape
    mask, padding = canonical_masks(query, attn_mask, "attn_mask", key_padding_mask, "key_padding_mask")
    if (is_causal := is_true(is_causal)) and attn_mask is None:
        raise runtime_error(_NO_MASK)
    causal = is_causal and padding is None and not is_true(need_weights)  # the mask is not looked at then
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if is_true(use_separate_proj_weight):
        q, k, v = _each(query, key, value, (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias)
    else:
        q, k, v = _in_one(query, key, value, in_proj_weight, in_proj_bias)
    mask = None if mask is None or causal else _with_heads(mask, rows, key.array.shape[0], batch, num_heads)
    k, v = _with_bias(k, v, bias_k, bias_v, static_k, static_v, batch)
    count, width = batch * num_heads, size // num_heads
    q, k, v = (
        _in_heads(name, x, static, count, width)
        for name, x, static in (("query", q, None), ("static_k", k, static_k), ("static_v", v, static_v))
    )
    if add_zero_attn := is_true(add_zero_attn):
        k, v = (_call("cat", (x, Tensor(np.zeros((count, 1, width), x.dtype.np), x.dtype)), 1) for x in (k, v))
    for added in (bias_k is not None, add_zero_attn):
        mask, padding = (_wider(mask), _wider(padding)) if added else (mask, padding)
    if padding is not None:
        mask = _with_padding(mask, padding, batch, num_heads, k.array.shape[1])
    dropout_p, weights = dropout_p if is_true(training) else 0.0, None
    if is_true(need_weights):
        out, weights = _with_weights(q, k, v, mask, dropout_p)
        weights = _view(weights, batch, num_heads, rows, k.array.shape[1])
        weights = _call("mean", weights, 1) if is_true(average_attn_weights) else weights
        weights = _call("squeeze", weights, 0) if single else weights
    else:
        out = _in_one_piece(q, k, v, mask, dropout_p, causal, batch, num_heads)
    out = linear(_call("reshape", out, (batch * rows, size)), out_proj_weight, out_proj_bias)
    out = _view(out, rows, batch, out.array.shape[1])
    return _call("squeeze", out, 1) if single else out, weights


def _check_sizes(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, heads: int, separate: Any) -> None:
    size = query.array.shape[2]
    _require(size == embed_dim, f"was expecting embedding dimension of {embed_dim}, but got {size}")
    _require(not size % heads, f"embed_dim {size} not divisible by num_heads {heads}")
    if not is_true(separate):
        _require(key.array.shape == value.array.shape, f"key shape {key.shape!r} does not match value shape {value.shape!r}")
        return
    found = (f"{type(x.shape)(x.array.shape[:2])!r}" for x in (key, value))
    _require(key.array.shape[:2] == value.array.shape[:2], "key's sequence and batch dims {} do not match value's {}".format(*found))


_ROWS = [[[0.5, -1.0]], [[1.5, 0.25]]]
_INWARD = [[0.1, 0.2], [-0.4, 0.5], [0.3, -0.2], [0.6, 0.1], [0.5, -0.7], [0.2, 0.9]]
FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        multi_head_attention_forward,
        "multi_head_attention_forward",
        "Attention of several heads side by side, with projections of queries, keys, values and results.",
        unchecked=True,
        samples=(
            Sample(
                "F.multi_head_attention_forward(x, x, x, 2, 2, w, None, None, None, False, 0.0, v, None)[0]",
                None,
                x=_ROWS,
                w=_INWARD,
                v=[[0.5, -0.3], [0.2, 0.7]],
            ),
        ),
    ),
)
