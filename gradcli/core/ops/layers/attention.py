"""Attention (Vaswani et al. 2017), choices by the Gumbel trick, and bilinear maps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import elementary
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.layers import normalization
from gradcli.core.ops.layers.softmax import SOFTMAX
from gradcli.core.random import generator
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError, runtime_error


def _call(name: str, *args: Any) -> Any:
    return catalog.function(name)(*args)


# --- attention in one piece ---


def _softmax(scores: Array) -> Array:
    """Along the last dimension; 0 where everything is masked."""
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    shares = elementary.exp(scores - np.where(np.isinf(top), 0, top).astype(scores.dtype))
    total = shares.sum(-1, keepdims=True)
    return np.asarray(shares / np.where(total == 0, 1, total).astype(scores.dtype))


def _attention(query: Array, key: Array, value: Array, attn_mask: Array | None, scale: float) -> Array:
    scores = np.matmul(query, key.swapaxes(-1, -2)) * query.dtype.type(scale)
    if attn_mask is not None:
        scores = scores + attn_mask.astype(scores.dtype)
    out = np.empty_like(query)  # which lies in memory as the queries do
    out[...] = np.matmul(_softmax(scores), value)
    return out


def _shares(xp: Any, query: Any, key: Any, attn_mask: Array | None, scale: float) -> Any:
    """How much of each value is taken."""
    scores = scalars.times(xp, xp.matmul(query, xp.mT(key)), scale)
    data = xp.plain(scores)
    if attn_mask is not None:
        data = data + attn_mask.astype(data.dtype)
    top = data.max(-1, keepdims=True, initial=-np.inf)
    reach = np.where(np.isinf(top), 0, top)
    if attn_mask is not None:
        # what is masked counts 0, whatever its score
        seen = np.isfinite(attn_mask)
        reach = reach - np.where(seen, attn_mask, 0)
    shares = xp.exp(xp.call(_SHIFT, scores, np.asarray(np.broadcast_to(reach, data.shape).astype(data.dtype))))
    if attn_mask is not None:
        shares = scalars.times_data(xp, shares, np.broadcast_to(seen, data.shape).astype(data.dtype))
    total = xp.sum(shares, (-1,), True)
    empty = (xp.plain(total) == 0).astype(data.dtype)
    return shares / xp.call(_SHIFT, total, -empty)


#: minus data, to which no gradient flows
_SHIFT = Op("SubBackward0", lambda x, data: x - data, "input", "data", input=Rule(lambda grad: grad, "grad"))


def _pushed(xp: Any, grad: Any, query: Any, key: Any, value: Any, attn_mask: Any, scale: float) -> Any:
    """The gradient of the scores."""
    shares = _shares(xp, query, key, attn_mask, scale)
    slopes = xp.matmul(grad, xp.mT(value))
    return scalars.times(xp, shares * (slopes - xp.sum(shares * slopes, (-1,), True)), scale)


_P = "P = (query @ key.mT * scale + (0 if attn_mask is None else attn_mask)).softmax(-1); "
_D = _P + "d = grad @ value.mT; D = P * (d - (P * d).sum(-1, True)) * scale; "
ATTENTION = Op(
    "ScaledDotProductFlashAttentionForCpuBackward0",
    _attention,
    "query key value",
    "attn_mask scale",
    query=Rule(
        lambda xp, grad, query, key, value, attn_mask, scale: xp.matmul(_pushed(xp, grad, query, key, value, attn_mask, scale), key),
        _D + "D @ key",
    ),
    key=Rule(
        lambda xp, grad, query, key, value, attn_mask, scale: xp.matmul(
            xp.mT(_pushed(xp, grad, query, key, value, attn_mask, scale)), query
        ),
        _D + "D.mT @ query",
    ),
    value=Rule(
        lambda xp, grad, query, key, attn_mask, scale: xp.matmul(xp.mT(_shares(xp, query, key, attn_mask, scale)), grad), _P + "P.mT @ grad"
    ),
)
SAFE_SOFTMAX = Op("SafeSoftmaxBackward0", lambda x, dim: _softmax(x), "input", "dim", input=SOFTMAX.rules["input"])


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    ranks = [t.array.ndim for t in (query, key, value)]
    if min(ranks) < 2:
        raise runtime_error(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {ranks[0]} key.dim: {ranks[1]} and "
            f"value.dim: {ranks[2]} instead."
        )
    kinds = [_C_TYPES.get(t.dtype.torch_name, t.dtype.torch_name) for t in (query, key, value)]
    if len(set(kinds)) > 1:
        raise runtime_error(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {kinds[0]} key.dtype: {kinds[1]} and "
            f"value.dtype: {kinds[2]} instead."
        )
    if mask is not None and mask.dtype is not query.dtype and mask.dtype.torch_name not in ("Bool", "Float"):
        kind = _C_TYPES.get(mask.dtype.torch_name, mask.dtype.torch_name)
        raise runtime_error(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {kind} and  query.dtype: "
            f"{kinds[0]} instead."
        )


_C_TYPES = {"Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long int", "Int": "int"}


def additive(mask: Tensor, like: Tensor) -> Tensor:
    """A mask of truth values as what is added to scores: 0 where True, minus infinity where False."""
    if mask.dtype.torch_name != "Bool":
        return mask
    return Tensor(np.where(mask.array, 0, -np.inf).astype(like.dtype.np), like.dtype)


def _causal(query: Tensor, key: Tensor) -> Tensor:
    rows, columns = query.array.shape[-2], key.array.shape[-2]
    limits.check_elements(rows * columns, query.dtype.itemsize)
    return Tensor(np.where(np.tri(rows, columns, dtype=np.bool_), 0, -np.inf).astype(query.dtype.np), query.dtype)


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
    """`softmax(query @ key.mT * scale + mask) @ value`."""
    if enable_gqa:
        raise ProgramError("NotImplementedError", "scaled_dot_product_attention with enable_gqa=True is not part of gradcli")
    _check(query, key, value, attn_mask)
    mask = None if attn_mask is None else additive(attn_mask, query)
    factor = 1.0 / math.sqrt(query.array.shape[-1]) if scale is None else scale
    limits.check_elements(query.array.size // max(query.array.shape[-1], 1) * key.array.shape[-2], query.dtype.itemsize)
    shapes = [t.array.shape for t in (query, key, value)]
    alike = len({s[:-2] for s in shapes}) == 1 and len({s[-1] for s in shapes}) == 1 and shapes[1] == shapes[2]
    if query.array.ndim == 4 and alike and not dropout_p and (mask is None or not mask.requires_grad):
        limits.check_work(query.array.size * key.array.shape[-2] * 2)
        both = None if mask is None else mask.array
        if is_causal:
            causal = _causal(query, key).array
            both = causal if both is None else both + causal
        return ATTENTION(query, key, value, both, factor)
    if is_causal:
        if mask is not None:
            raise runtime_error("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
        mask = _causal(query, key)
    root = math.sqrt(factor)
    scores = _call("matmul", scalars.times(traced, query, root), scalars.times(traced, _call("transpose", key, -2, -1), root))
    if mask is not None:
        scores = scores + mask
    shares = SAFE_SOFTMAX(scores, scores.array.ndim - 1)
    if dropout_p:
        shares = normalization.drop(shares, dropout_p, True)
    return _call("matmul", shares, value)


# --- choices ---


def gumbel_softmax(logits: Tensor, tau: Any = 1, hard: Any = False, eps: Any = 1e-10, dim: Any = -1) -> Any:
    """Softmax of logits with Gumbel noise (Jang et al. 2017); `hard` gives ones and zeros, with the gradient of the soft ones."""
    if eps != 1e-10:
        warnings.emit("`eps` parameter is deprecated and has no effect.")
    draws = generator.default.exponential(logits.array.shape, logits.dtype.np)
    noise = Tensor(np.asarray(-elementary.log(draws)), logits.dtype)
    soft = catalog.method("softmax").method((logits + noise) / tau, (dim,), {})
    if not hard:
        return soft
    index = _call("max", soft, dim, True)[1]
    ones = _call("scatter", _call("zeros_like", catalog.method("detach").method(logits, (), {})), dim, index, 1.0)
    return ones - catalog.method("detach").method(soft, (), {}) + soft


# --- bilinear maps ---


def _bilinear_part(xp: Any, matrix: Any, rows: Any, shape: tuple[int, int, int]) -> Any:
    """`einsum("oij,nj->noi", ...)`."""
    out, first, second = shape
    return xp.reshape(xp.matmul(rows, xp.mT(xp.reshape(matrix, (out * first, second)))), (rows.shape[0], out, first))


def _to_first(xp: Any, grad: Any, i2: Any, i3: Any) -> Any:
    return xp.sum(xp.expand_dims(grad, 2) * _bilinear_part(xp, i2, i3, tuple(i2.shape)), (1,))


def _to_last(xp: Any, grad: Any, i1: Any, i2: Any) -> Any:
    out, first, second = i2.shape
    part = xp.matmul(xp.reshape(i1, (i1.shape[0], 1, 1, first)), xp.reshape(i2, (1, out, first, second)))
    return xp.sum(xp.expand_dims(grad, 2) * xp.reshape(part, (i1.shape[0], out, second)), (1,))


def _to_weight(xp: Any, grad: Any, i1: Any, i3: Any) -> Any:
    rows, out = grad.shape
    left = xp.reshape(xp.expand_dims(grad, 2) * xp.expand_dims(i1, 1), (rows, out * i1.shape[1]))
    return xp.reshape(xp.matmul(xp.mT(left), i3), (out, i1.shape[1], i3.shape[1]))


TRILINEAR = Op(
    "TrilinearBackward0",
    lambda i1, i2, i3: np.einsum("ni,oij,nj->no", i1, i2, i3, optimize=True),
    "i1 i2 i3",
    i1=Rule(_to_first, 'torch.einsum("no,oij,nj->ni", grad, i2, i3)'),
    i2=Rule(_to_weight, 'torch.einsum("no,ni,nj->oij", grad, i1, i3)'),
    i3=Rule(_to_last, 'torch.einsum("no,ni,oij->nj", grad, i1, i2)'),
)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """`input1 @ weight[k] @ input2` for each k, plus bias."""
    first, second = input1.array.shape, input2.array.shape
    if len(first) != len(second):
        raise runtime_error(f"bilinear(): input dimensions do not match: got {len(first)} and {len(second)}")
    for at, (n, m) in enumerate(zip(first[:-1], second[:-1], strict=True)):
        if n != m:
            raise runtime_error(f"bilinear(): input batch dimensions do not match at dim {at}: got {n} and {m}")
    for number, (shape, size) in enumerate(((first, weight.array.shape[1]), (second, weight.array.shape[2])), 1):
        if shape[-1] != size:
            raise runtime_error(f"bilinear(): input{number} size does not match weight size: got {shape[-1]} but expected {size}")
    out = weight.array.shape[0]
    if bias is not None and bias.array.shape[0] != out:
        raise runtime_error(f"bilinear(): bias size does not match weight size: got {bias.array.shape[0]} but expected {out}")
    view, rows = catalog.method("view"), math.prod(first[:-1])
    limits.check_work(rows * weight.array.size)
    limits.check_elements(rows * out * max(first[-1], second[-1], 1), weight.dtype.itemsize)
    made = TRILINEAR(view.method(input1, ((rows, first[-1]),), {}), weight, view.method(input2, ((rows, second[-1]),), {}))
    made = view.method(made, ((*first[:-1], out),), {})
    return made if bias is None else made + bias


_Q, _K, _V = [[[[0.5, -1.0], [0.2, 0.3]]]], [[[[1.0, 0.4], [-0.3, 0.8]]]], [[[[0.7, -0.6], [0.9, 0.1]]]]
_X, _Y, _W = (
    [[0.5, -1.0], [0.2, 0.3]],
    [[1.0, 0.4, -0.3], [0.8, 0.7, -0.6]],
    [[[0.1, 0.2, 0.3], [0.4, -0.5, 0.6]], [[0.7, -0.8, 0.9], [1.0, 0.5, 0.2]]],
)

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
    PythonFunction(gumbel_softmax, "gumbel_softmax", "Softmax of logits with Gumbel noise.", checked_as="exponential"),
    Function(
        "bilinear",
        ("Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None", bilinear),
        doc="A bilinear map: input1 @ weight @ input2 + bias.",
        ops=(TRILINEAR,),
        samples=(
            Sample(
                "F.bilinear(x, y, w, b)",
                lambda x, y, w, b: np.einsum("ni,oij,nj->no", x, w, y) + b,
                x=_X,
                y=_Y,
                w=_W,
                b=[0.5, -0.5],
            ),
        ),
        method=False,
        aliases=("nn.functional.bilinear",),
    ),
)
