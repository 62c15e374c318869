"""Losses as modules: the function of the same name with its settings kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.calling.script_types import Attributes
from gradcli.core.calling.signature import hooks
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module, module_type
from gradcli.core.ops.loss.loss_reduction import legacy_reduction
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


class Loss(Module):
    """What they share: `FUNCTION` under torch.nn.functional, called with the fields of `SETTINGS`."""

    FUNCTION = ""
    SETTINGS = ""

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = legacy_reduction(size_average, reduce, reduction)

    def hold(self, name: str, value: Any) -> None:
        """Keep a tensor as a buffer, which `state_dict` has. TypeError for what is none."""
        if value is not None and type(value) is not Tensor:
            kind = hooks.type_name(value)
            raise ProgramError("TypeError", f"cannot assign '{kind}' object to buffer '{name}' (torch Tensor or None required)")
        self.own_buffers[name] = value

    def compute(self, *tensors: Any) -> Any:
        """The loss of the tensors given."""
        fields = vars(self)
        settings = {name: fields[name] for name in self.SETTINGS.split()}
        return catalog.function(f"nn.functional.{self.FUNCTION}")(*tensors, **settings, **self.own_buffers, reduction=self.reduction)

    def forward(self, input: Any, target: Any) -> Any:
        return self.compute(input, target)

    def extra(self) -> str:
        return ""


def _buffer(name: str) -> Callable[[Any], Any]:
    return lambda module: module.own_buffers[name]


def _tables(settings: str, buffers: str = "") -> dict[str, Callable[[Any], Any]]:
    return Module.SCRIPT_ATTRIBUTES | Attributes.read(f"reduction {settings}") | {name: _buffer(name) for name in buffers.split()}


class MSELoss(Loss):
    """`F.mse_loss`."""

    SCRIPT_NAME = "MSELoss"
    FUNCTION = "mse_loss"
    SCRIPT_ATTRIBUTES = _tables("")


class L1Loss(Loss):
    """`F.l1_loss`."""

    SCRIPT_NAME = "L1Loss"
    FUNCTION = "l1_loss"
    SCRIPT_ATTRIBUTES = _tables("")


class SmoothL1Loss(Loss):
    """`F.smooth_l1_loss`."""

    SCRIPT_NAME = "SmoothL1Loss"
    FUNCTION = "smooth_l1_loss"
    SETTINGS = "beta"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: Any = "mean", beta: Any = 1.0) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(Loss):
    """`F.huber_loss`."""

    SCRIPT_NAME = "HuberLoss"
    FUNCTION = "huber_loss"
    SETTINGS = "delta"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, reduction: Any = "mean", delta: Any = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta


class CrossEntropyLoss(Loss):
    """`F.cross_entropy`."""

    SCRIPT_NAME = "CrossEntropyLoss"
    FUNCTION = "cross_entropy"
    SETTINGS = "ignore_index label_smoothing"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS, "weight")

    def __init__(
        self,
        weight: Any = None,
        size_average: Any = None,
        ignore_index: Any = -100,
        reduce: Any = None,
        reduction: Any = "mean",
        label_smoothing: Any = 0.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.hold("weight", weight)


class NLLLoss(Loss):
    """`F.nll_loss`."""

    SCRIPT_NAME = "NLLLoss"
    FUNCTION = "nll_loss"
    SETTINGS = "ignore_index"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS, "weight")

    def __init__(
        self,
        weight: Any = None,
        size_average: Any = None,
        ignore_index: Any = -100,
        reduce: Any = None,
        reduction: Any = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.hold("weight", weight)


class BCELoss(Loss):
    """`F.binary_cross_entropy`."""

    SCRIPT_NAME = "BCELoss"
    FUNCTION = "binary_cross_entropy"
    SCRIPT_ATTRIBUTES = _tables("", "weight")

    def __init__(self, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: Any = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.hold("weight", weight)


class BCEWithLogitsLoss(Loss):
    """`F.binary_cross_entropy_with_logits`."""

    SCRIPT_NAME = "BCEWithLogitsLoss"
    FUNCTION = "binary_cross_entropy_with_logits"
    SCRIPT_ATTRIBUTES = _tables("", "weight pos_weight")

    def __init__(
        self,
        weight: Any = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: Any = "mean",
        pos_weight: Any = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.hold("weight", weight)
        self.hold("pos_weight", pos_weight)


class KLDivLoss(Loss):
    """`F.kl_div`."""

    SCRIPT_NAME = "KLDivLoss"
    FUNCTION = "kl_div"
    SETTINGS = "log_target"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: Any = "mean", log_target: Any = False) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


class PoissonNLLLoss(Loss):
    """`F.poisson_nll_loss`."""

    SCRIPT_NAME = "PoissonNLLLoss"
    FUNCTION = "poisson_nll_loss"
    SETTINGS = "log_input full eps"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(
        self,
        log_input: Any = True,
        full: Any = False,
        size_average: Any = None,
        eps: Any = 1e-8,
        reduce: Any = None,
        reduction: Any = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Any, target: Any) -> Any:
        return self.compute(log_input, target)


class GaussianNLLLoss(Loss):
    """`F.gaussian_nll_loss`."""

    SCRIPT_NAME = "GaussianNLLLoss"
    FUNCTION = "gaussian_nll_loss"
    SETTINGS = "full eps"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, *, full: Any = False, eps: Any = 1e-6, reduction: Any = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Any, target: Any, var: Any) -> Any:  # type: ignore[override]
        return self.compute(input, target, var)


class HingeEmbeddingLoss(Loss):
    """`F.hinge_embedding_loss`."""

    SCRIPT_NAME = "HingeEmbeddingLoss"
    FUNCTION = "hinge_embedding_loss"
    SETTINGS = "margin"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, margin: Any = 1.0, size_average: Any = None, reduce: Any = None, reduction: Any = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class MarginRankingLoss(Loss):
    """`F.margin_ranking_loss`."""

    SCRIPT_NAME = "MarginRankingLoss"
    FUNCTION = "margin_ranking_loss"
    SETTINGS = "margin"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, margin: Any = 0.0, size_average: Any = None, reduce: Any = None, reduction: Any = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:  # type: ignore[override]
        return self.compute(input1, input2, target)


class CosineEmbeddingLoss(Loss):
    """`F.cosine_embedding_loss`."""

    SCRIPT_NAME = "CosineEmbeddingLoss"
    FUNCTION = "cosine_embedding_loss"
    SETTINGS = "margin"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, margin: Any = 0.0, size_average: Any = None, reduce: Any = None, reduction: Any = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:  # type: ignore[override]
        return self.compute(input1, input2, target)


class SoftMarginLoss(Loss):
    """`F.soft_margin_loss`."""

    SCRIPT_NAME = "SoftMarginLoss"
    FUNCTION = "soft_margin_loss"
    SCRIPT_ATTRIBUTES = _tables("")


class TripletMarginLoss(Loss):
    """`F.triplet_margin_loss`."""

    SCRIPT_NAME = "TripletMarginLoss"
    FUNCTION = "triplet_margin_loss"
    SETTINGS = "margin p eps swap"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(
        self,
        margin: Any = 1.0,
        p: Any = 2.0,
        eps: Any = 1e-6,
        swap: Any = False,
        size_average: Any = None,
        reduce: Any = None,
        reduction: Any = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:  # type: ignore[override]
        return self.compute(anchor, positive, negative)


MSELOSS_TYPE = module_type(MSELoss, "loss")
L1LOSS_TYPE = module_type(L1Loss, "loss")
SMOOTHL1LOSS_TYPE = module_type(SmoothL1Loss, "loss")
HUBERLOSS_TYPE = module_type(HuberLoss, "loss")
CROSSENTROPYLOSS_TYPE = module_type(CrossEntropyLoss, "loss")
NLLLOSS_TYPE = module_type(NLLLoss, "loss")
BCELOSS_TYPE = module_type(BCELoss, "loss")
BCEWITHLOGITSLOSS_TYPE = module_type(BCEWithLogitsLoss, "loss")
KLDIVLOSS_TYPE = module_type(KLDivLoss, "loss")
POISSONNLLLOSS_TYPE = module_type(PoissonNLLLoss, "loss")
GAUSSIANNLLLOSS_TYPE = module_type(GaussianNLLLoss, "loss")
HINGEEMBEDDINGLOSS_TYPE = module_type(HingeEmbeddingLoss, "loss")
MARGINRANKINGLOSS_TYPE = module_type(MarginRankingLoss, "loss")
COSINEEMBEDDINGLOSS_TYPE = module_type(CosineEmbeddingLoss, "loss")
SOFTMARGINLOSS_TYPE = module_type(SoftMarginLoss, "loss")
TRIPLETMARGINLOSS_TYPE = module_type(TripletMarginLoss, "loss")
