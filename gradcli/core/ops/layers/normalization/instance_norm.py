"""Instance normalisation: mean 0 and variance 1 for each channel of each image."""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.namespaces import traced
from gradcli.core.kernels import blocks
from gradcli.core.ops.checks import size, with_method
from gradcli.core.ops.layers.normalization.batch_norm import normalised
from gradcli.core.ops.layers.normalization.batch_statistics import BATCH_NORM
from gradcli.core.ops.layers.normalization.fixed_statistics import BATCH_NORM_FIXED
from gradcli.core.ops.layers.samples import CHANNELS, FACTORS, SHIFTS
from gradcli.core.ops.operators import is_true
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.rearrange import repeat
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


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
    out = normalised(side_by_side, mean, var, scale, shift, use_input_stats, momentum, eps)
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
