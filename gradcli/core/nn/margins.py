"""Losses of margins as modules: the function of the same name with its settings kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.calling.script_types import Attributes
from gradcli.core.nn.distances import PairwiseDistance
from gradcli.core.nn.losses import Loss
from gradcli.core.nn.module import Module, module_type
from gradcli.core.ops.loss.embedding_losses import triplet_margin_with_distance_loss
from gradcli.errors import ProgramError


def _weight(module: Any) -> Any:
    return module.own_buffers["weight"]


def _tables(settings: str = "") -> dict[str, Callable[[Any], Any]]:
    return Module.SCRIPT_ATTRIBUTES | Attributes.read(f"reduction {settings}")


class MultiMarginLoss(Loss):
    """`F.multi_margin_loss`."""

    SCRIPT_NAME = "MultiMarginLoss"
    FUNCTION = "multi_margin_loss"
    SETTINGS = "p margin"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS) | {"weight": _weight}

    def __init__(
        self, p: Any = 1, margin: Any = 1.0, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: Any = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if p not in (1, 2):
            raise ProgramError("ValueError", "only p == 1 and p == 2 supported")
        self.p = p
        self.margin = margin
        self.hold("weight", weight)


class MultiLabelMarginLoss(Loss):
    """`F.multilabel_margin_loss`."""

    SCRIPT_NAME = "MultiLabelMarginLoss"
    FUNCTION = "multilabel_margin_loss"
    SCRIPT_ATTRIBUTES = _tables()


class MultiLabelSoftMarginLoss(Loss):
    """`F.multilabel_soft_margin_loss`."""

    SCRIPT_NAME = "MultiLabelSoftMarginLoss"
    FUNCTION = "multilabel_soft_margin_loss"
    SCRIPT_ATTRIBUTES = _tables() | {"weight": _weight}

    def __init__(self, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: Any = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.hold("weight", weight)


class TripletMarginWithDistanceLoss(Loss):
    """`F.triplet_margin_with_distance_loss`; a distance that is a module belongs to it."""

    SCRIPT_NAME = "TripletMarginWithDistanceLoss"
    SCRIPT_ATTRIBUTES = _tables("margin swap distance_function")

    def __init__(self, *, distance_function: Any = None, margin: Any = 1.0, swap: Any = False, reduction: Any = "mean") -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ProgramError("ValueError", f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        if isinstance(self.distance_function, Module):
            self.children_by_name["distance_function"] = self.distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:  # type: ignore[override]
        return triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


MULTIMARGINLOSS_TYPE = module_type(MultiMarginLoss, "loss")
MULTILABELMARGINLOSS_TYPE = module_type(MultiLabelMarginLoss, "loss")
MULTILABELSOFTMARGINLOSS_TYPE = module_type(MultiLabelSoftMarginLoss, "loss")
TRIPLETMARGINWITHDISTANCELOSS_TYPE = module_type(TripletMarginWithDistanceLoss, "loss")
