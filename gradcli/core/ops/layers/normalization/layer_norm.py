"""Layer normalisation: mean 0 and variance 1 over the last dimensions."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import namespaces
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.kernels import layer_norm as kernel
from gradcli.core.ops.checks import require_floating
from gradcli.core.ops.layers.normalization.layer_norm_gradient import bias_gradient, input_gradient, tangent, weight_gradient
from gradcli.core.ops.layers.normalization.moments import check_mixed, check_shapes, moments, scaled, standardised, standardised_rule
from gradcli.core.ops.layers.samples import FACTORS_3, ROWS, SHIFTS_3, SQUARE
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import shape_error


def _last(rank: int, normalized_shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that are normalised together."""
    return tuple(range(rank - len(normalized_shape), rank))


def _columns(x: Any, normalized_shape: tuple[int, ...]) -> int:
    """How many elements are normalised together, where the kernel for rows takes arrays of this size; else 0."""
    columns = math.prod(normalized_shape)
    return columns if kernel.fits(x, columns) else 0


def _layer_norm(
    x: Array, weight: Array | None, bias: Array | None, normalized_shape: tuple[int, ...], eps: float, in_half: bool = False
) -> tuple[Array, Array, Array]:
    columns = _columns(x, normalized_shape)
    if columns:
        rows = x.reshape(-1, columns)
        mean, rstd = kernel.moments(rows, eps, in_half)
        made = kernel.scaled(rows, mean, rstd, *(None if p is None else p.reshape(-1) for p in (weight, bias)))
        kept = (*x.shape[: x.ndim - len(normalized_shape)], *(1 for _ in normalized_shape))
        return made.reshape(x.shape), mean.reshape(kept), rstd.reshape(kept)
    mean, rstd = moments(x, _last(x.ndim, normalized_shape), eps)
    if 0 in normalized_shape:
        mean = np.zeros_like(mean)
    return scaled((x - mean) * rstd, weight, bias), mean, rstd


def _layer_norm_in_half(
    dtype: DType, x: Array, weight: Array | None, bias: Array | None, normalized_shape: tuple[int, ...], eps: float
) -> tuple[Array, ...]:
    scale, shift = (None if part is None else part.astype(np.float32) for part in (weight, bias))
    return tuple(dtypes.cast(part, dtype) for part in _layer_norm(x.astype(np.float32), scale, shift, normalized_shape, eps, True))


def _input_gradient(
    grad: Array, input: Array, mean: Array, rstd: Array, weight: Array | None, normalized_shape: tuple[int, ...], eps: float
) -> Array:
    columns = _columns(grad, normalized_shape)
    if columns:
        flat = None if weight is None else weight.reshape(-1)
        return kernel.backward(
            grad.reshape(-1, columns), input.reshape(-1, columns), flat, mean.reshape(-1, 1), rstd.reshape(-1, 1)
        ).reshape(input.shape)
    scaled_grad = grad if weight is None else grad * weight
    made: Array = standardised_rule(namespaces.numeric, scaled_grad, input, _last(input.ndim, normalized_shape), eps)
    return made


def _weight_gradient(
    grad: Array, input: Array, mean: Array, rstd: Array, weight: Array | None, normalized_shape: tuple[int, ...], eps: float
) -> Array:
    columns = _columns(grad, normalized_shape)
    if columns:
        rows = grad.reshape(-1, columns), input.reshape(-1, columns)
        return kernel.weight_gradient(*rows, mean.reshape(-1, 1), rstd.reshape(-1, 1)).reshape(normalized_shape)
    made: Array = grad * standardised(namespaces.numeric, input, _last(input.ndim, normalized_shape), eps)[0]
    return namespaces.numeric.sum_to(made, normalized_shape)  # type: ignore[no-any-return]


def _rows(normalized_shape: tuple[int, ...], *arrays: Array) -> tuple[Array, ...]:
    """Arrays in single precision as matrices with a row for what is normalised together."""
    count = math.prod(arrays[0].shape[: arrays[0].ndim - len(normalized_shape)])
    return tuple(x.astype(np.float32).reshape(count, -1) for x in arrays)


def _input_gradient_in_half(
    dtype: DType, grad: Array, input: Array, mean: Array, rstd: Array, weight: Array | None, normalized_shape: tuple[int, ...], eps: float
) -> Array:
    """PyTorch reads mean and deviation in half precision, as the forward pass has kept them."""
    if not grad.size:
        return np.zeros_like(input)
    grad, rows, mean, rstd = _rows(normalized_shape, grad, input, mean, rstd)
    flat = None if weight is None else weight.astype(np.float32).reshape(-1)
    return dtypes.cast(kernel.backward(grad, rows, flat, mean, rstd, True), dtype).reshape(input.shape)


def _weight_gradient_in_half(
    dtype: DType, grad: Array, input: Array, mean: Array, rstd: Array, weight: Array | None, normalized_shape: tuple[int, ...], eps: float
) -> Array:
    """PyTorch adds the rows up in half precision."""
    if not grad.size:
        return np.zeros(normalized_shape, grad.dtype)
    grad, rows, mean, rstd = _rows(normalized_shape, grad, input, mean, rstd)
    made = kernel.weight_gradient(grad, rows, mean, rstd, partial(dtypes.stored, dtype=dtype))
    return dtypes.cast(made, dtype).reshape(normalized_shape)


INPUT_GRADIENT = input_gradient(_input_gradient, _input_gradient_in_half)
WEIGHT_GRADIENT = weight_gradient(_weight_gradient, _weight_gradient_in_half)


def _input_rule(xp: Any, grad: Any, input: Any, mean: Any, rstd: Any, weight: Any, bias: Any, normalized_shape: Any, eps: float) -> Any:
    return xp.call(INPUT_GRADIENT, grad, input, mean, rstd, weight, bias, normalized_shape, eps)


def _weight_rule(xp: Any, grad: Any, input: Any, mean: Any, rstd: Any, weight: Any, bias: Any, normalized_shape: Any, eps: float) -> Any:
    return xp.call(WEIGHT_GRADIENT, grad, input, mean, rstd, weight, bias, normalized_shape, eps)


def _bias_gradient(grad: Array, input: Array, mean: Array, rstd: Array, weight: Array | None, normalized_shape: tuple[int, ...]) -> Array:
    columns = _columns(grad, normalized_shape)
    if columns:
        return kernel.bias_gradient(grad.reshape(-1, columns)).reshape(normalized_shape)
    return namespaces.numeric.sum_to(grad, normalized_shape)  # type: ignore[no-any-return]


def _bias_gradient_in_half(
    dtype: DType, grad: Array, input: Array, mean: Array, rstd: Array, weight: Array | None, normalized_shape: tuple[int, ...]
) -> Array:
    if not grad.size:
        return np.zeros(normalized_shape, grad.dtype)
    made = kernel.bias_gradient(_rows(normalized_shape, grad)[0], partial(dtypes.stored, dtype=dtype))
    return dtypes.cast(made, dtype).reshape(normalized_shape)


BIAS_GRADIENT = bias_gradient(_bias_gradient, _bias_gradient_in_half)


def _bias_rule(xp: Any, grad: Any, input: Any, mean: Any, rstd: Any, weight: Any, bias: Any, normalized_shape: Any) -> Any:
    return xp.call(BIAS_GRADIENT, grad, input, mean, rstd, weight, bias, normalized_shape)


LAYER_NORM = Op(
    "NativeLayerNormBackward0",
    _layer_norm,
    "input weight bias",
    "normalized_shape eps",
    layout="contiguous",
    in_half=_layer_norm_in_half,
    saved="bias input! result1=mean result2=rstd weight! normalized_shape",
    joined=True,
    outputs="result mean rstd",
    jvp=tangent,
    input=Rule(
        _input_rule,
        "dim = -1 if len(normalized_shape) == 1 else tuple(range(-len(normalized_shape), 0)); "
        "x = result if weight is None and bias is None else F.layer_norm(input, normalized_shape, eps=eps); "
        "g = grad if weight is None else grad * weight; "
        "(g - g.mean(dim, True) - x * (g * x).mean(dim, True)) / (input.var(dim, correction=0, keepdim=True) + eps).sqrt()",
    ),
    weight=Rule(_weight_rule, "grad * F.layer_norm(input, normalized_shape, None, None, eps)"),
    bias=Rule(_bias_rule, "grad"),
)


def layer_norm(
    input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None, eps: float, cudnn_enable: bool = True
) -> Any:
    """The first result of `native_layer_norm`."""
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


def native_layer_norm(
    input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean 0 and variance 1 over the last dimensions, whose sizes are `normalized_shape`, then scaled and shifted.

    The other results are the mean and the reciprocal deviation, of which autograd takes no gradients.

    Raises RuntimeError for shapes that do not fit, NotImplementedError for a dtype that is not floating.
    """
    shape = input.array.shape
    given = [tensor for tensor in (weight, bias) if tensor is not None]
    if given and given[0].dtype is not input.dtype:  # PyTorch looks at mixed dtypes first, at unequal parameters last
        check_mixed(input, *given)
    check_shapes(normalized_shape, weight=weight, bias=bias)
    if shape[-len(normalized_shape) :] != tuple(normalized_shape):
        inner = ", ".join(map(str, normalized_shape))
        raise shape_error(f"Given normalized_shape=[{inner}], expected input with shape [*, {inner}], but got input of size{list(shape)}")
    check_mixed(input, *given)
    require_floating("LayerNormKernelImpl", input.dtype)
    made, mean, rstd = LAYER_NORM(input, weight, bias, tuple(normalized_shape), eps)
    if given and given[0].dtype is not input.dtype:  # PyTorch returns these in the dtype of the parameters
        figures = _layer_norm(input.array.astype(np.float32), None, None, tuple(normalized_shape), eps, True)[1:]
        mean, rstd = (Tensor(figure, dtypes.float32) for figure in figures)
    return made, mean, rstd


_SIGNATURE = "Tensor input, ints normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05"
FUNCTIONS: tuple[Function, ...] = (
    Function(
        "layer_norm",
        (_SIGNATURE, layer_norm),
        doc="Mean 0 and variance 1 over the last dimensions.",
        ops=(LAYER_NORM,),
        samples=(Sample("F.layer_norm(x, (3,), w, b)", None, x=ROWS, w=FACTORS_3, b=SHIFTS_3),),
        namespace="torch.nn.functional",
        method=False,
        python="layer_norm",
    ),
    Function(
        "layer_norm",
        (f"{_SIGNATURE}, bool cudnn_enable=True", layer_norm),
        doc="Mean 0 and variance 1 over the last dimensions, then scaled and shifted.",
        samples=(Sample("torch.layer_norm(x, (2,), eps=0.5)", None, x=SQUARE),),
        method=False,
    ),
    Function(
        "native_layer_norm",
        ("Tensor input, ints normalized_shape, Tensor? weight, Tensor? bias, float eps |3 outs", native_layer_norm),
        doc="Layer normalisation, the mean and the reciprocal deviation.",
        samples=(Sample("torch.native_layer_norm(x, (2,), None, None, 0.5)[0]", None, x=SQUARE),),
        method=False,
    ),
)
