"""Results of `vmap`: those of all samples as one tensor, whose node has the name of the operation on the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from gradcli.core.graph.record import Op
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.shape.joining import STACK, check_equal_sizes
from gradcli.core.tensor.batched import innermost
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor

#: operations that PyTorch applies to a batch that it has made one with another dimension, and apart again
_VIEWED = (
    "AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool2D AdaptiveMaxPool3D AffineGridGenerator AvgPool2D AvgPool3D ChannelShuffle Col2Im "
    "Convolution EmbeddingBag FractionalMaxPool2D FractionalMaxPool3D GridSampler2D GridSampler3D Im2Col IndexReduce LinalgLu "
    "MaskedScatter MaxPool2DWithIndices MaxUnpool2D MaxUnpool3D MultiMarginLoss MultilabelMarginLoss NativeGroupNorm Norm "
    "Pdist PixelShuffle PixelUnshuffle Put ReflectionPad1D ReflectionPad2D ReflectionPad3D Renorm ReplicationPad1D ReplicationPad2D "
    "ReplicationPad3D ScaledDotProductFlashAttentionForCpu SoftMarginLoss UpsampleBicubic2D UpsampleBilinear2D UpsampleLinear1D "
    "UpsampleNearest1D UpsampleNearest2D UpsampleNearest3D UpsampleNearestExact1D UpsampleNearestExact2D UpsampleTrilinear3D"
)
_COPIED = "Permute Select Slice Squeeze T Transpose Unsqueeze"
#: the last operation of PyTorch's batching rule, where it is another than the one on a sample
_BATCHED = {
    "SumBackward0": "SumBackward1",
    "MeanBackward0": "MeanBackward1",
    "ProdBackward0": "ProdBackward1",
    "MaxBackward1": "MaxBackward0",
    "MinBackward1": "MinBackward0",
    "MedianBackward0": "MedianBackward1",
    "NanmedianBackward0": "NanmedianBackward1",
    "TraceBackward0": "SumBackward1",
    "DistBackward0": "NormBackward1",
    "DotBackward0": "SqueezeBackward1",
    "VdotBackward0": "SqueezeBackward1",
    "MvBackward0": "PermuteBackward0",
    "MmBackward0": "UnsafeViewBackward0",
    "BmmBackward0": "UnsafeViewBackward0",
    "TBackward0": "TransposeBackward0",
    "SqueezeBackward0": "ViewBackward0",
    "SqueezeBackward1": "SqueezeBackward2",
    "SqueezeBackward4": "SqueezeBackward5",
    "IndexSelectBackward0": "GatherBackward0",
    "TakeBackward0": "ViewBackward0",
    "MaskedFillBackward1": "ViewBackward0",
    "BlockDiagBackward0": "CatBackward0",
    "EmbeddingBackward0": "PermuteBackward0",
    "NllLossBackward0": "DivBackward0",
    **dict.fromkeys(("AddmmBackward0", "AddmvBackward0", "AddrBackward0", "AddbmmBackward0", "BaddbmmBackward0"), "AddBackward0"),
    **dict.fromkeys(("IndexCopyBackward0", "SelectScatterBackward0", "SliceScatterBackward0"), "ScatterBackward0"),
    **dict.fromkeys(
        (
            "MseLossBackward0",
            "SmoothL1LossBackward0",
            "HuberLossBackward0",
            "BinaryCrossEntropyBackward0",
            "BinaryCrossEntropyWithLogitsBackward0",
        ),
        "MeanBackward1",
    ),
    **dict.fromkeys(
        [f"{name}Backward0" for name in _VIEWED.split()],
        "ViewBackward0",
    ),
    **dict.fromkeys([f"{name}Backward0_copy" for name in _COPIED.split()], "ViewBackward0"),
    **dict.fromkeys([f"{name}Backward0_copy" for name in ("Alias", "AsStrided", "Diagonal", "Unfold")], "CloneBackward0"),
}


def batched_name(name: str) -> str:
    """The name of the node that an operation makes for the whole batch, from that for a sample."""
    return _BATCHED.get(name, name)


def _step(arrays: Sequence[Array]) -> int | None:
    """How many bytes lie between samples that are views of the same memory; None for others."""
    first = arrays[0]
    if len(arrays) < 2 or not first.size or any(memory_format.owner(array) is not memory_format.owner(first) for array in arrays):
        return None
    starts = [array.__array_interface__["data"][0] for array in arrays]
    steps = {after - before for before, after in pairwise(starts)}
    same = all(array.shape == first.shape and array.strides == first.strides for array in arrays)
    step = steps.pop()
    return step if same and not steps and step >= 0 and min(first.strides, default=0) >= 0 else None


def _spread(arrays: Sequence[Array], step: int) -> Array:
    """A copy of samples that lie `step` bytes apart, with their strides."""
    first = arrays[0]
    shape, strides = (len(arrays), *first.shape), (step, *first.strides)
    span = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) // first.itemsize
    made = np.lib.stride_tricks.as_strided(np.zeros(span, first.dtype), shape, strides)
    for number, array in enumerate(arrays):
        made[number, ...] = array
    return made


def _stacked(arrays: Sequence[Array]) -> Array:
    """The arrays of all samples, the batch as the first dimension; each keeps the order of its dimensions in memory.

    Samples that lie one after the other in the same memory, such as views of an argument, keep their strides, as a view of the batch has.
    """
    step = _step(arrays)
    if step is not None:
        return _spread(arrays, step)
    first = arrays[0]
    if not first.ndim:
        return np.stack(arrays)
    made = memory_format.empty((len(arrays), *first.shape), (max(first.size, 1), *memory_format.preserved(first)), first.dtype)
    for sample, array in zip(made, arrays, strict=True):
        sample[...] = array
    return made


@cache
def _stack_named(name: str) -> Op:
    """`stack` under the name of the operation whose results it takes."""
    rule = STACK.rules["tensors"]
    return Op(name, lambda arrays, dim: _stacked(arrays), "tensors", "dim", saved="", variadic=True, tensors=rule, complex=True)


def joined(values: Sequence[Tensor]) -> Tensor:
    """The results of all samples with the batch first. RuntimeError for results of different shapes."""
    check_equal_sizes(values)
    if state.dual is None and innermost(values) is None and not any(value.requires_grad for value in values):
        return Tensor(_stacked([value.array for value in values]), values[0].dtype)
    names = {value.grad_fn.type_name for value in values if value.grad_fn is not None}
    name = names.pop() if len(names) == 1 else "ExpandBackward0" if not names else STACK.grad_fn
    result: Tensor = _stack_named(batched_name(name))(tuple(values), 0)
    return result
