"""Batch and instance normalisation: mean 0 and variance 1 for each channel, of a batch or of each image."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.namespaces import in_single, numeric, traced
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, blocks, memory_format, summation
from gradcli.core.kernels.elementary import fused
from gradcli.core.ops.checks import require_floating, size, with_method
from gradcli.core.ops.elementwise import add_multiply, scalars
from gradcli.core.ops.layers.normalization.moments import (
    CENTRED,
    NORMAL,
    added,
    added_products,
    check_mixed,
    in_order,
    moments,
    widened,
)
from gradcli.core.ops.layers.samples import CHANNELS, FACTORS, FACTORS_3, ROWS, SHIFTS, SHIFTS_3, SQUARE, WEIGHT
from gradcli.core.ops.operators import is_true, ordered
from gradcli.core.ops.reduce.sum_mean import mean_dtype
from gradcli.core.ops.rules import check_no_gradient, moves
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.rearrange import repeat
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error

_NOT_BATCHED = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, were not batched.\n"
    "If you are using a module and do not need eval mode, please set `track_running_stats` to be False."
    "If you are using a prebuilt module and do not need eval mode, please see the functorch website for resources on how to patch your "
    "module to work with vmap"
)


def _channels(x: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes over which a channel is normalised, and the shape in which one value for each channel broadcasts."""
    rank = len(x.shape)
    return (0, *range(2, rank)), tuple(x.shape[1] if i == 1 else 1 for i in range(rank))


def _in_rows(x: Array) -> bool:
    """Whether PyTorch's kernels for contiguous tensors take the array: in row-major order, or with the channels innermost."""
    return x.flags.c_contiguous or (x.ndim in (4, 5) and np.moveaxis(x, 1, -1).flags.c_contiguous)


def _scaled(x: Array, mean: Array, rstd: Array, weight: Array | None, bias: Array | None, rows: bool) -> Array:
    """`(x - mean) * rstd * weight + bias`, as PyTorch computes it: in rows with one factor and one shift for each channel.

    `rows` says that the input and the statistics are laid out for it; weight and bias have to be contiguous, too.
    """
    shape = _channels(x)[1]
    if not rows or not all(p is None or p.flags.c_contiguous for p in (weight, bias)):
        normal = (x - mean) * rstd
        normal = normal if weight is None else normal * weight.reshape(shape)
        return np.array(normal + (x.dtype.type(0) if bias is None else bias.reshape(shape)), order="C")
    factor = rstd if weight is None else rstd * weight.reshape(shape)
    shift = fused(-mean, factor, np.zeros_like(mean) if bias is None else bias.reshape(shape))
    return np.asarray(fused(x, factor, shift))


def _statistics(x: Array, eps: float, dtype: DType, rows: bool) -> tuple[Array, Array]:
    """The mean and 1 / deviation of each channel, as they are kept: in half precision if the input is."""
    axes = _channels(x)[0]
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


def _normalised(x: Array, weight: Array | None, bias: Array | None, eps: float, dtype: DType) -> Array:
    rows = _in_rows(x)

    def run(x: Array, weight: Array | None, bias: Array | None) -> Array:
        return _scaled(x, *_statistics(x, eps, dtype, rows), weight, bias, rows)

    return np.asarray(in_single(run)(x, weight, bias))


def _check_memory(grad: Array, x: Array, *parameters: Array | None) -> None:
    """Refuse the parameters of which PyTorch's kernel for contiguous tensors reads the memory in between too."""
    if grad.flags.c_contiguous and x.flags.c_contiguous and not all(p is None or p.flags.c_contiguous for p in parameters):
        raise runtime_error(
            "the gradient of batch_norm with a weight or statistics that are not contiguous is not supported by gradcli: PyTorch reads "
            "other elements of their memory. Call .contiguous() on them"
        )


def _sums(grad: Array, x: Array, eps: float, dtype: DType, rows: bool) -> tuple[Array, Array, Array, Array]:
    """Differences from the mean, 1 / deviation, and for each channel the sums of grad and of their product."""
    axes = _channels(x)[0]
    mean, rstd = _statistics(x, eps, dtype, rows)
    centred = x - mean
    if in_order(x, dtype, rows and _in_rows(grad)):
        return centred, rstd, added(grad), added_products(centred, grad)[None]
    wide = np.float64
    return centred, rstd, grad.sum(axes, wide, keepdims=True), (centred * grad).sum(axes, wide, keepdims=True)


def _input_gradient(grad: Array, x: Array, weight: Array | None, eps: float, dtype: DType) -> Array:
    _check_memory(grad, x, weight)
    rows = _in_rows(x)
    # the kernel for rows rounds once; the other one keeps what it computes in half precision
    kept = dtypes.float32 if rows and _in_rows(grad) else dtype

    def run(grad: Array, x: Array, weight: Array | None) -> Array:
        centred, rstd, total, along = _sums(grad, x, eps, dtype, rows)
        count = x.dtype.type(grad.size // grad.shape[1])
        mean = dtypes.stored(dtypes.stored(total.astype(x.dtype), kept) / count, kept)
        share = dtypes.stored(dtypes.stored(along.astype(x.dtype), kept) * rstd * rstd / count, kept)
        made = dtypes.stored(dtypes.stored(grad - mean, kept) - dtypes.stored(centred * share, kept), kept)
        if in_order(x, dtype, rows and _in_rows(grad)):  # the vector code, which takes 8 channels, fuses the product with the difference
            whole = x.shape[1] // 8 * 8
            made[:, :whole] = fused(-centred[:, :whole], np.broadcast_to(share, x.shape)[:, :whole], (grad - mean)[:, :whole])
        made = made * rstd
        return made if weight is None else np.asarray(made * weight.reshape(_channels(x)[1]))

    return memory_format.of_images(np.asarray(in_single(run)(grad, x, weight)), x)


def _weight_gradient(grad: Array, x: Array, eps: float, dtype: DType) -> Array:
    rows = _in_rows(x)

    def run(grad: Array, x: Array) -> Array:
        _, rstd, _, along = _sums(grad, x, eps, dtype, rows)
        return np.asarray((along * rstd).astype(x.dtype).reshape(-1))

    return np.asarray(in_single(run)(grad, x))


def _centred(xp: Any, x: Any, eps: float, dtype: DType) -> tuple[Any, Any]:
    """Differences from the mean, and 1 / deviation; in half precision of the statistics that were kept, which are constants."""
    if dtype.itemsize == 2:
        array = xp.plain(x)
        mean, rstd = (p.astype(array.dtype) for p in _statistics(array.astype(np.float32), eps, dtype, _in_rows(array)))
        return xp.call(add_multiply.SUB, x, mean), rstd
    count = math.prod(x.shape) // x.shape[1]
    centred = x - _total(xp, x) / count
    variance = _total(xp, centred * centred) / count
    rstd = 1.0 / xp.sqrt(variance + eps)
    return centred, rstd if eps else xp.where(xp.plain(variance) != 0, rstd, 0.0)


def _total(xp: Any, x: Any) -> Any:
    """The sum for each channel, kept."""
    return xp.sum(x, _channels(x)[0], True)


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
    return made if weight is None else made * xp.reshape(weight, _channels(input)[1])


def _double_scale_rule(xp: Any, grad: Any, input: Any, eps: float, dtype: DType) -> Any:
    centred, rstd = _centred(xp, input, eps, dtype)
    return xp.call(add_multiply.MUL, xp.reshape(grad, _channels(input)[1]) * centred, rstd)


def _double_weight_rule(xp: Any, grad: Any, grad_output: Any, input: Any, eps: float, dtype: DType) -> Any:
    centred, rstd = _centred(xp, input, eps, dtype)
    count = math.prod(input.shape) // input.shape[1]
    rest = xp.call(add_multiply.MUL, centred, rstd * rstd) * _total(xp, grad_output * centred)
    made = xp.call(add_multiply.MUL, grad_output * count - _total(xp, grad_output) - rest, rstd / count)
    return xp.sum(grad * made, _channels(input)[0])


#: for formulas: the dimensions over which a channel is normalised, and the shape in which one value for each channel broadcasts
_DIM = "dim = [k for k in range(grad.dim()) if k != 1]; "
_SHAPE = "shape = [-1 if k == 1 else 1 for k in range(grad.dim())]; "


def _bias_rule(xp: Any, grad: Any, dtype: DType) -> Any:
    grad = widened(xp, grad, dtype)
    if xp is numeric and in_order(grad, dtypes.of(grad.dtype), _in_rows(grad)):
        return added(grad)[0]
    return xp.sum(grad, _channels(grad)[0])


_BIAS = Rule(_bias_rule, "grad.sum([k for k in range(grad.dim()) if k != 1])")
_STANDARDISED = _DIM + _SHAPE + CENTRED + "g = grad if weight is None else grad * weight.reshape(shape); " + NORMAL
_ALONG = _DIM + CENTRED + "({} * c / std).sum(dim)"
_SAVED = "grad_out=grad_output input running_mean=? running_var=? save_invstd=? save_mean=? {} eps train=True"
INPUT_GRADIENT: Op = Op(
    "NativeBatchNormBackwardBackward0",
    _input_gradient,
    "grad_output input weight",
    "eps dtype",
    saved=_SAVED.format("weight"),
    grad_output=Rule(
        lambda xp, grad, input, weight, eps, dtype: xp.call(INPUT_GRADIENT, grad, input, weight, eps, dtype),
        _STANDARDISED,
    ),
    input=Rule(
        _double_rule,
        _DIM + _SHAPE + CENTRED + "x = c / std; g = grad_output; p = grad.mean(dim, True); q = g.mean(dim, True); "
        "r = (grad * x).mean(dim, True); s = (g * x).mean(dim, True); w = 1 if weight is None else weight.reshape(shape); "
        "-w * (x * ((grad * g).mean(dim, True) - p * q - r * s) + s * (grad - p - x * r) + r * (g - q - x * s)) / std**2",
    ),
    weight=Rule(
        _double_weight_rule,
        _DIM + CENTRED + "x = c / std; g = grad_output; (grad * (g - g.mean(dim, True) - x * (g * x).mean(dim, True)) / std).sum(dim)",
    ),
)
_ROWS = (_DIM + _SHAPE).replace("grad.", "grad_output.")  # here grad has a number for each channel
WEIGHT_GRADIENT = Op(
    "NativeBatchNormBackwardBackward0",
    _weight_gradient,
    "grad_output input",
    "eps dtype",
    saved=_SAVED.format("weight=?"),
    grad_output=Rule(
        _double_scale_rule,
        _ROWS + CENTRED + "grad.reshape(shape) * c / std",
    ),
    input=Rule(
        lambda xp, grad, grad_output, input, eps, dtype: xp.call(INPUT_GRADIENT, grad_output, input, grad, eps, dtype),
        _ROWS + CENTRED + "g = grad_output * grad.reshape(shape); " + NORMAL,
    ),
)
BATCH_NORM = Op(
    "NativeBatchNormBackward0",
    _normalised,
    "input weight bias",
    "eps dtype",
    saved="input! result1=? result2=? running_mean=? running_var=? weight! eps training=True",
    input=Rule(
        lambda xp, grad, input, weight, eps, dtype: xp.call(INPUT_GRADIENT, grad, input, weight, eps, dtype),
        _STANDARDISED,
    ),
    weight=Rule(
        lambda xp, grad, input, eps, dtype: xp.call(WEIGHT_GRADIENT, *(widened(xp, x, dtype) for x in (grad, input)), eps, dtype),
        _ALONG.format("grad"),
    ),
    bias=_BIAS,
)


# --- with running statistics, which have no gradient ---


def _fixed(x: Any, mean: Array, var: Array, eps: float, precision: Any = None) -> tuple[Array, Array]:
    """The mean and 1 / deviation of each channel, so that they broadcast to x; `precision` is that of the variance, where it is another."""
    shape = _channels(x)[1]
    wide = var if precision is None else var.astype(precision)
    return mean.reshape(shape), np.asarray(1 / np.sqrt(wide + wide.dtype.type(eps))).astype(var.dtype).reshape(shape)


def _batch_norm_fixed(x: Array, weight: Array | None, bias: Array | None, mean: Array, var: Array, eps: float, dtype: DType) -> Array:
    rows = _in_rows(x) and mean.flags.c_contiguous and var.flags.c_contiguous

    def run(x: Array, weight: Array | None, bias: Array | None, mean: Array, var: Array) -> Array:
        return _scaled(x, *_fixed(x, mean, var, eps), weight, bias, rows)

    return np.asarray(in_single(run)(x, weight, bias, mean, var))


def _fixed_rule(xp: Any, grad: Any, input: Any, weight: Any, running_mean: Array, running_var: Array, eps: float) -> Any:
    _check_memory(xp.plain(grad), xp.plain(input), None if weight is None else xp.plain(weight), running_mean, running_var)
    if xp is numeric:  # the kernel's order
        made = grad * _fixed(grad, running_mean, running_var, eps, np.float64)[1]
        made = made if weight is None else made * weight.reshape(_channels(grad)[1])
        return memory_format.of_images(made, input)
    if weight is not None:
        grad = grad * xp.reshape(weight, _channels(grad)[1])
    made = scalars.times_data(xp, grad, _fixed(grad, running_mean, running_var, eps)[1])
    return made


def _fixed_weight_rule(xp: Any, grad: Any, input: Any, running_mean: Array, running_var: Array, eps: float, dtype: DType) -> Any:
    grad, input = (widened(xp, x, dtype) for x in (grad, input))
    mean, rstd = _fixed(input, running_mean, running_var, eps, np.float64 if xp is numeric else None)
    if xp is numeric and in_order(input, dtypes.of(input.dtype), _in_rows(input) and _in_rows(grad)):
        return added_products(input - mean, grad) * rstd[0]
    normal = scalars.times_data(xp, xp.call(add_multiply.SUB, input, mean), rstd)
    return xp.sum(grad * normal, _channels(input)[0])


BATCH_NORM_FIXED = Op(
    "NativeBatchNormBackward0",
    _batch_norm_fixed,
    "input weight bias",
    "running_mean running_var eps dtype",
    saved="input! result1=? result2=? running_mean running_var weight! eps training=False",
    jvp="transpose",
    input=Rule(_fixed_rule, _SHAPE + "w = 1 if weight is None else weight; grad * (w / (running_var + eps).sqrt()).reshape(shape)"),
    weight=Rule(_fixed_weight_rule, _DIM + _SHAPE + "(grad * (input - running_mean.reshape(shape))).sum(dim) / (running_var + eps).sqrt()"),
    bias=_BIAS,
)


def _follow(input: Tensor, mean: Tensor, var: Tensor, momentum: float) -> None:
    """Move the running mean and variance toward those of a batch, of which the variance is unbiased.

    PyTorch does not count these writes.
    """
    x = input.array
    if in_order(x, input.dtype, _in_rows(x)) and len(x) > 1:
        average = added(x)[0] / np.float32(len(x))
        variance = added_products(x - average, x - average) / np.float32(len(x) - 1)
        rate, rest = np.float32(momentum), np.float32(1 - momentum)
        blocks.settle()
        for kept, new in ((mean, rest * mean.array + rate * average), (var, fused(variance, rate, rest * var.array))):
            kept.array[...] = new
        return
    axes, shape = _channels(x)
    dtype = input.dtype if input.dtype is mean.dtype else dtypes.float32
    kind = dtypes.widened(dtype).np.type
    middle = dtypes.cast(x.astype(np.float64).mean(axes), dtype)
    squares = np.square(x.astype(kind) - middle.reshape(shape)).sum(axes, dtype=np.float64)
    spread = dtypes.cast(np.asarray(dtypes.cast(squares, dtype) / kind(x.size // middle.size - 1)), dtype)
    moved, kept = kind(momentum), kind(1 - momentum)
    old_mean, old_var = (t.array.astype(kind) for t in (mean, var))
    blocks.settle()
    mean.array[...] = dtypes.cast(moved * middle.astype(kind) + kept * old_mean, mean.dtype)
    var.array[...] = dtypes.cast(np.asarray(fused(moved, spread.astype(kind), kept * old_var)), var.dtype)


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

    The second dimension of the input is that of channels. Raises ValueError for one value per channel in training and for an eps
    that is not positive, RuntimeError for missing statistics and for parameters of another size.
    """
    given = training
    if training := is_true(training):
        shape = with_method(input, "size").array.shape
        if not shape:
            raise shape_error("tuple index out of range", "IndexError")
        if math.prod((shape[0], *shape[2:])) == 1:
            raise shape_error(f"Expected more than 1 value per channel when training, got input size {input.shape}", "ValueError")
    if training and ordered(eps, "<=", 0.0):
        raise ProgramError("ValueError", f"batch_norm eps must be positive during training, but got {formatted(eps)}")
    if ordered(eps, "<", 0.0):
        raise ProgramError("ValueError", f"batch_norm eps must be non-negative, but got {formatted(eps)}")
    return catalog.function("batch_norm")(input, weight, bias, running_mean, running_var, given, momentum, eps, True)


def _empty(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Any:
    """Batch normalisation of no elements, which PyTorch writes so that it stays in the graph."""
    out = catalog.function("clone")(input)
    for name, parameter in (("mul", weight), ("add", bias)):
        if parameter is not None:
            out = catalog.function(name)(out, catalog.function("select")(parameter, 0, 0))
    return out


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
    shape = input.array.shape
    channels = shape[1] if len(shape) > 1 else 0  # what PyTorch reads where there is no such dimension
    if not input.array.size:
        return _empty(input, weight, bias)
    tensors = (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias))
    for name, tensor in tensors:
        if tensor is not None and tensor.array.size != channels:
            raise runtime_error(f"{name} should contain {channels} elements not {tensor.array.size}")
        if tensor is None and name.startswith("running") and not training:
            raise runtime_error(f"{name} must be defined in evaluation mode")
    check_no_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    if (running_mean is None) is not (running_var is None):
        raise ProgramError("ValueError", "running_mean and running_var must either both be None or neither be None")
    given = [tensor for tensor in (weight, bias, running_mean, running_var) if tensor is not None]
    if not input.dtype.is_differentiable and (not training or _in_rows(input.array)):  # before PyTorch looks at mixed dtypes
        require_floating("batch_norm", input.dtype)
    check_mixed(input, *given)
    if training and not _in_rows(input.array) and (not given or given[0].dtype is input.dtype):
        mean_dtype(input, None)  # raises the error of the mean that PyTorch takes first
    size(input, 1)
    require_floating("batch_norm", input.dtype)
    rows = _in_rows(input.array) and all(p is None or p.array.flags.c_contiguous for p in (weight, bias))
    for name, tensor in tensors:
        if tensor is not None and tensor.array.ndim != 1:
            if rows and not name.startswith("running"):
                raise ProgramError("NotImplementedError", f"batch_norm with a {name} that is no vector is not part of gradcli")
            raise shape_error(f"TensorAccessor expected 1 dims but tensor has {tensor.array.ndim}")
    if moves(input, weight, bias) and moves(running_mean, running_var):
        raise runtime_error("batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad defined")
    dtype = given[0].dtype if given else input.dtype  # of the statistics that are kept
    if training:
        if running_mean is not None and running_var is not None:
            if state.mapped and running_mean.view is None:  # neither is a slice of a batch
                raise runtime_error(_NOT_BATCHED)
            _follow(input, running_mean, running_var, momentum)
        return BATCH_NORM(input, weight, bias, eps, dtype)
    assert running_mean is not None and running_var is not None
    figures = (memory_format.copy_with_gaps(t.array) for t in (running_mean, running_var))
    return BATCH_NORM_FIXED(input, weight, bias, *figures, eps, dtype)


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
    dtype = (input if weight is None else weight).dtype
    statistics = (None if t is None else traced.cast(t, dtype) for t in (running_mean, running_var))
    mean, var, scale, shift = (None if t is None else repeat(t, (images,)) for t in (*statistics, weight, bias))
    side_by_side = view(contiguous(input), (1, images * channels, *shape[2:]))
    out = _batch_norm(side_by_side, mean, var, scale, shift, use_input_stats, momentum, eps)
    for own, repeated in ((running_mean, mean), (running_var, var)):
        if own is not None and repeated is not None and use_input_stats:
            blocks.settle()
            own.array[...] = dtypes.cast(repeated.array.reshape(images, channels).mean(0), own.dtype)
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
    if is_true(use_input_stats) and math.prod(with_method(input, "size").array.shape[2:]) == 1:
        raise shape_error(f"Expected more than 1 spatial element when training, got input size {input.shape!r}", "ValueError")
    return catalog.function("instance_norm")(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        batch_norm,
        "batch_norm",
        "Mean 0 and variance 1 for each channel.",
        unchecked=True,
        ops=(BATCH_NORM, BATCH_NORM_FIXED),
        samples=(
            Sample("F.batch_norm(x, None, None, w, b, training=True)", None, x=[*ROWS, WEIGHT[0]], w=FACTORS_3, b=SHIFTS_3),
            Sample("F.batch_norm(x, x.new_tensor([1., 2., 3.]), x.new_tensor([1., 4., 2.]), w)", None, x=ROWS, w=FACTORS_3),
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
        unchecked=True,
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
