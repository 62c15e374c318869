"""Results of `vmap`: those of all samples as one tensor, whose node has the name of the operation on the whole batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.shape.joining import STACK
from gradcli.core.tensor.batched import innermost
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor

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
    "RollBackward0": "ViewBackward0",
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
        (
            "ConvolutionBackward0",
            "MaxPool2DWithIndicesBackward0",
            "AvgPool2DBackward0",
            "AdaptiveAvgPool2DBackward0",
            "NativeGroupNormBackward0",
            "SoftMarginLossBackward0",
            "RenormBackward0",
            "LinalgLuBackward0",
        ),
        "ViewBackward0",
    ),
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


def _spread(arrays: Sequence[Array], step: int, dim: int) -> Array:
    """A copy of samples that lie `step` bytes apart, with their strides."""
    first = arrays[0]
    at = dim % (first.ndim + 1)
    shape = (*first.shape[:at], len(arrays), *first.shape[at:])
    strides = (*first.strides[:at], step, *first.strides[at:])
    span = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) // first.itemsize
    made = np.lib.stride_tricks.as_strided(np.zeros(span, first.dtype), shape, strides)
    batch = np.moveaxis(made, at, 0)
    for number, array in enumerate(arrays):
        batch[number, ...] = array
    return made


def stacked(arrays: Sequence[Array], dim: int = 0) -> Array:
    """The arrays of all samples, the batch as a dimension; where it is the first, each keeps the order of its dimensions in memory.

    Samples that lie one after the other in the same memory, such as views of an argument, keep their strides, as a view of the batch has.
    """
    step = _step(arrays)
    if step is not None:
        return _spread(arrays, step, dim)
    if dim:
        return np.stack(arrays, dim)
    first = arrays[0]
    strides = (max(first.size, 1), *memory_format.preserved(first))
    made = memory_format.empty((len(arrays), *first.shape), strides, first.dtype)
    for sample, array in zip(made, arrays, strict=True) if first.ndim else ():
        sample[...] = array
    return made if first.ndim else np.stack(arrays)


@cache
def _stack_named(name: str) -> Op:
    """`stack` under the name of the operation whose results it takes."""
    return Op(name, stacked, "tensors", "dim", saved="", variadic=True, tensors=STACK.rules["tensors"], complex=True)


#: operations on the elements of one tensor beside those that broadcast
OF_ELEMENTS = frozenset({"CloneBackward0", "ToCopyBackward0", "RsubBackward1", "ClampBackward1"})


def _leaves_batch(node: Node) -> bool:
    """Whether PyTorch's rule of an operation leaves the batch in its place, instead of moving it to the front."""
    if type(node) is not OpNode or node.type_name == "PowBackward2":
        return False
    return node.type_name in OF_ELEMENTS or (isinstance(node.op, Pointwise) and len(node.op.tensors) == 1)


def place_of_batch(value: Tensor, mapped: Mapping[Node, int]) -> int:
    """The dimension in which PyTorch has the batch; `mapped` has that of each argument by the node of its sample."""
    node = value.grad_fn
    while node is not None and node not in mapped and _leaves_batch(node):
        node = node.edges[0][0]
    return 0 if node is None else mapped.get(node, 0)


def joined(values: Sequence[Tensor], dim: int, place: int = 0) -> Tensor:
    """The results of all samples with the batch as dimension `dim`, moved there from `place`."""
    if state.dual is None and innermost(values) is None and not any(value.requires_grad for value in values):
        return Tensor(np.moveaxis(stacked([value.array for value in values]), 0, dim), values[0].dtype)
    names = {value.grad_fn.type_name for value in values if value.grad_fn is not None}
    name = names.pop() if len(names) == 1 else "ExpandBackward0" if not names else STACK.grad_fn
    return moved(_stack_named(batched_name(name))(tuple(values), place), place, dim)


def moved(tensor: Tensor, start: int, end: int) -> Tensor:
    """A tensor with its dimension `start` at `end`; the tensor itself where it is there."""
    if start % tensor.array.ndim == end % tensor.array.ndim:
        return tensor
    result: Tensor = catalog.function("movedim")(tensor, start, end)
    return result
