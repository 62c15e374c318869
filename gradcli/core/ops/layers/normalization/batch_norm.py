"""Batch normalisation: mean 0 and variance 1 for each channel, from the batch or from running statistics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.kernels import blocks, memory_format
from gradcli.core.kernels.elementary import fused
from gradcli.core.ops.checks import require_floating, size, with_method
from gradcli.core.ops.layers.normalization.batch_statistics import BATCH_NORM, FIGURES, channels, in_rows
from gradcli.core.ops.layers.normalization.fixed_statistics import BATCH_NORM_FIXED
from gradcli.core.ops.layers.normalization.moments import added, added_products, check_mixed, in_order
from gradcli.core.ops.layers.samples import FACTORS_3, ROWS, SHIFTS_3, SQUARE, WEIGHT
from gradcli.core.ops.operators import is_true, ordered
from gradcli.core.ops.reduce.sum_mean import mean_dtype
from gradcli.core.ops.rules import check_no_gradient, moves
from gradcli.core.tensor import batched, dtypes
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


def _follow(input: Tensor, mean: Tensor, var: Tensor, momentum: float) -> None:
    """Move the running mean and variance toward those of a batch, of which the variance is unbiased.

    PyTorch does not count these writes.
    """
    x = input.array
    if in_order(x, input.dtype, in_rows(x)) and len(x) > 1:
        average = added(x)[0] / np.float32(len(x))
        variance = added_products(x - average, x - average) / np.float32(len(x) - 1)
        rate, rest = np.float32(momentum), np.float32(1 - momentum)
        blocks.settle()
        for kept, new in ((mean, rest * mean.array + rate * average), (var, fused(variance, rate, rest * var.array))):
            kept.array[...] = new
        return
    axes, shape = channels(x)
    dtype = input.dtype if input.dtype is mean.dtype else dtypes.float32
    if dtype is dtypes.float16:  # PyTorch rounds once
        dtype = dtypes.float64
    kind = dtypes.widened(dtype).np.type
    middle = dtypes.cast(x.astype(np.float64).mean(axes), dtype)
    squares = np.square(x.astype(kind) - middle.reshape(shape)).sum(axes, dtype=np.float64)
    spread = dtypes.cast(np.asarray(dtypes.cast(squares, dtype) / kind(x.size // middle.size - 1)), dtype)
    stored = partial(dtypes.stored, dtype=dtype)
    moved = stored(np.asarray(momentum, kind))
    left = stored(1 - moved if dtype is dtypes.bfloat16 else np.asarray(1 - momentum, kind))
    old_mean, old_var = (stored(left * t.array.astype(kind)) for t in (mean, var))
    blocks.settle()
    mean.array[...] = dtypes.cast(stored(moved * middle.astype(kind)) + old_mean, mean.dtype)
    var.array[...] = dtypes.cast(np.asarray(fused(moved, spread.astype(kind), old_var)), var.dtype)


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


def normalised(
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
    for name, tensor in _named(running_mean, running_var, weight, bias):
        if tensor is not None and tensor.array.size != channels:
            raise runtime_error(f"{name} should contain {channels} elements not {tensor.array.size}")
        if tensor is None and name.startswith("running") and not training:
            raise runtime_error(f"{name} must be defined in evaluation mode")
    return _operated(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _named(*tensors: Tensor | None) -> Iterable[tuple[str, Tensor | None]]:
    return zip(("running_mean", "running_var", "weight", "bias"), tensors, strict=True)


def _check_dtypes(input: Tensor, training: bool, running_mean: Tensor | None, running_var: Tensor | None, given: Sequence[Tensor]) -> None:
    """Raise the errors of PyTorch's operator up to that of mixed dtypes."""
    check_no_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    if not input.array.ndim:  # PyTorch makes room for the other dimensions first
        raise shape_error(
            f"SmallVector unable to grow. Requested capacity ({2**64 - 1}) is larger than maximum value for size type ({2**32 - 1})"
        )
    mixed = bool(given) and given[0].dtype is not input.dtype
    if training:
        size(input, 1)
        if not in_rows(input.array) and not mixed:
            mean_dtype(input, None)  # raises the error of the mean that PyTorch takes first
    if (running_mean is None) is not (running_var is None):
        raise ProgramError("ValueError", "running_mean and running_var must either both be None or neither be None")
    require_floating("batch_norm", input.dtype)
    if mixed:
        check_mixed(input, *given)


def _check_parameters(input: Tensor, training: bool, tensors: Sequence[Tensor | None], given: Sequence[Tensor]) -> None:
    """Raise the errors of parameters that do not fit, and refuse those beyond whose memory PyTorch's kernels read."""
    size(input, 1)
    rows = in_rows(input.array) and all(p is None or p.array.flags.c_contiguous for p in tensors[2:])
    for name, tensor in _named(*tensors):
        if tensor is not None and tensor.array.ndim != 1:
            if rows and not name.startswith("running"):
                raise ProgramError("NotImplementedError", f"batch_norm with a {name} that is no vector is not part of gradcli")
            raise shape_error(f"TensorAccessor expected 1 dims but tensor has {tensor.array.ndim}")
    check_mixed(input, *given)
    channels = input.array.shape[1]
    for name, tensor in _named(*tensors):
        missing = tensor is None and name.startswith("running") and not training
        if missing or (tensor is not None and tensor.array.size != channels):
            raise ProgramError("NotImplementedError", f"native_batch_norm without a {name} of {channels} elements is not part of gradcli")


def _operated(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """The result of PyTorch's operator, which `torch.batch_norm` and `torch.native_batch_norm` share."""
    given = [tensor for tensor in (weight, bias, running_mean, running_var) if tensor is not None]
    _check_dtypes(input, training, running_mean, running_var, given)
    if not input.array.size:
        if training:
            raise shape_error(f"input tensor must have at least one element, but got input_sizes = {list(input.array.shape)}")
        if state.enabled and any(t is not None and t.requires_grad for t in (input, weight, bias)):
            raise ProgramError("NotImplementedError", "the gradient of native_batch_norm of no elements is not part of gradcli")
        return catalog.function("clone")(input)
    _check_parameters(input, training, (running_mean, running_var, weight, bias), given)
    if moves(input, weight, bias) and moves(running_mean, running_var):
        raise runtime_error("batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad defined")
    dtype = given[0].dtype if given else input.dtype  # of the statistics that are kept
    if training:
        if running_mean is not None and state.mapped and set(batched.levels(input)) - set(batched.levels(running_mean)):
            raise runtime_error(_NOT_BATCHED)
        figures = (None if t is None or state.mapped else t.array for t in (running_mean, running_var))
        made = BATCH_NORM(input, weight, bias, *figures, eps, dtype)
        if running_mean is not None and running_var is not None:
            _follow(input, running_mean, running_var, momentum)
        return made
    assert running_mean is not None and running_var is not None
    kept = (memory_format.copy_with_gaps(t.array) for t in (running_mean, running_var))
    return BATCH_NORM_FIXED(input, weight, bias, *kept, eps, dtype)


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Any, Tensor, Tensor]:
    """As `torch.batch_norm`, with the mean and 1 / deviation of each channel, if they are taken from the batch. These have no gradient.

    Raises what that raises but for sizes, and RuntimeError for a batch without elements in training.
    """
    dtype = next((t.dtype for t in (weight, bias, running_mean, running_var) if t is not None), input.dtype)
    out = _operated(input, running_mean, running_var, weight, bias, training, momentum, eps)
    figures = (run(input.array, eps, dtype) for run in FIGURES) if training else (np.empty(0, dtype.np) for _ in range(2))
    mean, rstd = (Tensor(figure.astype(dtype.np), dtype) for figure in figures)
    return out, mean, rstd


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
            lambda x, weight, bias, mean, var, *options: normalised(x, mean, var, weight, bias, *options[:-1]),
        ),
        doc="Mean 0 and variance 1 for each channel.",
        samples=(Sample("torch.batch_norm(x, None, None, None, None, True, 0.1, 0.5, False)", None, x=SQUARE),),
        method=False,
    ),
    Function(
        "native_batch_norm",
        (
            "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, "
            "float eps |3 outs",
            native_batch_norm,
        ),
        doc="Batch normalisation, the mean and the reciprocal deviation of each channel.",
        samples=(Sample("torch.native_batch_norm(x, None, None, None, None, True, 0.1, 0.5)[0]", None, x=SQUARE),),
        method=False,
    ),
)
