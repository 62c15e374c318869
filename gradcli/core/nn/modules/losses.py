"""Losses, and distances between vectors: rows of classes that call the function of the same name."""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.signature import language
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module
from gradcli.core.nn.modules.function_modules import ClassTable, FunctionModule, row
from gradcli.core.nn.modules.linear import Linear
from gradcli.core.ops.loss.loss_reduction import legacy_reduction
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error


class Loss(FunctionModule):
    """A loss, whose function gets settings and buffers by keyword; arguments that have the name of a buffer become buffers."""

    PLACE = "loss"
    BY_KEYWORD = True
    NOT_KEPT = "size_average reduce"

    def keep(self, given: dict[str, Any]) -> None:
        reduction = legacy_reduction(given.get("size_average"), given.get("reduce"), given["reduction"])
        super().keep(given | {"reduction": reduction})
        for name in self.BUFFERS.split():
            value = given[name]
            if value is not None and type(value) is not Tensor:
                kind = language.type_name(value)
                raise ProgramError("TypeError", f"cannot assign '{kind}' object to buffer '{name}' (torch Tensor or None required)")
            self.own_buffers[name] = value

    def settings(self) -> dict[str, Any]:
        return super().settings() | {name: self.own_buffers[name] for name in self.BUFFERS.split()}

    call = FunctionModule.call_inside

    def forward(self, input: Any, target: Any) -> Any:  # type: ignore[override]
        return self.call(input, target)


class PairLoss(Loss):
    """A loss of two inputs and a target."""

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:  # type: ignore[override]
        return self.call(input1, input2, target)


class TripletLoss(Loss):
    """A loss of an anchor, a positive and a negative example. ValueError for a margin that is not above 0."""

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        margin = given["margin"]
        if margin <= 0:
            text = f"{self.SCRIPT_TYPE.name}: expected margin to be greater than 0, got {formatted(margin)} instead"
            raise ProgramError("ValueError", text)

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:  # type: ignore[override]
        return self.call(anchor, positive, negative)


class LengthsLoss(Loss):
    """A loss of sequences, whose lengths are given."""

    def forward(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:  # type: ignore[override]
        return self.call(log_probs, targets, input_lengths, target_lengths)


class LogInputLoss(Loss):
    """A loss whose input may be a logarithm."""

    def forward(self, log_input: Any, target: Any) -> Any:  # type: ignore[override]
        return self.call(log_input, target)


class VarianceLoss(Loss):
    """A loss of an input with its variance and a target."""

    def forward(self, input: Any, target: Any, var: Any) -> Any:  # type: ignore[override]
        return self.call(input, target, var)


class MarginLoss(Loss):
    """A loss whose `p` is 1 or 2. ValueError for another."""

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        if given["p"] not in (1, 2):
            raise ProgramError("ValueError", "only p == 1 and p == 2 supported")


class DeltaLoss(Loss):
    """A loss that has a delta. TypeError for one that is no number."""

    def keep(self, given: dict[str, Any]) -> None:
        if not isinstance(given["delta"], (float, int)):
            raise ProgramError("TypeError", f"delta must be a float or int, got: {language.type_repr(given['delta'])}")
        super().keep(given)


class Distance(FunctionModule):
    """A distance or similarity of two tensors."""

    PLACE = "distance"

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]
        return self.call(x1, x2)


_REDUCED = {"size_average": None, "reduce": None, "reduction": "mean"}
CLASSES = ClassTable(
    row(Loss, {"MSELoss": "F.mse_loss"}, ARGUMENTS=_REDUCED, PURE=True),
    row(Loss, {"L1Loss": "F.l1_loss"}, ARGUMENTS=_REDUCED, PURE=True),
    row(Loss, {"SmoothL1Loss": "F.smooth_l1_loss"}, ARGUMENTS={**_REDUCED, "beta": 1.0}, PURE=True),
    row(DeltaLoss, {"HuberLoss": "F.huber_loss"}, ARGUMENTS={"reduction": "mean", "delta": 1.0}, PURE=True),
    row(
        Loss,
        {"CrossEntropyLoss": "F.cross_entropy"},
        ARGUMENTS={"weight": None, "size_average": None, "ignore_index": -100, "reduce": None, "reduction": "mean", "label_smoothing": 0.0},
        BUFFERS="weight",
    ),
    row(
        Loss,
        {"NLLLoss": "F.nll_loss"},
        ARGUMENTS={"weight": None, "size_average": None, "ignore_index": -100, "reduce": None, "reduction": "mean"},
        BUFFERS="weight",
    ),
    row(Loss, {"BCELoss": "F.binary_cross_entropy"}, ARGUMENTS={"weight": None, **_REDUCED}, BUFFERS="weight"),
    row(
        Loss,
        {"BCEWithLogitsLoss": "F.binary_cross_entropy_with_logits"},
        ARGUMENTS={"weight": None, **_REDUCED, "pos_weight": None},
        BUFFERS="weight pos_weight",
        PURE=True,
    ),
    row(Loss, {"KLDivLoss": "F.kl_div"}, ARGUMENTS={**_REDUCED, "log_target": False}),
    row(
        LogInputLoss,
        {"PoissonNLLLoss": "F.poisson_nll_loss"},
        ARGUMENTS={"log_input": True, "full": False, "size_average": None, "eps": 1e-8, "reduce": None, "reduction": "mean"},
    ),
    row(
        VarianceLoss,
        {"GaussianNLLLoss": "F.gaussian_nll_loss"},
        ARGUMENTS={"full": False, "eps": 1e-6, "reduction": "mean"},
        KEYWORD_ONLY="full eps reduction",
    ),
    row(LengthsLoss, {"CTCLoss": "F.ctc_loss"}, ARGUMENTS={"blank": 0, "reduction": "mean", "zero_infinity": False}),
    row(Loss, {"HingeEmbeddingLoss": "F.hinge_embedding_loss"}, ARGUMENTS={"margin": 1.0, **_REDUCED}),
    row(PairLoss, {"MarginRankingLoss": "F.margin_ranking_loss"}, ARGUMENTS={"margin": 0.0, **_REDUCED}),
    row(PairLoss, {"CosineEmbeddingLoss": "F.cosine_embedding_loss"}, ARGUMENTS={"margin": 0.0, **_REDUCED}),
    row(Loss, {"SoftMarginLoss": "F.soft_margin_loss"}, ARGUMENTS=_REDUCED),
    row(
        TripletLoss,
        {"TripletMarginLoss": "F.triplet_margin_loss"},
        ARGUMENTS={"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False, **_REDUCED},
    ),
    row(
        MarginLoss,
        {"MultiMarginLoss": "F.multi_margin_loss"},
        ARGUMENTS={"p": 1, "margin": 1.0, "weight": None, **_REDUCED},
        BUFFERS="weight",
    ),
    row(Loss, {"MultiLabelMarginLoss": "F.multilabel_margin_loss"}, ARGUMENTS=_REDUCED),
    row(Loss, {"MultiLabelSoftMarginLoss": "F.multilabel_soft_margin_loss"}, ARGUMENTS={"weight": None, **_REDUCED}, BUFFERS="weight"),
    row(Distance, {"CosineSimilarity": "F.cosine_similarity"}, ARGUMENTS={"dim": 1, "eps": 1e-8}),
)


class PairwiseDistance(Distance, place="distance"):
    """`F.pairwise_distance`."""

    FUNCTION = "nn.functional.pairwise_distance"
    SETTINGS = "norm eps keepdim"

    def __init__(self, p: Any = 2.0, eps: Any = 1e-6, keepdim: Any = False) -> None:
        Module.__init__(self)
        self.keep({"norm": p, "eps": eps, "keepdim": keepdim})


class TripletMarginWithDistanceLoss(TripletLoss, place="loss"):
    """`F.triplet_margin_with_distance_loss`; a distance that is a module becomes a submodule."""

    FUNCTION = "nn.functional.triplet_margin_with_distance_loss"
    ARGUMENTS = {"distance_function": None, "margin": 1.0, "swap": False, "reduction": "mean"}
    KEYWORD_ONLY = "distance_function margin swap reduction"

    def keep(self, given: dict[str, Any]) -> None:
        distance = given["distance_function"]
        super().keep(given | {"distance_function": PairwiseDistance() if distance is None else distance})
        distance = self.settings()["distance_function"]
        if isinstance(distance, Module):
            self.children_by_name["distance_function"] = distance


class LinearCrossEntropyLoss(Loss, place="loss"):
    """The cross entropy of a linear map of the input."""

    FUNCTION = "nn.functional.linear_cross_entropy"
    ARGUMENTS = {
        "in_features": REQUIRED,
        "num_classes": REQUIRED,
        "out_features": (),
        "bias": False,
        "device": None,
        "dtype": None,
        "reduction": "mean",
        "weight": None,
        "ignore_index": None,
        "label_smoothing": 0.0,
        "options": None,
    }
    KEYWORD_ONLY = "out_features bias device dtype reduction weight ignore_index label_smoothing options"
    SETTINGS = "num_classes out_features reduction ignore_index label_smoothing"
    BUFFERS = "weight"
    SCRIPT_ATTRIBUTES = Loss.SCRIPT_ATTRIBUTES | {"linear": lambda module: module.children_by_name["linear"]}

    def keep(self, given: dict[str, Any]) -> None:
        weight, count = given["weight"], given["num_classes"]
        if given["options"] is not None:
            raise ProgramError("NotImplementedError", "options of LinearCrossEntropyLoss are not part of gradcli")
        if type(weight) is Tensor and weight.array.shape != (count,):
            raise runtime_error(f"expected weight shape to be {formatted((count,))}, got {tuple(weight.array.shape)}")
        if not 0 <= given["label_smoothing"] <= 1:
            raise runtime_error(f"expected label_smoothing to be in range [0, 1], got {formatted(given['label_smoothing'])}")
        super().keep(given)
        features = math.prod(given["out_features"], start=count)
        self.children_by_name["linear"] = Linear(given["in_features"], features, given["bias"], dtype=given["dtype"])

    def forward(self, input: Any, target: Any) -> Any:  # type: ignore[override]
        linear: Any = self.children_by_name["linear"]
        settings = self.settings()
        shape = (settings.pop("num_classes"), *settings.pop("out_features"))
        weight, bias = linear.own_parameters["weight"], linear.own_parameters["bias"]
        reshape = catalog.function("reshape")
        return catalog.function(self.FUNCTION)(
            input,
            reshape(weight, (*shape, linear.in_features)),
            target,
            linear_bias=bias if bias is None else reshape(bias, shape),
            **settings,
        )

    def extra_repr(self) -> str:
        linear: Any = self.children_by_name["linear"]
        bias = linear.own_parameters["bias"] is not None
        shown = {"in_features": linear.in_features, "num_classes": self.num_classes, "out_features": self.out_features, "bias": bias}
        shown |= {name: vars(self)[name] for name in ("reduction", "ignore_index", "label_smoothing")}
        return ", ".join(f"{name}={value}" for name, value in (shown | {"options": None}).items())

    num_classes: int
    out_features: tuple[int, ...]
