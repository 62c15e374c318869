"""Group normalisation: mean 0 and variance 1 within groups of channels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph import namespaces
from gradcli.core.graph.namespaces import in_single
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, half_to_single, layer_norm, memory_format
from gradcli.core.kernels.elementary import fused
from gradcli.core.ops.checks import require_floating, size
from gradcli.core.ops.layers.normalization.moments import check_mixed, moments, widened
from gradcli.core.ops.layers.samples import CHANNELS, FACTORS, SHIFTS
from gradcli.core.ops.operators import calculated, ordered
from gradcli.core.ops.rules import not_differentiable
from gradcli.core.ops.shape.casting import contiguous, contiguous_images
from gradcli.core.ops.shape.views import VIEW
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import UNMET, ProgramError, runtime_error, shape_error


def _spread(xp: Any, value: Any, x: Any) -> Any:
    """One value for each channel of x, so that it broadcasts; None for None."""
    return None if value is None else xp.reshape(value, (-1, *(1 for _ in x.shape[2:])))


def _in_groups(xp: Any, x: Any, group: int) -> Any:
    """In shape (batch, groups, elements of a group)."""
    return xp.reshape(x, (x.shape[0], group, math.prod(x.shape[1:]) // group))


def _laid_out(x: Array, *rest: Any) -> Array:
    """The result in the memory format of the input."""
    return memory_format.of_images(memory_format.contiguous(_group_norm(x, *rest)), x)


@in_single
def _group_norm(x: Array, weight: Array | None, bias: Array | None, group: int, eps: float, _: DType, in_half: bool = False) -> Array:
    grouped = _in_groups(np, x, group)
    mean, rstd = _moments(grouped, eps, in_half)
    if weight is None and bias is None:
        return np.asarray(((grouped - mean) * rstd).reshape(x.shape))
    # one factor and one shift for each channel
    each = (x.shape[0], x.shape[1], *(1 for _ in x.shape[2:]))
    means, scale = (np.repeat(part[..., 0], x.shape[1] // group, 1).reshape(each) for part in (mean, rstd))
    if weight is not None:
        scale = scale * _spread(np, weight, x)
    shift = np.zeros_like(scale) if bias is None else np.broadcast_to(_spread(np, bias, x), scale.shape)
    return np.asarray(fused(x, np.broadcast_to(scale, x.shape), np.broadcast_to(fused(-scale, means, shift), x.shape)))


def _moments(grouped: Array, eps: float, in_half: bool = False) -> tuple[Array, Array]:
    """Mean and reciprocal deviation of each group."""
    batch, groups, columns = grouped.shape
    if not layer_norm.fits(grouped, columns):
        return moments(grouped, (2,), eps)
    mean, rstd = layer_norm.moments(grouped.reshape(-1, columns), np.float64(eps), in_half)
    return mean.reshape(batch, groups, 1), rstd.reshape(batch, groups, 1)


_SAVED = "input! result1=? result2=? weight=? C=input_sym_argsize_1 HxW=input_area N=input_sym_argsize_0 eps group=?"


def _statistic(which: int) -> Op:
    """The record of the mean (0) or of the reciprocal deviation (1) of groups, as they are kept for the backward pass."""

    @in_single
    def forward(grouped: Array, eps: float) -> Array:
        return _moments(grouped, eps)[which]

    def back(xp: Any, grad: Any, input: Any, eps: float) -> Any:
        count = max(input.shape[2], 1)
        if not which:
            return xp.zeros_like(input) + grad / count
        mean, rstd = xp.call(_MEAN, input, eps), xp.call(_DEVIATION, input, eps)
        return grad * (input - mean) * (rstd * rstd * rstd) * (-1.0 / count)

    formula = "grad / input.shape[2] + 0 * input"
    if which:
        formula = "c = input - input.mean(2, True); -grad * c / input.shape[2] / (c.square().mean(2, True) + eps)**1.5"
    return Op("NativeGroupNormBackward0", forward, "input", "eps", input=Rule(back, formula), saved=_SAVED)


_MEAN, _DEVIATION = _statistic(0), _statistic(1)


def _terms(xp: Any, grad: Any, input: Any, group: int, eps: float, dtype: DType) -> tuple[Any, Any, Any, Any, Any]:
    """The kept statistics of the groups, x and the sums of `grad * x` and of grad for each channel, all in four dimensions."""
    images, channels = input.shape[:2]
    grouped = _in_groups(xp, input, group)
    mean, rstd = (xp.reshape(part, (images, group, 1, 1)) for part in _kept(xp, grouped, eps, dtype))
    shape = (images, group, channels // group, math.prod(input.shape[2:]))
    x, g = xp.reshape(input, shape), xp.reshape(grad, shape)
    return mean, rstd, x, xp.sum(g * x, 3, True), xp.sum(g, 3, True)


def _kept(xp: Any, grouped: Any, eps: float, dtype: DType) -> Any:
    """The statistics of groups, in the dtype in which they are kept."""
    if xp is namespaces.numeric:
        kind = np.result_type(grouped.dtype, dtype.np)
        return [dtypes.stored(part.astype(kind), dtype) for part in _moments(half_to_single(grouped), eps, dtype.itemsize == 2)]
    return [xp.call(part, grouped, eps) for part in (_MEAN, _DEVIATION)]


def _figure(number: int) -> Callable[..., Array]:
    """The mean, or 1 / deviation, of the groups of each sample, which PyTorch keeps: of nothing 0, or nan."""

    def run(x: Array, _: Any, __: Any, group: int, eps: float, dtype: DType) -> Array:
        if not number and not math.prod(x.shape[1:]):
            return np.zeros((len(x), group), x.dtype)
        made: Array = _kept(namespaces.numeric, _in_groups(namespaces.numeric, x, group), eps, dtype)[number]
        return made.reshape(len(x), group)

    return run


def _input_gradient(xp: Any, grad: Any, input: Any, weight: Any, group: int, eps: float, dtype: DType) -> Any:
    return xp.reshape(_in_four(xp, grad, input, weight, group, eps, dtype), input.shape)


def _in_four(xp: Any, grad: Any, input: Any, weight: Any, group: int, eps: float, dtype: DType) -> Any:
    """The gradient of the input in PyTorch's order of operations, in four dimensions."""
    mean, rstd, x, products, sums = _terms(xp, grad, input, group, eps, dtype)
    share = 1.0 / max(x.shape[2] * x.shape[3], 1)
    scale = rstd
    if weight is not None:
        spread = xp.reshape(weight, (1, group, x.shape[2], 1))
        scale, products, sums = rstd * spread, products * spread, sums * spread
    along, total = (xp.sum(part, 2, True) for part in (products, sums))
    slope = (total * mean - along) * (rstd * rstd * rstd) * share
    shift = -slope * mean - total * rstd * share
    return scale * xp.reshape(grad, x.shape) + slope * x + shift


def _weight_gradient(xp: Any, grad: Any, input: Any, group: int, eps: float, dtype: DType) -> Any:
    mean, rstd, _, products, sums = _terms(xp, grad, input, group, eps, dtype)
    return xp.reshape(xp.sum((products - sums * mean) * rstd, 0), (input.shape[1],))


def _placed_gradient(grad: Array, input: Array, *rest: Any) -> Array:
    """The gradient of the input in the memory format of the input."""
    return memory_format.of_images(memory_format.contiguous(_input_gradient(namespaces.numeric, grad, input, *rest)), input)


def _bias_gradient(xp: Any, grad: Any, weight: Any, dtype: DType) -> Any:
    """The sum for each channel. Raises RuntimeError where it is recorded and there is no weight, as PyTorch does."""
    if weight is None and xp is namespaces.traced and state.enabled:
        raise runtime_error(f"shape '[0]' is invalid for input of size {grad.shape[1]}")
    each = xp.sum(xp.reshape(grad, (grad.shape[0], grad.shape[1], math.prod(grad.shape[2:]))), 2)
    return xp.call(VIEW, xp.sum(each, 0), (grad.shape[1],))


#: what PyTorch's kernel computes, in single precision if the input is of half precision
_KERNELS = {
    which: not_differentiable("native_group_norm_backward", in_single(kernel), inputs, attrs)
    for which, kernel, inputs, attrs in (
        (_input_gradient, _placed_gradient, "grad_output input weight", "group eps dtype"),
        (_weight_gradient, partial(_weight_gradient, namespaces.numeric), "grad_output input", "group eps dtype"),
        (_bias_gradient, partial(_bias_gradient, namespaces.numeric), "grad_output weight", "dtype"),
    )
}


def _by_kernel(which: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a gradient: by the kernel, or composed of operations with derivatives where these may be wanted, as in torch.func."""

    def rule(xp: Any, grad: Any, *args: Any) -> Any:
        composed = state.enabled or "jvp" in state.transforms
        return which(xp, grad, *args) if xp is namespaces.traced and composed else xp.call(_KERNELS[which], grad, *args)

    return rule


def _tangent(xp: Any, inputs: Sequence[Any], attrs: tuple[Any, ...], tangents: Sequence[Any], _: Any) -> Any:
    """The tangent in PyTorch's order of operations: that of the standardised values, times the weight, and the others' parts."""
    input, weight, _ = inputs
    group, eps, dtype = attrs
    grouped = _in_groups(xp, input, group)
    mean, rstd = _kept(xp, grouped, eps, dtype)
    centred = grouped - mean
    made, to_weight, to_bias = (None if t is None else t if k else _in_groups(xp, t, group) for k, t in enumerate(tangents))
    if made is not None:
        count = max(made.shape[2], 1)
        moved = made - xp.sum(made, (2,), True) / count
        along = xp.sum(moved * centred, (2,), True) / -count
        made = xp.reshape(moved * rstd + centred * (rstd * rstd * rstd * along), input.shape)
        made = made if weight is None else made * _spread(xp, weight, input)
    if to_weight is not None:
        part = xp.reshape(centred * rstd, input.shape) * _spread(xp, to_weight, input)
        made = part if made is None else made + part
    if to_bias is not None:
        part = xp.zeros_like(input) + _spread(xp, to_bias, input)
        made = part if made is None else made + part
    return made


_input_rule, _weight_rule, _bias_rule = _by_kernel(_input_gradient), _by_kernel(_weight_gradient), _by_kernel(_bias_gradient)
_GROUPED = (
    "w = 1 if weight is None else weight.reshape(-1, *[1 for _ in input.shape[2:]]); "
    "x = input.reshape(input.shape[0], group, -1); g = (grad * w).reshape(x.shape); c = x - x.mean(-1, True); "
    "std = (c.square().mean(-1, True) + eps).sqrt(); "
    "z = c / std; ((g - g.mean(-1, True) - z * (g * z).mean(-1, True)) / std).reshape(input.shape)"
)
#: what the gradients of the mean and of 1 / deviation add, where both are there
_OF_FIGURES = "each = [x.shape[0], group, 1]; of_figures = (grads[1].reshape(each) - grads[2].reshape(each) * c / std**3) / x.shape[-1]; "
_BY_CHANNEL = ".sum([0, *range(2, grad.dim())])"
GROUP_NORM = Op(
    "NativeGroupNormBackward0",
    _laid_out,
    "input weight bias",
    "group eps dtype",
    in_half=lambda _, *args: _laid_out(*args, True),
    jvp=_tangent,
    saved="input! result1=? result2=? weight! C=input_sym_argsize_1 HxW=input_area N=input_sym_argsize_0 eps group",
    computed={"result1": _figure(0), "result2": _figure(1)},
    input=Rule(lambda xp, grad, input, weight, group, eps, dtype: _input_rule(xp, grad, input, weight, group, eps, dtype), _GROUPED),
    weight=Rule(
        lambda xp, grad, input, group, eps, dtype: _weight_rule(xp, *(widened(xp, x, dtype) for x in (grad, input)), group, eps, dtype),
        "(grad * F.group_norm(input, group, eps=eps))" + _BY_CHANNEL,
    ),
    bias=Rule(lambda xp, grad, weight, dtype: _bias_rule(xp, widened(xp, grad, dtype), weight, dtype), "grad" + _BY_CHANNEL),
)


def _three(x: Array, weight: Array | None, bias: Array | None, group: int, eps: float, dtype: DType, *in_half: bool) -> tuple[Array, ...]:
    figures = _kept(namespaces.numeric, _in_groups(namespaces.numeric, x, group), eps, dtype)
    return _laid_out(x, weight, bias, group, eps, dtype, *in_half), *(figure.reshape(len(x), group) for figure in figures)


def _rule_of_three(xp: Any, grads: Any, input: Any, weight: Any, group: int, eps: float, dtype: DType) -> Any:
    """The gradient of the input from those of all results; those of the mean and of 1 / deviation count where both are there."""
    _check_composed(input, grads, dtype)
    if grads[1] is None or grads[2] is None:
        return None if grads[0] is None else _input_rule(xp, grads[0], input, weight, group, eps, dtype)
    grouped = _in_groups(xp, input, group)
    mean, rstd, x = (xp.reshape(part, (*part.shape[:2], 1, part.shape[2])) for part in (*_kept(xp, grouped, eps, dtype), grouped))
    of_mean, of_rstd = (xp.reshape(grad, mean.shape) for grad in grads[1:])
    count = max(grouped.shape[2], 1)
    made = (2 / count) * (-0.5 * (rstd * rstd * rstd) * of_rstd) * (x - mean) + of_mean / count
    if grads[0] is not None:
        own = _in_four(xp, grads[0], input, weight, group, eps, dtype)
        made = own + xp.reshape(made, own.shape)
    return xp.reshape(made, input.shape)


def _first(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that uses the gradient of the first result alone."""

    def run(xp: Any, grads: Any, *args: Any) -> Any:
        if grads[0] is None:
            return None
        _check_composed(grads[0], grads, args[-1])
        return rule(xp, widened(xp, grads[0], args[-1]), *args)

    return run


def _check_composed(x: Any, grads: Any, dtype: DType) -> None:
    """Refuse the gradients of the figures for parameters of another dtype than the input, which PyTorch composes in both precisions."""
    if x.dtype not in (dtype, dtype.np) and (grads[1] is not None or grads[2] is not None):
        raise _refused("gradients of the mean or the deviation for a weight or bias of another dtype")


#: with the mean and 1 / deviation of each group
WITH_FIGURES = Op(
    "NativeGroupNormBackward0",
    _three,
    "input weight bias",
    "group eps dtype",
    in_half=lambda _, *args: _three(*args, True),
    outputs="result mean rstd",
    differentiable=3,
    jvp="transpose",
    saved="input! result1=mean result2=rstd weight! C=input_sym_argsize_1 HxW=input_area N=input_sym_argsize_0 eps group",
    input=Rule(
        _rule_of_three,
        _GROUPED.replace("grad ", "grads[0] ")
        .replace("std).reshape", "std + of_figures).reshape")
        .replace("; ((", "; " + _OF_FIGURES + "(("),
    ),
    weight=Rule(
        lambda xp, grads, input, group, eps, dtype: _first(_weight_rule)(xp, grads, widened(xp, input, dtype), group, eps, dtype),
        "(grads[0] * F.group_norm(input, group, eps=eps))" + _BY_CHANNEL.replace("grad.", "grads[0]."),
    ),
    bias=Rule(
        lambda xp, grads, weight, dtype: _first(_bias_rule)(xp, grads, weight, dtype),
        "grads[0]" + _BY_CHANNEL.replace("grad.", "grads[0]."),
    ),
)


def _check_sizes(input: Tensor, channels: int, num_groups: Any, weight: Tensor | None, bias: Tensor | None) -> None:
    """Raise RuntimeError for groups that do not divide the channels, and for a weight or bias without one number for each channel."""
    shape = list(input.array.shape)
    if num_groups <= 0:
        raise runtime_error(f"Expected num groups to be greater than 0, got {formatted(num_groups)}")
    if channels % num_groups:
        raise shape_error(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {shape} and "
            f"num_groups={formatted(num_groups)}",
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.array.shape != (channels,):
            raise shape_error(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                # PyTorch shows the weight's shape for the bias, too
                f"{[0] if weight is None else list(weight.array.shape)} and input of shape {shape}",
            )


def group_norm(input: Tensor, num_groups: Any, weight: Tensor | None, bias: Tensor | None, eps: float, cudnn_enabled: bool = True) -> Any:
    """`torch.group_norm`. Raises RuntimeError for sizes or dtypes that do not fit, NotImplementedError for a dtype that is not floating."""
    size(input, 0)
    _check_sizes(input, size(input, 1), num_groups, weight, bias)
    given = [tensor for tensor in (weight, bias) if tensor is not None]
    if not given or given[0].dtype is input.dtype:
        require_floating("GroupNormKernelImpl", input.dtype)
    check_mixed(input, *given)
    weight, bias = (None if t is None else contiguous(t) for t in (weight, bias))
    return GROUP_NORM(contiguous_images(input), weight, bias, num_groups, eps, given[0].dtype if given else input.dtype)


def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    """Group normalisation, the mean and the reciprocal deviation of each group.

    Raises RuntimeError for sizes, dtypes and an order in memory that do not fit, NotImplementedError for a dtype that is not floating.
    """
    _check_sizes(input, C, group, weight, bias)
    array = input.array
    if not (memory_format.is_channels_last if memory_format.suggests_channels_last(array) else _in_rows)(array):
        raise runtime_error(UNMET.format("X.is_contiguous(memory_format)"))
    given = [tensor for tensor in (weight, bias) if tensor is not None]
    dtype = given[0].dtype if given else input.dtype
    if dtype is not input.dtype:
        check_mixed(input, *given)
    if N < 0:
        raise shape_error(f"Trying to create tensor with negative dimension {N}: {[N, group]}")
    require_floating("GroupNormKernelImpl", input.dtype)
    if array.size != N * C * HxW:
        raise shape_error(UNMET.format("X.numel() == N * C * HxW"))
    check_mixed(input, *given)
    if array.shape[:2] != (N, C) or math.prod(array.shape[2:]) != HxW:
        raise _refused(f"an input of shape {list(array.shape)} for N={N}, C={C}, HxW={HxW}")
    if not all(_in_rows(tensor.array) for tensor in given):
        raise _refused("a weight or bias that is not contiguous, of which PyTorch reads other elements of the memory,")
    if input.dtype is dtypes.bfloat16 is not dtype:
        raise _refused("an input of dtype torch.bfloat16 and a weight or bias of another dtype")
    return WITH_FIGURES(input, weight, bias, group, eps, dtype)


def _in_rows(array: Array) -> bool:
    return array.flags.c_contiguous


def _refused(what: str) -> ProgramError:
    return ProgramError("NotImplementedError", f"native_group_norm with {what} is not part of gradcli")


def _functional_group_norm(
    input: Tensor, num_groups: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Any:
    """`F.group_norm`, which also refuses groups of one element."""
    shape = input.array.shape
    if len(shape) < 2:
        raise shape_error(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    sizes = [calculated(shape[0] * shape[1], "//", num_groups), num_groups, *shape[2:]]
    if ordered(calculated(sizes[0], "*", math.prod(sizes[2:])), "==", 1):
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
    Function(
        "native_group_norm",
        ("Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps |3 outs", native_group_norm),
        doc="Group normalisation, the mean and the reciprocal deviation of each group.",
        ops=(WITH_FIGURES,),
        samples=(Sample("torch.native_group_norm(x, w, b, 2, 2, 3, 1, 1e-5)[0]", None, x=CHANNELS, w=FACTORS, b=SHIFTS),),
        method=False,
    ),
)
