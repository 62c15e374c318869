"""Batch and instance normalisation: mean 0 and variance 1 for each channel, of a batch or of each image."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, blocks
from gradcli.core.ops.checks import require_floating, size
from gradcli.core.ops.elementwise import add_multiply, scalars
from gradcli.core.ops.layers.moments import CENTRED, NORMAL, moments, scaled, standardised, standardised_rule
from gradcli.core.ops.layers.samples import CHANNELS, FACTORS, FACTORS_3, ROWS, SHIFTS, SHIFTS_3, SQUARE, WEIGHT
from gradcli.core.ops.rules import check_no_gradient
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.rearrange import repeat
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def _channels(x: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes over which a channel is normalised, and the shape in which one value for each channel broadcasts."""
    rank = len(x.shape)
    return (0, *range(2, rank)), tuple(x.shape[1] if i == 1 else 1 for i in range(rank))


def _scaled(x: Array, weight: Array | None, bias: Array | None) -> Array:
    """Each channel times its weight, plus its bias."""
    shape = _channels(x)[1]
    return np.asarray(scaled(x, *(None if p is None else p.reshape(shape) for p in (weight, bias))))


def _normalised(x: Array, weight: Array | None, bias: Array | None, eps: float) -> Array:
    mean, rstd = moments(x, _channels(x)[0], eps)
    return _scaled((x - mean) * rstd, weight, bias)


def _batch_rule(xp: Any, grad: Any, input: Any, weight: Any, eps: float) -> Any:
    axes, shape = _channels(input)
    if weight is not None:
        grad = grad * xp.reshape(weight, shape)
    return standardised_rule(xp, grad, input, axes, eps)


#: for formulas: the dimensions over which a channel is normalised, and the shape in which one value for each channel broadcasts
_DIM = "dim = [k for k in range(grad.dim()) if k != 1]; "
_SHAPE = "shape = [-1 if k == 1 else 1 for k in range(grad.dim())]; "
_BIAS = Rule(lambda xp, grad: xp.sum(grad, _channels(grad)[0]), "grad.sum([k for k in range(grad.dim()) if k != 1])")
BATCH_NORM = Op(
    "NativeBatchNormBackward0",
    _normalised,
    "input weight bias",
    "eps",
    saved="input! result1=? result2=? running_mean=? running_var=? weight! eps training=True",
    input=Rule(_batch_rule, _DIM + _SHAPE + CENTRED + "g = grad if weight is None else grad * weight.reshape(shape); " + NORMAL),
    weight=Rule(
        lambda xp, grad, input, eps: xp.sum(grad * standardised(xp, input, _channels(input)[0], eps)[0], _channels(input)[0]),
        _DIM + CENTRED + "(grad * c / std).sum(dim)",
    ),
    bias=_BIAS,
)


# --- with running statistics, which have no gradient ---


def _fixed(x: Any, mean: Array, var: Array, eps: float) -> tuple[Array, Array]:
    """The mean and 1 / deviation of each channel, so that they broadcast to x."""
    shape = _channels(x)[1]
    return mean.reshape(shape), np.asarray(1 / np.sqrt(var + var.dtype.type(eps))).reshape(shape)


def _batch_norm_fixed(x: Array, weight: Array | None, bias: Array | None, mean: Array, var: Array, eps: float) -> Array:
    mean, rstd = _fixed(x, mean, var, eps)
    return _scaled((x - mean) * rstd, weight, bias)


def _fixed_rule(xp: Any, grad: Any, weight: Any, running_mean: Array, running_var: Array, eps: float) -> Any:
    if weight is not None:
        grad = grad * xp.reshape(weight, _channels(grad)[1])
    return scalars.times_data(xp, grad, _fixed(grad, running_mean, running_var, eps)[1])


def _fixed_weight_rule(xp: Any, grad: Any, input: Any, running_mean: Array, running_var: Array, eps: float) -> Any:
    mean, rstd = _fixed(input, running_mean, running_var, eps)
    normal = scalars.times_data(xp, xp.call(add_multiply.SUB, input, mean), rstd)
    return xp.sum(grad * normal, _channels(input)[0])


BATCH_NORM_FIXED = Op(
    "NativeBatchNormBackward0",
    _batch_norm_fixed,
    "input weight bias",
    "running_mean running_var eps",
    saved="input! result1=? result2=? running_mean running_var weight! eps training=False",
    jvp="transpose",
    input=Rule(_fixed_rule, _SHAPE + "w = 1 if weight is None else weight; grad * (w / (running_var + eps).sqrt()).reshape(shape)"),
    weight=Rule(_fixed_weight_rule, _DIM + _SHAPE + "(grad * (input - running_mean.reshape(shape))).sum(dim) / (running_var + eps).sqrt()"),
    bias=_BIAS,
)


def _follow(x: Array, mean: Tensor, var: Tensor, momentum: float) -> None:
    """Move the running mean and variance toward those of a batch, of which the variance is unbiased."""
    axes = _channels(x)[0]
    wide = x.astype(np.float64)
    for kept, new in ((mean, wide.mean(axes)), (var, wide.var(axes, ddof=1))):
        blocks.settle()
        kept.array[...] = (1 - momentum) * kept.array + momentum * new
        kept.counter().count += 1


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Mean 0 and variance 1 for each channel, from the batch in training, else from the running statistics.

    The second dimension of the input is that of channels. Raises ValueError for one value per channel in training,
    RuntimeError for missing statistics and for parameters of another size.
    """
    shape = input.array.shape
    if not shape:
        raise shape_error("tuple index out of range", "IndexError")
    if training and math.prod((shape[0], *shape[2:])) == 1:
        raise shape_error(f"Expected more than 1 value per channel when training, got input size {input.shape}", "ValueError")
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _moves(*tensors: Tensor | None) -> bool:
    """Whether one of the tensors has a tangent."""
    return state.dual is not None and any(t is not None and state.dual.tangent_of(t) is not None for t in tensors)


def _batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """`torch.batch_norm`, which takes one value per channel in training too."""
    channels = size(input, 1)
    if not training and (running_mean is None or running_var is None):
        missing = "running_mean" if running_mean is None else "running_var"
        raise runtime_error(f"{missing} must be defined in evaluation mode")
    tensors = (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias))
    for name, tensor in tensors:
        if tensor is not None and tensor.array.size != channels:
            raise runtime_error(f"{name} should contain {channels} elements not {tensor.array.size}")
    if _moves(input, weight, bias) and _moves(running_mean, running_var):
        raise runtime_error("batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad defined")
    check_no_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    require_floating("batch_norm", input.dtype)
    if training:
        if running_mean is not None and running_var is not None:
            _follow(input.array, running_mean, running_var, momentum)
        return BATCH_NORM(input, weight, bias, eps)
    assert running_mean is not None and running_var is not None
    return BATCH_NORM_FIXED(input, weight, bias, running_mean.array.copy(), running_var.array.copy(), eps)


# --- instances ---


def _instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Batch normalisation of one row of images: all channels of all images side by side, each with its own statistics."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise runtime_error("Expected running_mean and running_var to be defined when use_input_stats is false")
    images, channels, shape = size(input, 0), size(input, 1), input.array.shape
    kept = (running_mean, running_var, weight, bias)
    mean, var, scale, shift = (None if t is None else repeat(t, (images,)) for t in kept)
    side_by_side = view(contiguous(input), (1, images * channels, *shape[2:]))
    require_floating("batch_norm", input.dtype)
    out = _batch_norm(side_by_side, mean, var, scale, shift, use_input_stats, momentum, eps)
    for own, repeated in ((running_mean, mean), (running_var, var)):
        if own is not None and repeated is not None:
            blocks.settle()
            own.array[...] = repeated.array.reshape(images, channels).mean(0)
            own.counter().count += 1
    return view(out, shape)


def instance_norm(
    input: Tensor,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: Any = True,
    momentum: Any = 0.1,
    eps: Any = 1e-5,
) -> Any:
    """Mean 0 and variance 1 for each channel of each image. Raises ValueError for images of one element."""
    if use_input_stats and math.prod(input.array.shape[2:]) == 1:
        raise shape_error(f"Expected more than 1 spatial element when training, got input size {input.shape!r}", "ValueError")
    return catalog.function("instance_norm")(input, weight, bias, running_mean, running_var, bool(use_input_stats), momentum, eps, True)


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        batch_norm,
        "batch_norm",
        "Mean 0 and variance 1 for each channel.",
        checked_as="batch_norm",
        ops=(BATCH_NORM, BATCH_NORM_FIXED),
        samples=(
            Sample("F.batch_norm(x, None, None, w, b, training=True)", None, x=[*ROWS, WEIGHT[0]], w=FACTORS_3, b=SHIFTS_3),
            Sample("F.batch_norm(x, tensor([1., 2., 3.]), tensor([1., 4., 2.]), w)", None, x=ROWS, w=FACTORS_3),
        ),
    ),
    Function(
        "batch_norm",
        (
            "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, "
            "float eps, bool cudnn_enabled",
            lambda x, weight, bias, mean, var, training, momentum, eps, _: _batch_norm(x, mean, var, weight, bias, training, momentum, eps),
        ),
        doc="Mean 0 and variance 1 for each channel.",
        samples=(Sample("torch.batch_norm(x, None, None, None, None, True, 0.1, 0.5, False)", None, x=SQUARE),),
        method=False,
    ),
    PythonFunction(
        instance_norm,
        "instance_norm",
        "Mean 0 and variance 1 for each channel of each image.",
        ops=(BATCH_NORM, BATCH_NORM_FIXED),
        samples=(Sample("F.instance_norm(x, None, None, w, b)", None, x=CHANNELS, w=FACTORS, b=SHIFTS),),
    ),
    Function(
        "instance_norm",
        (
            "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, "
            "float eps, bool cudnn_enabled",
            _instance_norm,
        ),
        doc="Mean 0 and variance 1 for each channel of each image.",
        method=False,
    ),
)
