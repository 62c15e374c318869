"""Losses that PyTorch composes of other operations: divergences, likelihoods and margins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.namespaces import traced
from gradcli.core.kernels import elementary
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.loss.reduction_argument import checked_reduction, legacy_reduction
from gradcli.core.ops.loss.reduction_argument import reduce as reduced
from gradcli.core.ops.reduce.norms import NORM
from gradcli.core.tensor.node import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def _call(name: str, *args: Any) -> Any:
    return catalog.function(name)(*args)


def _at_least_zero(x: Any) -> Any:
    return _call("clamp_min", x, 0)


def _xlogx(target: Tensor) -> Any:
    """`target * log(target)`, 0 at 0."""
    if target.requires_grad or state.dual is not None:
        return _call("xlogy", target, target)
    values = target.array
    return Tensor(np.where(values == 0, values, values * elementary.log(values)).astype(values.dtype), target.dtype)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """Kullback-Leibler divergence of the target from `exp(input)`."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.emit(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release."
        )
    checked_reduction(reduction, ("batchmean",))
    if not (input.dtype.is_floating_point and target.dtype.is_floating_point):
        raise ProgramError("RuntimeError", "kl_div: Integral inputs not supported.")
    # the factor on the right first, as PyTorch's compiler has it: the order decides in which the gradients of target are added
    if log_target:
        difference = target - input
        values = _call("exp", target) * difference
    else:
        product = target * input
        values = _xlogx(target) - product
    if reduction == "batchmean":
        added = reduced(values, "sum")
        return added / input.array.shape[0] if input.array.ndim else added
    return reduced(values, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Negative log likelihood of counts; `full` adds Stirling's approximation of log(target!)."""
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    rate, log = (_call("exp", input), input) if log_input else (input, _call("log", scalars.plus(traced, input, eps)))
    loss = rate - target * log
    if full:
        counts = target.array
        stirling = counts * elementary.log(counts) - counts + 0.5 * elementary.log(2 * math.pi * counts)
        loss = loss + Tensor(np.where(counts <= 1, 0, stirling).astype(counts.dtype), target.dtype)
    return reduced(loss, reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Any:
    """Negative log likelihood of normal distributions with the given variances."""
    var = _variance(input, var)
    if reduction not in ("none", "mean", "sum"):
        raise ProgramError("ValueError", f"{reduction} is not valid")
    if (var.array < 0).any():
        raise ProgramError("ValueError", "var has negative entry/entries")
    held = _call("clone", var)
    with recording(False):
        held.array[...] = np.maximum(held.array, held.array.dtype.type(eps))
        held.counter()
    loss = 0.5 * (_call("log", held) + (input - target) ** 2 / held)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def _variance(input: Tensor, var: Any) -> Tensor:
    """The variance as a tensor that broadcasts to the input."""
    if type(var) is not Tensor:
        if not isinstance(var, (int, float)):
            raise ProgramError("ValueError", "var is of incorrect size")
        if var < 0:
            raise ProgramError("ValueError", "var has negative entry/entries")
        return Tensor(np.full(input.array.shape, var, input.dtype.np), input.dtype)
    wanted, shape = input.array.shape, var.array.shape
    if shape == wanted:
        return var
    if wanted[:-1] == shape:
        made: Tensor = _call("unsqueeze", var, -1)
        return made
    if wanted[:-1] == shape[:-1] and shape and shape[-1] == 1:
        return var
    raise ProgramError("ValueError", "var is of incorrect size")


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The input where the target is 1, what it lacks of the margin where the target is -1."""
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    near = _at_least_zero(scalars.from_number(traced, margin, input))
    zero = Tensor(np.zeros_like(input.array), input.dtype)
    return reduced(_call("where", target != 1, near, zero) + _call("where", target != -1, input, zero), reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """What the target's order of two inputs lacks of the margin."""
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    if not input1.array.ndim == input2.array.ndim == target.array.ndim:
        raise ProgramError(
            "RuntimeError",
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} ",
        )
    return reduced(_at_least_zero(scalars.plus(traced, -target * (input1 - input2), margin)), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """One minus the cosine where the target is 1, the cosine beyond the margin where it is -1."""
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    dim = target.array.ndim
    product, first, second = (_call("sum", a * b, (dim,)) for a, b in ((input1, input2), (input1, input1), (input2, input2)))
    scale = _call("sqrt", scalars.plus(traced, first, 1e-12) * scalars.plus(traced, second, 1e-12))
    cosine = product / scale
    zero = Tensor(np.zeros_like(cosine.array), cosine.dtype)
    far = _call("where", target == 1, scalars.from_number(traced, 1, cosine), zero)
    near = _call("where", target == -1, _at_least_zero(scalars.minus(traced, cosine, margin)), zero)
    return reduced(far + near, reduction)


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
    """How much nearer the positive is to the anchor than the negative, against the margin."""
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction))
    if margin <= 0:
        raise ProgramError("ValueError", f"margin must be greater than 0, got {margin}")
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = _call("minimum", far, pairwise_distance(positive, negative, p, eps))
    return reduced(_at_least_zero(scalars.plus(traced, near, margin) - far), reduction)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of the differences of rows; eps is added to each difference."""
    return NORM(scalars.plus(traced, x1 - x2, eps), float(p), (-1,), keepdim)


_P, _T = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], [[0.2, 0.5, 0.3], [0.25, 0.25, 0.5]]

FUNCTIONS = (
    PythonFunction(
        kl_div,
        "kl_div",
        "Kullback-Leibler divergence from log probabilities.",
        checked_as="kl_div",
        samples=(
            Sample("F.kl_div(p, tensor([0.2, 0.5, 0.3]), reduction='sum')", None, p=_P),
            Sample("F.kl_div(p, t, reduction='batchmean', log_target=True)", None, p=_P, t=_T),
        ),
    ),
    PythonFunction(
        poisson_nll_loss,
        "poisson_nll_loss",
        "Negative log likelihood of counts.",
        checked_as="poisson_nll_loss",
        samples=(Sample("F.poisson_nll_loss(p, t)", lambda p, t: np.mean(np.exp(p) - t * p), p=_P, t=_T),),
    ),
    PythonFunction(
        gaussian_nll_loss,
        "gaussian_nll_loss",
        "Negative log likelihood of normal distributions.",
        samples=(Sample("F.gaussian_nll_loss(p, t, v)", lambda p, t, v: np.mean(0.5 * (np.log(v) + (p - t) ** 2 / v)), p=_P, t=_T, v=_T),),
    ),
    PythonFunction(
        hinge_embedding_loss,
        "hinge_embedding_loss",
        "Distances against a margin for targets 1 and -1.",
        checked_as="hinge_embedding_loss",
        samples=(Sample("F.hinge_embedding_loss(p, tensor([1., -1., 1.]))", None, p=_P),),
    ),
    PythonFunction(
        margin_ranking_loss,
        "margin_ranking_loss",
        "Order of two inputs against a margin.",
        samples=(Sample("F.margin_ranking_loss(p, t, tensor([[1., -1., 1.]]), margin=0.45)", None, p=_P, t=_T),),
    ),
    PythonFunction(
        cosine_embedding_loss,
        "cosine_embedding_loss",
        "Cosines of pairs of rows for targets 1 and -1.",
        checked_as="cosine_embedding_loss",
        samples=(Sample("F.cosine_embedding_loss(p, t, tensor([1., -1.]))", None, p=_P, t=_T),),
    ),
    PythonFunction(
        triplet_margin_loss,
        "triplet_margin_loss",
        "Distances to a positive and a negative against a margin.",
        checked_as="triplet_margin_loss",
        samples=(Sample("F.triplet_margin_loss(p, t, 2 * t)", None, p=_P, t=_T),),
    ),
    PythonFunction(
        pairwise_distance,
        "pairwise_distance",
        "Distances of pairs of rows.",
        checked_as="pairwise_distance",
        ops=(NORM,),
        samples=(Sample("F.pairwise_distance(p, t)", lambda p, t: np.linalg.norm(p - t + 1e-6, axis=-1), p=_P, t=_T),),
    ),
)
