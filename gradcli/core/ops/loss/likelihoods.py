"""The Kullback-Leibler divergence, and negative log likelihoods of Poisson and normal distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.type_errors import not_ordered
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.clone import CLONE
from gradcli.core.graph.namespaces import traced
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.exponential import EXP, LOG, xlogy
from gradcli.core.ops.index.masked import masked_fill
from gradcli.core.ops.loss.loss_reduction import checked_reduction, legacy_reduction, reduced, reduction_number, reduction_word, under_torch
from gradcli.core.ops.loss.samples import PROBABILITIES, SCORES, SQUARE, SQUARE_2, TARGETS
from gradcli.core.ops.operators import is_true
from gradcli.core.ops.shape.squeeze import unsqueeze
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def kl_div(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False
) -> Any:
    """The divergence of the target from `exp(input)`; with `log_target` the target is a logarithm too.

    Raises ValueError for an unknown reduction, RuntimeError for a dtype that is not floating.
    """
    legacy = size_average is not None or reduce is not None
    given = reduction
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction == "mean" and not legacy:
        warnings.emit(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release."
        )
    by_batch = given == "batchmean"  # PyTorch looks at this even where the deprecated arguments are given
    number = reduction_number(None, None, "sum" if by_batch and not legacy else reduction)
    made = catalog.function("kl_div")(input, target, number, log_target=log_target)
    return made / input.array.shape[0] if by_batch and input.array.ndim else made


def _divergence(input: Tensor, target: Tensor, log_target: bool) -> Any:
    if input.dtype.is_complex or target.dtype.is_complex:
        raise runtime_error("kl_div: Complex inputs not supported.")
    if not (input.dtype.is_floating_point and target.dtype.is_floating_point):
        raise runtime_error("kl_div: Integral inputs not supported.")
    # the right factor comes first, as in PyTorch, because this order decides how the gradients of the target are added up
    if log_target:
        difference = target - input
        return EXP(target) * difference
    product = target * input
    return xlogy(target, target) - product


def _kl_div_under_torch(input: Tensor, target: Tensor, reduction: int, log_target: bool) -> Any:
    """The form of C++, which does not warn."""
    return reduced(_divergence(input, target, log_target), reduction_word(reduction))


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
    """The negative log likelihood of counts; `full` adds Stirling's approximation of log(target!).

    `log_input` says that the input is the logarithm of the rate. Raises ValueError for an unknown reduction.
    """
    reduction = checked_reduction(legacy_reduction(size_average, reduce, reduction), joined=True)
    number = reduction_number(None, None, reduction)
    return catalog.function("poisson_nll_loss")(input, target, log_input, full, eps, number)


def _poisson(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: str) -> Any:
    # PyTorch computes the right operand first, which decides how the gradient of the input is added up
    product = target * (input if log_input else LOG(scalars.plus(traced, input, eps)))
    loss = (EXP(input) if log_input else input) - product
    if full:
        half_log = scalars.times(traced, LOG(scalars.times(traced, target, 2 * math.pi)), 0.5)
        stirling = masked_fill(target * LOG(target) - target + half_log, target <= 1, 0.0)
        loss = catalog.method("add_").method(loss, (stirling,), {})
    return reduced(loss, reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Any:
    """The negative log likelihood of normal distributions with the variances `var`, which count as `eps` at least.

    `full` adds log(2 * pi) / 2. Raises ValueError for an unknown reduction and for variances that do not fit.
    """
    var = _variance(input, var)
    checked_reduction(reduction, " is not valid", joined=True)
    held = CLONE(var)
    with recording(False):
        catalog.method("clamp_").method(held, (), {"min": eps})
    loss = 0.5 * (LOG(held) + (input - target) ** 2 / held)
    if is_true(full):
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def _variance(input: Tensor, var: Any) -> Tensor:
    """The variance as a tensor that broadcasts to the input. Raises ValueError for other shapes and negative numbers, or TypeError."""
    if type(var) is not Tensor:
        if not isinstance(var, (int, float)):
            raise not_ordered("<", var, 0)
        if not isinstance(var, float):
            catalog.function("any")(var < 0)  # raises the error of its argument: PyTorch tells only floats from tensors
        if var < 0:
            raise ProgramError("ValueError", "var has negative entry/entries")
        return var * catalog.function("ones_like")(input)  # type: ignore[no-any-return]
    if var.dtype.is_complex:
        raise not_implemented("lt_cpu", var.dtype)
    if (var.array < 0).any():
        raise ProgramError("ValueError", "var has negative entry/entries")
    wanted, shape = input.array.shape, var.array.shape
    if shape == wanted:
        return var
    if wanted[:-1] == shape:
        return unsqueeze(var, -1)
    if len(wanted) == len(shape) and sum(m for n, m in zip(wanted, shape, strict=True) if n != m) == 1:
        return var
    raise shape_error("var is of incorrect size", "ValueError")


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        kl_div,
        "kl_div",
        "Kullback-Leibler divergence from log probabilities.",
        unchecked=True,
        samples=(
            Sample("F.kl_div(p, tensor([0.2, 0.5, 0.3]), reduction='sum')", None, p=SCORES),
            Sample("F.kl_div(p, t, reduction='batchmean', log_target=True)", None, p=SCORES, t=PROBABILITIES),
            Sample("F.kl_div(p, t, reduction='none')", lambda p, t: t * (np.log(t) - p), p=SCORES, t=PROBABILITIES),
        ),
    ),
    PythonFunction(
        poisson_nll_loss,
        "poisson_nll_loss",
        "Negative log likelihood of counts.",
        unchecked=True,
        samples=(
            Sample("F.poisson_nll_loss(p, t)", lambda p, t: np.mean(np.exp(p) - t * p), p=SCORES, t=PROBABILITIES),
            Sample("F.poisson_nll_loss(p, t, full=True, reduction='sum')", None, p=[0.5, -1.0, 2.0], t=[0.5, 3.0, 4.0]),
            Sample("F.poisson_nll_loss(p, t, False)", lambda p, t: np.mean(p - t * np.log(p + 1e-8)), p=PROBABILITIES, t=TARGETS),
        ),
    ),
    PythonFunction(
        gaussian_nll_loss,
        "gaussian_nll_loss",
        "Negative log likelihood of normal distributions.",
        samples=(
            Sample(
                "F.gaussian_nll_loss(p, t, v)",
                lambda p, t, v: np.mean(0.5 * (np.log(v) + (p - t) ** 2 / v)),
                p=SCORES,
                t=PROBABILITIES,
                v=PROBABILITIES,
            ),
            Sample("F.gaussian_nll_loss(p, t, v, full=True, reduction='sum')", None, p=SCORES, t=TARGETS, v=[[0.5], [2.0]]),
        ),
    ),
    Function(
        "kl_div",
        ("Tensor input, Tensor target, int reduction=0, *, bool log_target=False", _kl_div_under_torch),
        doc="The divergence of target from exp(input).",
        samples=(Sample("torch.kl_div(x, y, 1)", None, x=SQUARE, y=SQUARE_2),),
        method=False,
    ),
    under_torch(
        "poisson_nll_loss",
        _poisson,
        "Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction",
        "The negative logarithm of Poisson's likelihood.",
        Sample("torch.poisson_nll_loss(x, y, True, False, 1e-8, 1)", None, x=SQUARE, y=SQUARE_2),
    ),
)
