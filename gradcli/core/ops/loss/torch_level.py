"""Losses under `torch` itself, as its C++ has them: the reduction is a number, and 0 (none) by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.tensor.tensor import Tensor

_REDUCTIONS = {1: "mean", 2: "sum"}
#: parameters that torch.nn.functional has besides
_KEYWORDS = ("reduction", "margin", "p", "eps", "swap", "log_input", "full", "weight", "pos_weight", "keepdim")


def _names(signature: str) -> list[str]:
    return [part.split("=")[0].split()[-1] for part in signature.replace("*, ", "").split(", ")]


def _as_functional(name: str, signature: str) -> Callable[..., Any]:
    """Call the function of torch.nn.functional of that name, with the reduction as a word."""
    names = _names(signature)

    def run(*values: Any) -> Any:
        given = dict(zip(names, values, strict=True))
        if "reduction" in given:
            given["reduction"] = _REDUCTIONS.get(given["reduction"], "none")
        tensors = [given.pop(n) for n in names if n not in _KEYWORDS]
        return catalog.function(f"nn.functional.{name}")(*tensors, **given)

    return run


def _loss(name: str, signature: str, sample: str, doc: str) -> Function:
    return Function(name, (signature, _as_functional(name, signature)), doc=doc, samples=(Sample(sample, None, x=_X, y=_Y),), method=False)


def _kl_div(input: Tensor, target: Tensor, reduction: int, log_target: bool) -> Any:
    # without the warning of torch.nn.functional, which is Python's
    terms = catalog.function("nn.functional.kl_div")(input, target, reduction="none", log_target=log_target)
    return catalog.function(_REDUCTIONS[reduction])(terms) if reduction in _REDUCTIONS else terms


_X: Any = [[0.5, -1.5], [2.0, 0.25]]
_Y: Any = [[1.5, 0.75], [0.5, 2.0]]
_SIDES = "tensor([[1., -1.], [-1., 1.]])"


FUNCTIONS: tuple[Function, ...] = (
    _loss(
        "binary_cross_entropy_with_logits",
        "Tensor input, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=0",
        "torch.binary_cross_entropy_with_logits(x, y / 3)",
        "Cross entropy of logits with targets between 0 and 1.",
    ),
    _loss(
        "cosine_embedding_loss",
        "Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=0",
        "torch.cosine_embedding_loss(x, y, tensor([1., -1.]), 0., 1)",
        "1 - cosine similarity where target is 1, the similarity above a margin where it is -1.",
    ),
    _loss(
        "hinge_embedding_loss",
        "Tensor input, Tensor target, float margin=1.0, int reduction=0",
        f"torch.hinge_embedding_loss(x * y, {_SIDES}, 1.7, 2)",
        "input where target is 1, margin - input if positive where it is -1.",
    ),
    Function(
        "kl_div",
        ("Tensor input, Tensor target, int reduction=0, *, bool log_target=False", _kl_div),
        doc="The divergence of target from exp(input).",
        samples=(Sample("torch.kl_div(x, y, 1)", None, x=_X, y=_Y),),
        method=False,
    ),
    _loss(
        "margin_ranking_loss",
        "Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=0",
        f"torch.margin_ranking_loss(x, y, {_SIDES}, 0.1)",
        "How far the two inputs are from being ordered as target says.",
    ),
    _loss(
        "poisson_nll_loss",
        "Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction",
        "torch.poisson_nll_loss(x, y, True, False, 1e-8, 1)",
        "The negative logarithm of Poisson's likelihood.",
    ),
    _loss(
        "triplet_margin_loss",
        "Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool swap=False, int reduction=0",
        "torch.triplet_margin_loss(x, y, x * y, 5.)",
        "How much further the negative must be from the anchor than the positive.",
    ),
)
