"""Inputs divided by a norm of themselves: rms_norm, local_response_norm, normalize."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.namespaces import traced
from gradcli.core.ops.checks import require_floating, with_method
from gradcli.core.ops.elementwise import power, scalars
from gradcli.core.ops.elementwise.exponential import RSQRT
from gradcli.core.ops.layers.normalization.moments import check_shapes
from gradcli.core.ops.layers.padding import pad
from gradcli.core.ops.layers.samples import CHANNELS, FACTORS_3, ROWS
from gradcli.core.ops.operators import calculated
from gradcli.core.ops.reduce import sum_mean
from gradcli.core.ops.shape.broadcasting import expand
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.squeeze import squeeze_dim, unsqueeze
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import shape_error


def rms_norm(input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, eps: float | None) -> Any:
    """The input divided by the root of its mean square over the last dimensions, then scaled; half precision is computed in float32.

    Raises RuntimeError for shapes that do not fit, NotImplementedError for a dtype that is not floating.
    """
    inner, shape = tuple(normalized_shape), input.array.shape
    check_shapes(inner, weight=weight)
    if len(shape) < len(inner):
        raise shape_error(f"Input tensor must have at least {len(inner)} dimensions, but got {len(shape)}", "ValueError")
    if shape[-len(inner) :] != inner:
        text = ", ".join(map(str, inner))
        raise shape_error(f"Given normalized_shape=[{text}], expected input with shape [*{text}], but got input of size{list(shape)}")
    if weight is not None and weight.dtype is not input.dtype:
        warnings.emit(
            f"Mismatch dtype between input and weight: input dtype = {input.dtype.c_name}, weight dtype = {weight.dtype.c_name}, "
            "Cannot dispatch to fused implementation. (Triggered internally at "
            "/__w/pytorch/pytorch/aten/src/ATen/native/layer_norm.cpp:346.)",
            once="rms_norm dtype",
        )
    if not input.dtype.is_complex:
        require_floating("rms_norm", input.dtype)
    wide = traced.cast(input, dtypes.float32) if input.dtype.itemsize < 4 else input
    least = eps if eps is not None else float(np.finfo(wide.dtype.np).eps)
    mean = sum_mean.mean(power.pow(wide, 2), tuple(range(-len(inner), 0)), True)
    out = wide * RSQRT(scalars.plus(traced, mean, least))
    if weight is not None:
        out = out * weight
    out = contiguous(out)
    return out if out.dtype is input.dtype else traced.cast(out, input.dtype)


def local_response_norm(input: Tensor, size: Any, alpha: Any = 1e-4, beta: Any = 0.75, k: Any = 1.0) -> Any:
    """The input divided by a power of its mean square over `size` neighbouring channels (Krizhevsky et al. 2012).

    Raises ValueError for less than three dimensions.
    """
    shape = input.array.shape
    if len(shape) < 3:
        gap = " " * 25
        raise shape_error(f"Expected 3D or higher dimensionality {gap}input (got {len(shape)} dimensions)", "ValueError")
    if not input.array.size:
        return input
    squares = input * input
    before, after = calculated(size, "//", 2), calculated(calculated(size, "-", 1), "//", 2)
    if len(shape) == 3:
        padded = pad(unsqueeze(squares, 1), (0, 0, before, after))
        means = squeeze_dim(catalog.function("nn.functional.avg_pool2d")(padded, (size, 1), 1), 1)
    else:
        padded = pad(view(squares, (shape[0], 1, shape[1], shape[2], -1)), (0, 0, 0, 0, before, after))
        means = view(squeeze_dim(catalog.function("nn.functional.avg_pool3d")(padded, (size, 1, 1), 1), 1), shape)
    return input / catalog.method("pow").method(means * alpha + k, (beta,), {})


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """The input divided by its p-norm along a dimension, which counts as `eps` at least."""
    norm = catalog.method("norm").method(with_method(input, "norm"), (p, dim), {"keepdim": True})
    if out is None:
        return input / expand(catalog.method("clamp_min").method(norm, (eps,), {}), input.array.shape)
    return catalog.function("div")(input, expand(catalog.method("clamp_min_").method(norm, (eps,), {}), input.array.shape), out=out)


_SIGNATURE = "Tensor input, ints normalized_shape, Tensor? weight=None, float? eps=None"
FUNCTIONS: tuple[Function, ...] = (
    Function(
        "rms_norm",
        (_SIGNATURE, rms_norm),
        doc="Divided by the root of the mean square over the last dimensions.",
        samples=(
            Sample("F.rms_norm(x, (3,), w)", None, x=CHANNELS, w=FACTORS_3),
            Sample("F.rms_norm(x, (2, 3), eps=0.1)", None, x=CHANNELS),
        ),
        method=False,
    ),
    Function(
        "rms_norm",
        (_SIGNATURE, rms_norm),
        doc="Divided by the root of the mean square over the last dimensions.",
        namespace="torch.nn.functional",
        method=False,
        python="rms_norm",
    ),
    PythonFunction(
        local_response_norm,
        "local_response_norm",
        "Divided by a power of the mean square over neighbouring channels.",
        samples=(Sample("F.local_response_norm(x, 2, 0.5)", None, x=CHANNELS),),
        reads="dim",
    ),
    PythonFunction(
        normalize,
        "normalize",
        "Divided by the norm along a dimension.",
        unchecked=True,
        samples=(
            Sample("F.normalize(x)", lambda x: x / np.linalg.norm(x, axis=1, keepdims=True), x=ROWS),
            Sample("F.normalize(x, 3, 0)", lambda x: x / np.linalg.norm(x, 3, axis=0), x=ROWS),
        ),
    ),
)
