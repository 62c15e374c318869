"""Records of the layers that PyTorch computes in one piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import blocks, layer_norm
from gradcli.core.ops.elementwise import add_multiply, scalars
from gradcli.core.tensor.tensor import Array, Tensor

# --- normalisation ---


def _inner(rank: int, count: int) -> tuple[int, ...]:
    return tuple(range(rank - count, rank))


def moments(x: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array]:
    """Mean and reciprocal deviation over axes, which are kept; summed in double precision."""
    wide = x.astype(np.float64)
    mean = wide.mean(axes, keepdims=True)
    rstd = 1 / np.sqrt(np.square(wide - mean).mean(axes, keepdims=True) + eps)
    return mean.astype(x.dtype), rstd.astype(x.dtype)


def _columns(shape: tuple[int, ...], count: int) -> int:
    """The elements of one group that is normalised together."""
    return math.prod(shape[len(shape) - count :])


def _layer_norm(
    x: Array, weight: Array | None, bias: Array | None, normalized_shape: tuple[int, ...], eps: float
) -> tuple[Array, Array, Array]:
    count = len(normalized_shape)
    columns = _columns(x.shape, count)
    if layer_norm.fits(x, columns):
        rows = x.reshape(-1, columns)
        mean, rstd = layer_norm.moments(rows, eps)
        made = layer_norm.scaled(rows, mean, rstd, *(None if p is None else p.reshape(-1) for p in (weight, bias)))
        kept = (*x.shape[: x.ndim - count], *(1 for _ in range(count)))
        return made.reshape(x.shape), mean.reshape(kept), rstd.reshape(kept)
    mean, rstd = moments(x, _inner(x.ndim, count), eps)
    return _scaled((x - mean) * rstd, weight, bias), mean, rstd


def _scaled(x: Any, weight: Any, bias: Any) -> Any:
    if weight is not None:
        x = x * weight
    return x if bias is None else x + bias


def standardised(xp: Any, x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """`(x - mean) / deviation` and the reciprocal deviation, for arrays and tensors."""
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    centred = x - xp.sum(x, axes, True) / count
    rstd = 1.0 / xp.sqrt(xp.sum(centred * centred, axes, True) / count + eps)
    return centred * rstd, rstd


def standardised_rule(xp: Any, grad: Any, x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """The derivative of `standardised`, which takes the mean and the part along the result out of grad."""
    normal, rstd = standardised(xp, x, axes, eps)
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    along = xp.sum(grad * normal, axes, True) / count
    return (grad - xp.sum(grad, axes, True) / count - normal * along) * rstd


def _layer_weight_rule(xp: Any, grad: Any, input: Any, normalized_shape: tuple[int, ...], eps: float) -> Any:
    count = len(normalized_shape)
    columns = _columns(input.shape, count)
    if isinstance(grad, np.ndarray) and layer_norm.fits(input, columns):
        made = layer_norm.weight_gradient(grad.reshape(-1, columns), input.reshape(-1, columns), eps)
        return made.reshape(input.shape[input.ndim - count :])
    return grad * standardised(xp, input, _inner(len(input.shape), count), eps)[0]


def _layer_bias_rule(grad: Any, normalized_shape: tuple[int, ...]) -> Any:
    count = len(normalized_shape)
    columns = _columns(grad.shape, count)
    if isinstance(grad, np.ndarray) and layer_norm.fits(grad, columns):
        return np.add.accumulate(grad.reshape(-1, columns), axis=0)[-1].reshape(grad.shape[grad.ndim - count :])
    return grad


def _layer_rule(xp: Any, grad: Any, input: Any, weight: Any, normalized_shape: tuple[int, ...], eps: float) -> Any:
    count = len(normalized_shape)
    columns = _columns(input.shape, count)
    if isinstance(grad, np.ndarray) and layer_norm.fits(input, columns):
        flat = None if weight is None else weight.reshape(-1)
        return layer_norm.backward(grad.reshape(-1, columns), input.reshape(-1, columns), flat, eps).reshape(input.shape)
    if weight is not None:
        grad = grad * weight
    return standardised_rule(xp, grad, input, _inner(len(input.shape), count), eps)


#: for formulas: differences from the mean along dim, the deviation, and the gradient by the input of `c / std` times g
_CENTRED = "c = input - input.mean(dim, True); std = (c.square().mean(dim, True) + eps).sqrt(); "
_NORMAL = "x = c / std; (g - g.mean(dim, True) - x * (g * x).mean(dim, True)) / std"

LAYER_NORM = Op(
    "NativeLayerNormBackward0",
    _layer_norm,
    "input weight bias",
    "normalized_shape eps",
    outputs="result mean rstd",
    input=Rule(
        _layer_rule,
        "dim = tuple(range(-len(normalized_shape), 0)); " + _CENTRED + "g = grad if weight is None else grad * weight; " + _NORMAL,
    ),
    weight=Rule(
        _layer_weight_rule,
        "grad * F.layer_norm(input, normalized_shape, None, None, eps)",
    ),
    bias=Rule(_layer_bias_rule, "grad"),
)


def _channels(x: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes that a channel's figures are taken over, and the shape that a channel's figure broadcasts in."""
    rank = len(x.shape)
    return (0, *range(2, rank)), tuple(x.shape[1] if i == 1 else 1 for i in range(rank))


def _shaped(xp: Any, value: Any, shape: tuple[int, ...]) -> Any:
    return None if value is None else xp.reshape(value, shape)


def _batch_norm(x: Array, weight: Array | None, bias: Array | None, eps: float) -> Array:
    axes, shape = _channels(x)
    mean, rstd = moments(x, axes, eps)
    return np.asarray(_scaled((x - mean) * rstd, _shaped(np, weight, shape), _shaped(np, bias, shape)))


def _batch_rule(xp: Any, grad: Any, input: Any, weight: Any, eps: float) -> Any:
    axes, shape = _channels(input)
    if weight is not None:
        grad = grad * xp.reshape(weight, shape)
    return standardised_rule(xp, grad, input, axes, eps)


#: for formulas: the dimensions that a channel's figures are taken over, and the shape that these broadcast in
_DIM = "dim = [k for k in range(grad.dim()) if k != 1]; "
_SHAPE = "shape = [-1 if k == 1 else 1 for k in range(grad.dim())]; "
_BIAS = Rule(lambda xp, grad: xp.sum(grad, _channels(grad)[0]), "grad.sum([k for k in range(grad.dim()) if k != 1])")

BATCH_NORM = Op(
    "NativeBatchNormBackward0",
    _batch_norm,
    "input weight bias",
    "eps",
    input=Rule(_batch_rule, _DIM + _SHAPE + _CENTRED + "g = grad if weight is None else grad * weight.reshape(shape); " + _NORMAL),
    weight=Rule(
        lambda xp, grad, input, eps: xp.sum(grad * standardised(xp, input, _channels(input)[0], eps)[0], _channels(input)[0]),
        _DIM + _CENTRED + "(grad * c / std).sum(dim)",
    ),
    bias=_BIAS,
)


def _fixed(x: Any, mean: Array, var: Array, eps: float) -> tuple[Array, Array]:
    shape = _channels(x)[1]
    return mean.reshape(shape), np.asarray(1 / np.sqrt(var + var.dtype.type(eps))).reshape(shape)


def _batch_norm_fixed(x: Array, weight: Array | None, bias: Array | None, mean: Array, var: Array, eps: float) -> Array:
    mean, rstd = _fixed(x, mean, var, eps)
    shape = _channels(x)[1]
    return np.asarray(_scaled((x - mean) * rstd, _shaped(np, weight, shape), _shaped(np, bias, shape)))


def _fixed_rule(xp: Any, grad: Any, weight: Any, mean: Array, var: Array, eps: float) -> Any:
    if weight is not None:
        grad = grad * xp.reshape(weight, _channels(grad)[1])
    return scalars.times_data(xp, grad, _fixed(grad, mean, var, eps)[1])


def _fixed_weight_rule(xp: Any, grad: Any, input: Any, mean: Array, var: Array, eps: float) -> Any:
    mean, rstd = _fixed(input, mean, var, eps)
    normal = scalars.times_data(xp, xp.call(add_multiply.SUB, input, mean), rstd)
    return xp.sum(grad * normal, _channels(input)[0])


BATCH_NORM_FIXED = Op(
    "NativeBatchNormBackward0",
    _batch_norm_fixed,
    "input weight bias",
    "running_mean running_var eps",
    jvp="transpose",
    input=Rule(
        lambda xp, grad, weight, running_mean, running_var, eps: _fixed_rule(xp, grad, weight, running_mean, running_var, eps),
        _SHAPE + "w = 1 if weight is None else weight; grad * (w / (running_var + eps).sqrt()).reshape(shape)",
    ),
    weight=Rule(
        lambda xp, grad, input, running_mean, running_var, eps: _fixed_weight_rule(xp, grad, input, running_mean, running_var, eps),
        _DIM + _SHAPE + "(grad * (input - running_mean.reshape(shape))).sum(dim) / (running_var + eps).sqrt()",
    ),
    bias=_BIAS,
)


def follow(x: Array, mean: Tensor, var: Tensor, momentum: float) -> None:
    """Move running figures toward those of a batch; the variance is the unbiased one."""
    axes = _channels(x)[0]
    wide = x.astype(np.float64)
    for kept, new in ((mean, wide.mean(axes)), (var, wide.var(axes, ddof=1))):
        blocks.settle()
        kept.array[...] = (1 - momentum) * kept.array + momentum * new
        kept.counter().count += 1


# --- embedding ---


def _scattered(grad: Array, indices: Array, rows: int, padding_idx: int | None, by_frequency: bool) -> Array:
    """Rows of grad added up at their indices."""
    out = np.zeros((rows, grad.shape[-1]), grad.dtype)
    flat = indices.ravel()
    values = grad.reshape(flat.size, grad.shape[-1])
    if by_frequency:
        values = values / np.bincount(flat, minlength=rows)[flat][:, None].astype(grad.dtype)
    np.add.at(out, flat, values)
    if padding_idx is not None:
        out[padding_idx] = 0
    return out


def _taken(grad: Array, indices: Array, rows: int, padding_idx: int | None, by_frequency: bool) -> Array:
    """The transpose of `_scattered`."""
    out = grad[indices]
    if by_frequency:
        out = out / np.bincount(indices.ravel(), minlength=rows)[indices][..., None].astype(grad.dtype)
    if padding_idx is not None:
        out = np.where((indices == padding_idx)[..., None], out.dtype.type(0), out)
    return out


_ATTRS = "indices rows padding_idx scale_grad_by_freq"


def _rows(grad: str, result: str) -> str:
    """The formula of `result`, with `rows` for what each index contributes."""
    return (
        f"kept = {grad} if padding_idx is None else {grad}.masked_fill((indices == padding_idx).unsqueeze(-1), 0); "
        "rows = kept / indices.flatten().bincount()[indices].unsqueeze(-1) if scale_grad_by_freq else kept; "
        f"{result}"
    )


EMBEDDING_BACKWARD: Op = Op(
    "EmbeddingDenseBackwardBackward0",
    _scattered,
    "grad_output",
    _ATTRS,
    grad_output=Rule(
        lambda xp, grad, indices, rows, padding_idx, scale_grad_by_freq: xp.call(
            TAKE_ROWS, grad, indices, rows, padding_idx, scale_grad_by_freq
        ),
        _rows("grad[indices]", "rows"),
    ),
)
TAKE_ROWS: Op = Op(
    "IndexSelectBackward0",
    _taken,
    "input",
    _ATTRS,
    input=Rule(
        lambda xp, grad, indices, rows, padding_idx, scale_grad_by_freq: xp.call(
            EMBEDDING_BACKWARD, grad, indices, rows, padding_idx, scale_grad_by_freq
        ),
        _rows("grad", "zeros_like(input).index_put((indices,), rows, True)"),
    ),
)
EMBEDDING = Op(
    "EmbeddingBackward0",
    lambda weight, indices, padding_idx, scale_grad_by_freq: weight[indices],
    "weight",
    "indices padding_idx scale_grad_by_freq",
    weight=Rule(
        lambda xp, grad, weight_shape, indices, padding_idx, scale_grad_by_freq: xp.call(
            EMBEDDING_BACKWARD, grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq
        ),
        _rows("grad", "zeros_like(weight).index_put((indices,), rows, True)"),
    ),
)


def shorten(weight: Tensor, indices: Array, most: float, p: float) -> None:
    """Scale the rows that are looked up down to a norm, in place."""
    for row in np.unique(indices):
        values = weight.array[row]
        norm = float(np.linalg.norm(values, p))
        if norm > most:
            values *= values.dtype.type(most / (norm + 1e-7))
    weight.counter().count += 1


# --- padding ---


def _pad(x: Array, pad: Sequence[int], value: Any) -> Array:
    pairs = list(zip(pad[::2], pad[1::2], strict=True))
    around = [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]
    cut = tuple(slice(max(-before, 0), size - max(-after, 0)) for size, (before, after) in zip(x.shape, around, strict=True))
    added = [(max(before, 0), max(after, 0)) for before, after in around]
    return np.pad(x[cut], added, constant_values=value)


PAD: Op = Op(
    "ConstantPadNdBackward0",
    _pad,
    "input",
    "pad value",
    jvp="transpose",
    input=Rule(lambda xp, grad, pad: xp.call(PAD, grad, tuple(-n for n in pad), 0), "F.pad(grad, [-n for n in pad])"),
)
