"""The cross entropy of a linear map of the input."""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.ops.checks import with_method
from gradcli.core.ops.layers.linear import linear
from gradcli.core.ops.loss.cross_entropy import cross_entropy
from gradcli.core.ops.loss.samples import SCORES
from gradcli.core.ops.shape.views import reshape
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`; the weight may have dimensions after that of the classes.

    Raises RuntimeError for shapes that do not fit.
    """
    if options is not None:
        raise ProgramError("NotImplementedError", "options of linear_cross_entropy are not part of gradcli")
    shape = with_method(input, "dim").array.shape
    if len(shape) not in (1, 2):
        raise shape_error(f"expected input with dimensionality 1 or 2, got {len(shape)}")
    outer = with_method(linear_weight, "dim").array.shape
    if len(outer) < 2:
        raise shape_error(f"expected linear_weight with dimensionality at least 2, got {len(outer)}")
    if shape[-1] != outer[-1]:
        wanted = f"got {shape[-1]} and {outer[-1]}, respectively"
        raise shape_error(f"expected equal input and linear_weight last dimensions (in_features), {wanted}")
    classes, features = outer[0], outer[1:-1]
    if linear_bias is not None and linear_bias.array.shape != outer[:-1]:
        raise shape_error(f"expected linear_bias shape {outer[:-1]}, got {tuple(linear_bias.array.shape)}")
    if features and len(shape) == 1:
        wanted = f"requires batched input, (N, {shape[-1]}), got unbatched input with shape {shape}"
        raise shape_error(f"K-dimensional loss defined by linear_weight shape {outer} {wanted}")
    scores = (*shape[:-1], classes, *features)
    if with_method(target, "shape").array.shape == scores and ignore_index is not None:
        raise runtime_error("ignore_index cannot be specified when target contains probabilities")
    if features:
        rows = math.prod(features, start=classes)
        linear_weight = reshape(linear_weight, (rows, shape[-1]))
        linear_bias = None if linear_bias is None else reshape(linear_bias, (rows,))
    logits = reshape(linear(input, linear_weight, linear_bias), scores)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(logits, target, weight, None, ignored, None, reduction, label_smoothing)


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        linear_cross_entropy,
        "linear_cross_entropy",
        "Cross entropy of a linear map of the input.",
        samples=(Sample("F.linear_cross_entropy(p, w, tensor([1, 0]))", None, p=SCORES, w=[[0.5, -1.0, 0.25], [1.5, 0.3, -0.7]]),),
        unchecked=True,
    ),
)
