"""torch.distributions.utils: what distributions do with parameters before they keep them."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.distributions.functions import between_0_and_1, f, f_nn, together
from gradcli.core.tensor.tensor import Tensor


def _checked(value: Any, name: str) -> Tensor:
    """The value, if it is a tensor; else the AttributeError for what is asked of it first."""
    if type(value) is not Tensor:
        raise no_attribute(value, name)
    return value


@Routine
def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors broadcast to one shape. ValueError for other values."""
    return together(*values)


@Routine
def clamp_probs(probs: Any) -> Tensor:
    """Probabilities kept away from 0 and 1 by the dtype's precision."""
    return between_0_and_1(_checked(probs, "dtype"))


@Routine
def probs_to_logits(probs: Any, is_binary: Any = False) -> Tensor:
    """The logarithms of probabilities, or the logits of those of single events."""
    kept = between_0_and_1(_checked(probs, "dtype"))
    return f.log(kept) - f.log1p(-kept) if is_binary else f.log(kept)


@Routine
def logits_to_probs(logits: Any, is_binary: Any = False) -> Tensor:
    """The probabilities of logits: their softmax, or the sigmoid for those of single events."""
    return f.sigmoid(logits) if is_binary else f_nn("softmax", logits, dim=-1)
