"""Group normalisation: mean 0 and variance 1 within groups of channels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, layer_norm
from gradcli.core.kernels.elementary import fused
from gradcli.core.ops.checks import require_floating, size
from gradcli.core.ops.layers.moments import moments, standardised, standardised_rule
from gradcli.core.ops.layers.samples import CHANNELS, FACTORS, SHIFTS
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.views import VIEW
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import runtime_error, shape_error


def _spread(xp: Any, value: Any, x: Any) -> Any:
    """One value for each channel of x, so that it broadcasts; None for None."""
    return None if value is None else xp.reshape(value, (-1, *(1 for _ in x.shape[2:])))


def _in_groups(xp: Any, x: Any, group: int) -> Any:
    """In shape (batch, groups, elements of a group)."""
    return xp.reshape(x, (x.shape[0], group, math.prod(x.shape[1:]) // group))


def _group_norm(x: Array, weight: Array | None, bias: Array | None, group: int, eps: float) -> Array:
    grouped = _in_groups(np, x, group)
    mean, rstd = _moments(grouped, eps)
    if weight is None and bias is None:
        return np.asarray(((grouped - mean) * rstd).reshape(x.shape))
    # one factor and one shift for each channel
    each = (x.shape[0], x.shape[1], *(1 for _ in x.shape[2:]))
    means, scale = (np.repeat(part[..., 0], x.shape[1] // group, 1).reshape(each) for part in (mean, rstd))
    if weight is not None:
        scale = scale * _spread(np, weight, x)
    shift = np.zeros_like(scale) if bias is None else np.broadcast_to(_spread(np, bias, x), scale.shape)
    return np.asarray(fused(x, np.broadcast_to(scale, x.shape), np.broadcast_to(fused(-scale, means, shift), x.shape)))


def _moments(grouped: Array, eps: float) -> tuple[Array, Array]:
    """Mean and reciprocal deviation of each group."""
    batch, groups, columns = grouped.shape
    if not layer_norm.fits(grouped, columns):
        return moments(grouped, (2,), eps)
    mean, rstd = layer_norm.moments(grouped.reshape(-1, columns), eps)
    return mean.reshape(batch, groups, 1), rstd.reshape(batch, groups, 1)


def _input_rule(xp: Any, grad: Any, input: Any, weight: Any, group: int, eps: float) -> Any:
    if weight is not None:
        grad = grad * _spread(xp, weight, input)
    made = standardised_rule(xp, _in_groups(xp, grad, group), _in_groups(xp, input, group), (2,), eps)
    return xp.reshape(made, input.shape)


def _by_channel(xp: Any, grad: Any) -> Any:
    """The sum for each channel."""
    return xp.call(VIEW, xp.sum(grad, (0, *range(2, len(grad.shape)))), (grad.shape[1],))


def _weight_rule(xp: Any, grad: Any, input: Any, group: int, eps: float) -> Any:
    normal = xp.reshape(standardised(xp, _in_groups(xp, input, group), (2,), eps)[0], input.shape)
    return _by_channel(xp, grad * normal)


_GROUPED = (
    "w = 1 if weight is None else weight.reshape(-1, *[1 for _ in input.shape[2:]]); "
    "x = input.reshape(input.shape[0], group, -1); g = (grad * w).reshape(x.shape); c = x - x.mean(-1, True); "
    "std = (c.square().mean(-1, True) + eps).sqrt(); "
    "z = c / std; ((g - g.mean(-1, True) - z * (g * z).mean(-1, True)) / std).reshape(input.shape)"
)
_BY_CHANNEL = ".sum([0, *range(2, grad.dim())])"
GROUP_NORM = Op(
    "NativeGroupNormBackward0",
    _group_norm,
    "input weight bias",
    "group eps",
    layout="contiguous",
    saved="input! result1=? result2=? weight! C=? HxW=? N=? eps group",
    input=Rule(_input_rule, _GROUPED),
    weight=Rule(_weight_rule, "(grad * F.group_norm(input, group, eps=eps))" + _BY_CHANNEL),
    bias=Rule(_by_channel, "grad" + _BY_CHANNEL),
)


def group_norm(input: Tensor, num_groups: Any, weight: Tensor | None, bias: Tensor | None, eps: float, cudnn_enabled: bool = True) -> Any:
    """`torch.group_norm`. Raises RuntimeError for sizes or dtypes that do not fit, NotImplementedError for a dtype that is not floating."""
    shape = list(input.array.shape)
    size(input, 0)
    channels = size(input, 1)
    if num_groups <= 0:
        raise runtime_error(f"Expected num groups to be greater than 0, got {formatted(num_groups)}")
    if channels % num_groups:
        raise shape_error(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {shape} and "
            f"num_groups={formatted(num_groups)}",
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.array.shape != (shape[1],):
            raise shape_error(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                # PyTorch shows the weight's shape for the bias, too
                f"{[0] if weight is None else list(weight.array.shape)} and input of shape {shape}",
            )
    require_floating("GroupNormKernelImpl", input.dtype)
    if any(t is not None and t.dtype is not input.dtype for t in (weight, bias)):
        raise runtime_error("mixed dtype (CPU): expect parameter to have scalar type of Float")
    return GROUP_NORM(contiguous(input), weight, bias, num_groups, eps)


def _functional_group_norm(
    input: Tensor, num_groups: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Any:
    """`F.group_norm`, which also refuses groups of one element."""
    shape = input.array.shape
    if len(shape) < 2:
        raise shape_error(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    sizes = [shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]
    if sizes[0] * math.prod(sizes[2:]) == 1:
        raise shape_error(f"Expected more than 1 value per channel when training, got input size {formatted(sizes)}", "ValueError")
    return catalog.function("group_norm")(input, num_groups, weight, bias, eps)


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        _functional_group_norm,
        "group_norm",
        "Mean 0 and variance 1 within groups of channels.",
        ops=(GROUP_NORM,),
        samples=(Sample("F.group_norm(x, 1, w, b)", None, x=CHANNELS, w=FACTORS, b=SHIFTS), Sample("F.group_norm(x, 2)", None, x=CHANNELS)),
        reads="dim",
    ),
    Function(
        "group_norm",
        ("Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True", group_norm),
        doc="Mean 0 and variance 1 within groups of channels.",
        ops=(GROUP_NORM,),
        method=False,
    ),
)
