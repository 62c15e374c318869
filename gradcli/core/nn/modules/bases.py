"""The base classes that modules of one kind have in PyTorch: programs ask for them, and derive losses from them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from gradcli.core.calling.script_types import ScriptType
from gradcli.core.nn.module import Module
from gradcli.core.nn.modules.convolution import Convolution, ConvTransposeNd
from gradcli.core.nn.modules.dropout import Dropout
from gradcli.core.nn.modules.losses import Loss
from gradcli.core.nn.modules.normalization import BatchNorm1d, InstanceNorm1d
from gradcli.core.ops.loss.loss_reduction import legacy_reduction

#: the names of PyTorch's losses with a weight for each class
_WEIGHTED = ("BCELoss", "CrossEntropyLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss")


class _Loss(Module, place="loss"):
    """A loss of a program's own: it has `reduction`."""

    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | {"reduction": attrgetter("reduction")}

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: Any = "mean") -> None:
        super().__init__()
        self.reduction = legacy_reduction(size_average, reduce, reduction)


class _WeightedLoss(_Loss, place="loss"):
    """A loss of a program's own that has a weight for each class in its buffer `weight`."""

    def __init__(self, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: Any = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def _is_weighted(value: Any) -> bool:
    return isinstance(value, _WeightedLoss) or (isinstance(value, Loss) and value.SCRIPT_TYPE.name in _WEIGHTED)


_Loss.SCRIPT_TYPE.test = lambda value: isinstance(value, (_Loss, Loss))
_WeightedLoss.SCRIPT_TYPE.test = _is_weighted

_NormBase = ScriptType("_NormBase", "torch.nn.modules.batchnorm", None, lambda value: isinstance(value, BatchNorm1d))
_InstanceNorm = ScriptType("_InstanceNorm", "torch.nn.modules.instancenorm", None, lambda value: isinstance(value, InstanceNorm1d))
_BatchNorm = ScriptType(
    "_BatchNorm", "torch.nn.modules.batchnorm", None, lambda value: isinstance(value, BatchNorm1d) and not isinstance(value, InstanceNorm1d)
)
_ConvNd = ScriptType("_ConvNd", "torch.nn.modules.conv", None, lambda value: isinstance(value, Convolution))
_ConvTransposeNd = ScriptType("_ConvTransposeNd", "torch.nn.modules.conv", None, lambda value: isinstance(value, ConvTransposeNd))
_DropoutNd = ScriptType("_DropoutNd", "torch.nn.modules.dropout", None, lambda value: isinstance(value, Dropout))
