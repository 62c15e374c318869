"""Losses of pairs and triplets of embeddings, by their distances or cosines and a margin.

All raise ValueError for an unknown reduction.
"""

from __future__ import annotations

from typing import Any

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.namespaces import traced
from gradcli.core.kernels import memory_format
from gradcli.core.ops.checks import with_method
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import sub
from gradcli.core.ops.elementwise.exponential import SQRT
from gradcli.core.ops.elementwise.where import where
from gradcli.core.ops.linalg.distances import pairwise_distance
from gradcli.core.ops.loss.loss_reduction import checked_reduction, reduced, reduction_number, under_torch
from gradcli.core.ops.loss.samples import PROBABILITIES, SCORES, SQUARE, SQUARE_2
from gradcli.core.ops.operators import ordered
from gradcli.core.ops.reduce.sum_mean import sum as sum_along
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, shape_error


def _positive_part(x: Any) -> Any:
    return catalog.function("clamp_min")(x, 0)


def _smaller(x: Any, y: Any) -> Any:
    return catalog.function("minimum")(x, y)


def _zeros_like(x: Tensor) -> Tensor:
    return _full_like(x, 0)


def _full_like(x: Tensor, value: float) -> Tensor:
    made = memory_format.empty_like(x.array)
    made.fill(scalar_of(value, x.dtype))
    return Tensor(dtypes.stored(made, x.dtype), x.dtype)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    number = reduction_number(size_average, reduce, reduction)
    return catalog.function("hinge_embedding_loss")(input, target, margin, number)


def _hinge(input: Tensor, target: Tensor, margin: float, reduction: str) -> Any:
    # PyTorch's C++ takes the margin in the dtype of the input
    near = _positive_part(sub(_full_like(input, margin), input))
    zero = _zeros_like(input)
    return reduced(where(target != 1, near, zero) + where(target != -1, input, zero), reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """max(0, -target * (input1 - input2) + margin). Raises RuntimeError for ranks that differ."""
    number = reduction_number(size_average, reduce, reduction)
    if with_method(input1, "dim").array.ndim != with_method(input2, "dim").array.ndim or (
        input1.array.ndim != with_method(target, "dim").array.ndim
    ):
        raise shape_error(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {with_method(input1, 'size').shape}, input2: {with_method(input2, 'size').shape}, "
            f"target: {with_method(target, 'size').shape} ",
        )
    return catalog.function("margin_ranking_loss")(input1, input2, target, margin, number)


def _ranking(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str) -> Any:
    """`torch.margin_ranking_loss`, which takes tensors of any ranks that broadcast."""
    difference = input1 - input2  # first, as in PyTorch, whose error is that of the difference
    short = scalars.plus(traced, -target * difference, float(margin))
    return reduced(catalog.method("clamp_min_").method(short, (0,), {}), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
    number = reduction_number(size_average, reduce, reduction)
    return catalog.function("cosine_embedding_loss")(input1, input2, target, margin, number)


def _cosine(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str) -> Any:
    dim, sizes = target.array.ndim, [list(t.array.shape) for t in (input1, input2)]
    if dim > 1:
        raise shape_error("0D or 1D target tensor expected, multi-target not supported")
    if {len(size) for size in sizes} != {dim + 1}:
        raise shape_error(f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes {sizes[0]} and {sizes[1]}.")
    product, first, second = (sum_along(a * b, (dim,)) for a, b in ((input1, input2), (input1, input1), (input2, input2)))
    scale = SQRT(scalars.plus(traced, first, 1e-12) * scalars.plus(traced, second, 1e-12))
    cosine = product / scale
    zero = _zeros_like(cosine)
    far, near = scalars.from_number(traced, 1, cosine), _positive_part(scalars.minus(traced, cosine, margin))
    return reduced(where(target == 1, far, zero) + where(target == -1, near, zero), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """max(0, distance to the positive + margin - distance to the negative), with p-norms as distances.

    With `swap` the negative is as far as the nearer of anchor and positive. Raises ValueError unless the margin is positive.
    """
    number = reduction_number(size_average, reduce, reduction)
    _check_margin(margin)
    return catalog.function("triplet_margin_loss")(anchor, positive, negative, margin, p, eps, swap, number)


def _check_margin(margin: Any) -> None:
    if ordered(margin, "<=", 0):
        raise ProgramError("ValueError", f"margin must be greater than 0, got {formatted(margin)}")


def _triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool, reduction: str) -> Any:
    """`torch.triplet_margin_loss`, which takes any margin."""
    _check_triplet(anchor, positive, negative)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = _smaller(far, pairwise_distance(positive, negative, p, eps))
    return reduced(_positive_part(scalars.plus(traced, near, margin) - far), reduction)


def _check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    """Raise RuntimeError for ranks that differ."""
    ranks = [t.array.ndim for t in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise shape_error(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs"
        )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Any = None,
    margin: Any = 1.0,
    swap: Any = False,
    reduction: Any = "mean",
) -> Any:
    """`triplet_margin_loss` with a distance that is given as a function.

    Raises ValueError unless the margin is positive, RuntimeError for ranks that differ.
    """
    checked_reduction(reduction)
    _check_margin(margin)
    for tensor in (anchor, positive, negative):
        with_method(tensor, "ndim")
    distance = distance_function or pairwise_distance
    _check_triplet(anchor, positive, negative)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _smaller(far, distance(positive, negative))
    return reduced(_positive_part(margin + near - far), reduction)


_SIDES = "tensor([[1., -1.], [-1., 1.]])"
_TRIPLET = {"x": [[0.5, -1.0, 2.0], [1.5, 0.25, -0.6]], "y": [[0.1, 0.9, -0.4], [0.3, 0.2, 0.8]], "z": [[-0.7, 0.4, 0.6], [1.1, -0.9, 0.2]]}

FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        hinge_embedding_loss,
        "hinge_embedding_loss",
        "Distances against a margin for targets 1 and -1.",
        unchecked=True,
        samples=(
            Sample("F.hinge_embedding_loss(p, tensor([1., -1., 1.]))", None, p=SCORES),
            Sample("F.hinge_embedding_loss(p, tensor([1., -1., 1.]), 0.7, reduction='none')", None, p=SCORES),
        ),
    ),
    PythonFunction(
        margin_ranking_loss,
        "margin_ranking_loss",
        "Order of two inputs against a margin.",
        unchecked=True,
        samples=(Sample("F.margin_ranking_loss(p, t, tensor([[1., -1., 1.]]), margin=0.45)", None, p=SCORES, t=PROBABILITIES),),
    ),
    PythonFunction(
        cosine_embedding_loss,
        "cosine_embedding_loss",
        "Cosines of pairs of rows for targets 1 and -1.",
        unchecked=True,
        samples=(
            Sample("F.cosine_embedding_loss(p, t, tensor([1., -1.]))", None, p=SCORES, t=PROBABILITIES),
            Sample("F.cosine_embedding_loss(p, t, tensor([-1., 1.]), -0.5, reduction='sum')", None, p=SCORES, t=PROBABILITIES),
        ),
    ),
    PythonFunction(
        triplet_margin_loss,
        "triplet_margin_loss",
        "Distances to a positive and a negative against a margin.",
        unchecked=True,
        samples=(
            Sample("F.triplet_margin_loss(p, t, 2 * t)", None, p=SCORES, t=PROBABILITIES),
            Sample("F.triplet_margin_loss(p, t, 2 * t, 0.8, p=3, swap=True)", None, p=SCORES, t=PROBABILITIES),
        ),
    ),
    PythonFunction(
        triplet_margin_with_distance_loss,
        "triplet_margin_with_distance_loss",
        "How much nearer the positive is than the negative, by a distance of one's own.",
        unchecked=True,
        samples=(
            Sample("F.triplet_margin_with_distance_loss(x, y, z)", None, **_TRIPLET),
            Sample(
                "F.triplet_margin_with_distance_loss(x, y, z, distance_function=lambda a, b: (a - b).square().sum(1), swap=True)",
                None,
                **_TRIPLET,
            ),
        ),
    ),
    under_torch(
        "cosine_embedding_loss",
        _cosine,
        "Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=0",
        "1 - cosine similarity where target is 1, the similarity above a margin where it is -1.",
        Sample("torch.cosine_embedding_loss(x, y, tensor([1., -1.]), 0., 1)", None, x=SQUARE, y=SQUARE_2),
    ),
    under_torch(
        "hinge_embedding_loss",
        _hinge,
        "Tensor input, Tensor target, float margin=1.0, int reduction=0",
        "input where target is 1, margin - input if positive where it is -1.",
        Sample(f"torch.hinge_embedding_loss(x * y, {_SIDES}, 1.7, 2)", None, x=SQUARE, y=SQUARE_2),
    ),
    under_torch(
        "margin_ranking_loss",
        _ranking,
        "Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=0",
        "How far the two inputs are from being ordered as target says.",
        Sample(f"torch.margin_ranking_loss(x, y, {_SIDES}, 0.1)", None, x=SQUARE, y=SQUARE_2),
    ),
    under_torch(
        "triplet_margin_loss",
        _triplet,
        "Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool swap=False, int reduction=0",
        "How much further the negative must be from the anchor than the positive.",
        Sample("torch.triplet_margin_loss(x, y, x * y, 5.)", None, x=SQUARE, y=SQUARE_2),
    ),
)
