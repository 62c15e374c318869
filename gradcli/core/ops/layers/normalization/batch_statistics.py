"""Batch normalisation by the mean and the variance of the batch: the records of its result and of its gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.graph.namespaces import in_single
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, half_to_single, memory_format, summation
from gradcli.core.kernels.elementary import fused
from gradcli.core.ops.elementwise import add_multiply
from gradcli.core.ops.layers.normalization.moments import CENTRED, NORMAL, added, added_products, in_order, moments, widened
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.errors import runtime_error


def channels(x: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes over which a channel is normalised, and the shape in which one value for each channel broadcasts."""
    return (0, *range(2, len(x.shape))), _spread(x.shape)


def in_rows(x: Array) -> bool:
    """Whether PyTorch's kernels for contiguous tensors take the array: in row-major order, or with the channels innermost."""
    return x.flags.c_contiguous or (x.ndim in (4, 5) and np.moveaxis(x, 1, -1).flags.c_contiguous)


def scaled(x: Array, mean: Array, rstd: Array, weight: Array | None, bias: Array | None, rows: bool) -> Array:
    """`(x - mean) * rstd * weight + bias`, as PyTorch computes it: in rows with one factor and one shift for each channel.

    `rows` says that the input and the statistics are laid out for it; weight and bias have to be contiguous, too.
    """
    shape = channels(x)[1]
    if not rows or not all(p is None or p.flags.c_contiguous for p in (weight, bias)):
        normal = (x - mean) * rstd
        normal = normal if weight is None else normal * weight.reshape(shape)
        return np.array(normal + (x.dtype.type(0) if bias is None else bias.reshape(shape)), order="C")
    factor = rstd if weight is None else rstd * weight.reshape(shape)
    shift = fused(-mean, factor, np.zeros_like(mean) if bias is None else bias.reshape(shape))
    return np.asarray(fused(x, factor, shift))


def _statistics(x: Array, eps: float, dtype: DType, rows: bool) -> tuple[Array, Array]:
    """The mean and 1 / deviation of each channel, as they are kept: in half precision if the input is."""
    axes = channels(x)[0]
    if in_order(x, dtype, rows):
        count = np.float32(len(x))
        mean = added(x) / count
        variance = added_products(x - mean, x - mean) / count
        rstd = (1 / np.sqrt(variance.astype(np.float64) + eps)).astype(np.float32)[None]
    elif not rows:
        # PyTorch's mean, rounded; the squares are added in double precision
        count = x.size // x.shape[1]
        mean = dtypes.stored(np.asarray(summation.total(x, axes, True) / x.dtype.type(count)), dtype)
        squares = np.square(x.astype(np.float64) - mean).sum(axes, keepdims=True)
        rstd = (1 / np.sqrt(squares / count + eps)).astype(x.dtype)
    else:
        mean, rstd = moments(x, axes, eps, dtypes.round_bfloat16 if dtype is dtypes.bfloat16 else np.asarray)
        mean = dtypes.stored(mean, dtype)
    if not eps:  # PyTorch divides by no variance of 0
        rstd = np.where(np.isinf(rstd), rstd.dtype.type(0), rstd)
    return mean, dtypes.stored(rstd, dtype)


def _kept(number: int) -> Callable[..., Array]:
    """The mean, or 1 / deviation, of each channel, which PyTorch keeps."""

    def run(x: Array, *rest: Any) -> Array:
        *_, eps, dtype = rest
        return np.asarray(in_single(lambda x: _statistics(x, eps, dtype, in_rows(x))[number].reshape(-1))(x))

    return run


#: the mean and 1 / deviation; the last arguments are eps and the dtype in which they are kept
FIGURES = (_kept(0), _kept(1))


def _normalised(x: Array, weight: Array | None, bias: Array | None, mean: Any, var: Any, eps: float, dtype: DType) -> Array:
    rows = in_rows(x)

    def run(x: Array, weight: Array | None, bias: Array | None) -> Array:
        return scaled(x, *_statistics(x, eps, dtype, rows), weight, bias, rows)

    return np.asarray(in_single(run)(x, weight, bias))


def check_memory(grad: Array, x: Array, *parameters: Array | None) -> None:
    """Refuse the parameters of which PyTorch's kernel for contiguous tensors reads the memory in between too."""
    if grad.flags.c_contiguous and x.flags.c_contiguous and not all(p is None or p.flags.c_contiguous for p in parameters):
        raise runtime_error(
            "the gradient of batch_norm with a weight or statistics that are not contiguous is not supported by gradcli: PyTorch reads "
            "other elements of their memory. Call .contiguous() on them"
        )


def _sums(grad: Array, x: Array, eps: float, dtype: DType, rows: bool) -> tuple[Array, Array, Array, Array]:
    """Differences from the mean, 1 / deviation, and for each channel the sums of grad and of their product."""
    axes = channels(x)[0]
    mean, rstd = _statistics(x, eps, dtype, rows)
    centred = x - mean
    if in_order(x, dtype, rows and in_rows(grad)):
        return centred, rstd, added(grad), added_products(centred, grad)[None]
    wide = np.float64
    return centred, rstd, grad.sum(axes, wide, keepdims=True), (centred * grad).sum(axes, wide, keepdims=True)


def _input_gradient(grad: Array, x: Array, weight: Array | None, _: Any, __: Any, eps: float, dtype: DType) -> Array:
    check_memory(grad, x, weight)
    rows = in_rows(x)
    # the kernel for rows rounds once; the other one keeps what it computes in half precision
    kept = dtypes.float32 if rows and in_rows(grad) else dtype

    def run(grad: Array, x: Array, weight: Array | None) -> Array:
        centred, rstd, total, along = _sums(grad, x, eps, dtype, rows)
        count = x.dtype.type(grad.size // grad.shape[1])
        mean = dtypes.stored(dtypes.stored(total.astype(x.dtype), kept) / count, kept)
        share = dtypes.stored(dtypes.stored(along.astype(x.dtype), kept) * rstd * rstd / count, kept)
        made = dtypes.stored(dtypes.stored(grad - mean, kept) - dtypes.stored(centred * share, kept), kept)
        if in_order(x, dtype, rows and in_rows(grad)):  # the vector code, which takes 8 channels, fuses the product with the difference
            whole = x.shape[1] // 8 * 8
            made[:, :whole] = fused(-centred[:, :whole], np.broadcast_to(share, x.shape)[:, :whole], (grad - mean)[:, :whole])
        made = made * rstd
        return made if weight is None else np.asarray(made * weight.reshape(channels(x)[1]))

    return memory_format.of_images(np.asarray(in_single(run)(grad, x, weight)), x)


def _weight_gradient(grad: Array, x: Array, weight: Any, _: Any, __: Any, eps: float, dtype: DType) -> Array:
    rows = in_rows(x)

    def run(grad: Array, x: Array) -> Array:
        _, rstd, _, along = _sums(grad, x, eps, dtype, rows)
        return np.asarray((along * rstd).astype(x.dtype).reshape(-1))

    return np.asarray(in_single(run)(grad, x))


def _centred(xp: Any, x: Any, eps: float, dtype: DType) -> tuple[Any, Any]:
    """Differences from the mean, and 1 / deviation: of the statistics that were kept, which are constants for further derivatives."""
    array = xp.plain(x)
    mean, rstd = (p.astype(array.dtype) for p in _statistics(half_to_single(array), eps, dtype, in_rows(array)))
    return xp.call(add_multiply.SUB, x, mean), rstd


def _total(xp: Any, x: Any) -> Any:
    """The sum for each channel, kept."""
    return xp.sum(x, channels(x)[0], True)


def _double_rule(xp: Any, grad: Any, grad_output: Any, input: Any, weight: Any, eps: float, dtype: DType) -> Any:
    """The gradient of the input from that of its gradient, in PyTorch's order of operations, which in half precision may overflow."""
    centred, rstd = _centred(xp, input, eps, dtype)
    count = math.prod(input.shape) // input.shape[1]

    def times(x: Any, data: Any) -> Any:
        return xp.call(add_multiply.MUL, x, data)

    along, across, own, given = (_total(xp, x) for x in (grad * centred, grad_output * centred, grad, grad_output))
    common = own * given / count - _total(xp, grad_output * grad) + times(across, rstd * rstd) * along * (3.0 / count)
    cube = rstd * rstd * rstd
    made = times(centred, cube) * common / count + times(along, cube) / count * (given / count - grad_output)
    made = made + times(across, cube) / count * (own / count - grad)
    return made if weight is None else made * xp.reshape(weight, channels(input)[1])


def _double_scale_rule(xp: Any, grad: Any, input: Any, eps: float, dtype: DType) -> Any:
    centred, rstd = _centred(xp, input, eps, dtype)
    return xp.call(add_multiply.MUL, xp.reshape(grad, channels(input)[1]) * centred, rstd)


def _first_rule(xp: Any, grad_output: Any, input: Any, weight: Any, eps: float, dtype: DType) -> Any:
    """The gradient of the input, whose derivatives take the kept statistics for constants, as those of PyTorch's second backward do."""
    centred, rstd = _centred(xp, input, eps, dtype)
    count = math.prod(input.shape) // input.shape[1]
    rest = xp.call(add_multiply.MUL, centred, rstd * rstd) * _total(xp, grad_output * centred)
    made = grad_output * count - _total(xp, grad_output) - rest
    if weight is None:
        return xp.call(add_multiply.MUL, made, rstd / count)
    return xp.call(add_multiply.MUL, xp.reshape(weight, channels(input)[1]), rstd) / count * made


def _double_weight_rule(xp: Any, grad: Any, grad_output: Any, input: Any, eps: float, dtype: DType) -> Any:
    return xp.sum(grad * _first_rule(xp, grad_output, input, None, eps, dtype), channels(input)[0])


#: for formulas: the dimensions over which a channel is normalised, and the shape in which one value for each channel broadcasts
DIM = "dim = [k for k in range(grad.dim()) if k != 1]; "
SHAPE = "shape = [-1 if k == 1 else 1 for k in range(grad.dim())]; "


#: the name of PyTorch's one node for the gradients of input, weight and bias, and its inputs, of which the kept statistics are None
GRADIENT_NAME = "NativeBatchNormBackwardBackward0"
GRADIENT_OF = "grad_output input weight save_mean save_invstd"


def nothing(name: str) -> Rule:
    """The rule of an input that another gradient of the same node depends on, or none."""
    return Rule(lambda grad: None, f"0 * {name}")


def _bias_gradient(grad: Array, *_: Any) -> Array:
    if in_order(grad, dtypes.of(grad.dtype), in_rows(grad)):
        return np.asarray(added(grad)[0])
    return np.asarray(in_single(lambda x: summation.total(x, channels(x)[0]))(grad))


_BIAS_GRADIENT = Op(
    GRADIENT_NAME,
    _bias_gradient,
    GRADIENT_OF,
    "eps train",
    saved="grad_out=grad_output input running_mean=? running_var=? save_invstd=? save_mean=? weight eps train",
    grad_output=Rule(
        lambda xp, grad, grad_output_shape: xp.broadcast_to(xp.reshape(grad, _spread(grad_output_shape)), grad_output_shape),
        "grad.reshape([-1 if k == 1 else 1 for k in range(grad_output.dim())]).expand(grad_output.shape)",
    ),
    input=nothing("input"),
    weight=nothing("weight"),
    save_mean=nothing("save_mean"),
    save_invstd=nothing("save_invstd"),
)


def _spread(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which one value for each channel broadcasts to `shape`."""
    return tuple(n if i == 1 else 1 for i, n in enumerate(shape))


def bias_rule(train: bool) -> Rule:
    """The derivative by the bias."""

    def rule(xp: Any, grad: Any, input: Any, weight: Any, eps: float, dtype: DType) -> Any:
        return xp.call(_BIAS_GRADIENT, widened(xp, grad, dtype), input, weight, None, None, eps, train)

    return Rule(rule, "grad.sum([k for k in range(grad.dim()) if k != 1])")


_STANDARDISED = DIM + SHAPE + CENTRED + "g = grad if weight is None else grad * weight.reshape(shape); " + NORMAL
_ALONG = DIM + CENTRED + "({} * c / std).sum(dim)"
_SAVED = "grad_out=grad_output input running_mean=? running_var=? save_invstd=? save_mean=? weight eps train=True"
INPUT_GRADIENT: Op = Op(
    GRADIENT_NAME,
    _input_gradient,
    GRADIENT_OF,
    "eps dtype",
    saved=_SAVED,
    grad_output=Rule(
        lambda xp, grad, input, weight, eps, dtype: _first_rule(xp, grad, input, weight, eps, dtype),
        _STANDARDISED,
    ),
    input=Rule(
        _double_rule,
        DIM + SHAPE + CENTRED + "x = c / std; g = grad_output; p = grad.mean(dim, True); q = g.mean(dim, True); "
        "r = (grad * x).mean(dim, True); s = (g * x).mean(dim, True); w = 1 if weight is None else weight.reshape(shape); "
        "-w * (x * ((grad * g).mean(dim, True) - p * q - r * s) + s * (grad - p - x * r) + r * (g - q - x * s)) / std**2",
    ),
    weight=Rule(
        _double_weight_rule,
        DIM + CENTRED + "x = c / std; g = grad_output; (grad * (g - g.mean(dim, True) - x * (g * x).mean(dim, True)) / std).sum(dim)",
    ),
    save_mean=nothing("save_mean"),
    save_invstd=nothing("save_invstd"),
)
_ROWS = (DIM + SHAPE).replace("grad.", "grad_output.")  # here grad has a number for each channel
WEIGHT_GRADIENT = Op(
    GRADIENT_NAME,
    _weight_gradient,
    GRADIENT_OF,
    "eps dtype",
    saved=_SAVED,
    grad_output=Rule(
        _double_scale_rule,
        _ROWS + CENTRED + "grad.reshape(shape) * c / std",
    ),
    input=Rule(
        lambda xp, grad, grad_output, input, eps, dtype: _first_rule(xp, grad_output, input, grad, eps, dtype),
        _ROWS + CENTRED + "g = grad_output * grad.reshape(shape); " + NORMAL,
    ),
    weight=nothing("weight"),
    save_mean=nothing("save_mean"),
    save_invstd=nothing("save_invstd"),
)
BATCH_NORM = Op(
    "NativeBatchNormBackward0",
    _normalised,
    "input weight bias",
    "running_mean running_var eps dtype",
    saved="input! result1=? result2=? running_mean running_var weight! eps training=True",
    joined=True,
    computed=dict(zip(("result1", "result2"), FIGURES, strict=True)),
    input=Rule(
        lambda xp, grad, input, weight, eps, dtype: xp.call(INPUT_GRADIENT, grad, input, weight, None, None, eps, dtype),
        _STANDARDISED,
    ),
    weight=Rule(
        lambda xp, grad, input, weight, eps, dtype: xp.call(
            WEIGHT_GRADIENT, *(widened(xp, x, dtype) for x in (grad, input)), weight, None, None, eps, dtype
        ),
        _ALONG.format("grad"),
    ),
    bias=bias_rule(True),
)
