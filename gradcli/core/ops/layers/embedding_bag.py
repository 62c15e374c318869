"""Bags of rows: the sums, means or maxima of rows of a table; and windows of images as columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import hooks
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import windows
from gradcli.core.ops.layers import records
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError, runtime_error

# --- bags; a share says how much of a row goes into a bag ---


def _gathered(weight: Array, indices: Array, bags: Array, count: int, shares: Array) -> Array:
    """The rows at the indices, each times its share, added up in their bags."""
    out = np.zeros((count, weight.shape[1]), weight.dtype)
    np.add.at(out, bags, weight[indices] * shares[:, None].astype(weight.dtype))
    return out


def _placed(grad: Array, indices: Array, bags: Array, rows: int, shares: Array) -> Array:
    out = np.zeros((rows, grad.shape[1]), grad.dtype)
    np.add.at(out, indices, grad[bags] * shares[:, None].astype(grad.dtype))
    return out


_ATTRS = "indices bags"
BAG_BACKWARD: Op = Op(
    "EmbeddingBagBackwardBackward0",
    _placed,
    "grad_output",
    f"{_ATTRS} rows shares",
    grad_output=Rule(
        lambda xp, grad, grad_output_shape, indices, bags, shares: xp.call(BAG, grad, indices, bags, grad_output_shape[0], shares),
        "zeros_like(grad_output).index_add(0, bags, grad[indices] * shares.unsqueeze(1))",
    ),
)
BAG: Op = Op(
    "EmbeddingBagBackward0",
    _gathered,
    "weight",
    f"{_ATTRS} count shares",
    weight=Rule(
        lambda xp, grad, weight_shape, indices, bags, shares: xp.call(BAG_BACKWARD, grad, indices, bags, weight_shape[0], shares),
        "zeros_like(weight).index_add(0, indices, grad[bags] * shares.unsqueeze(1))",
    ),
)


def _weighted(weight: Array, per_sample_weights: Array, indices: Array, bags: Array, count: int) -> Array:
    return _gathered(weight, indices, bags, count, per_sample_weights)


def _to_weight(xp: Any, grad: Any, weight_shape: Any, per_sample_weights: Any, indices: Any, bags: Any) -> Any:
    return xp.call(WEIGHTED_BACKWARD, grad, per_sample_weights, indices, bags, weight_shape[0])


def _to_samples(xp: Any, grad: Any, weight: Any, indices: Any, bags: Any) -> Any:
    return xp.sum(xp.call(_ROWS, grad, bags) * xp.call(_ROWS, weight, indices), (1,))


_ROWS: Op = Op(
    "IndexSelectBackward0",
    lambda x, indices: x[indices],
    "input",
    "indices",
    input=Rule(
        lambda xp, grad, input_shape, indices: xp.call(
            BAG_BACKWARD, grad, indices, np.arange(len(indices)), input_shape[0], np.ones(len(indices))
        ),
        "zeros_like(input).index_add(0, indices, grad)",
    ),
)
WEIGHTED_BACKWARD: Op = Op(
    "EmbeddingBagBackwardBackward0",
    lambda grad, shares, indices, bags, rows: _placed(grad, indices, bags, rows, shares),
    "grad_output per_sample_weights",
    f"{_ATTRS} rows",
    grad_output=Rule(
        lambda xp, grad, grad_output_shape, per_sample_weights, indices, bags: xp.call(
            WEIGHTED, grad, per_sample_weights, indices, bags, grad_output_shape[0]
        ),
        "zeros_like(grad_output).index_add(0, bags, grad[indices] * per_sample_weights.unsqueeze(1))",
    ),
    per_sample_weights=Rule(
        lambda xp, grad, grad_output, indices, bags: _to_samples(xp, grad_output, grad, indices, bags),
        "(grad_output[bags] * grad[indices]).sum(1)",
    ),
)
WEIGHTED: Op = Op(
    "EmbeddingBagBackward0",
    _weighted,
    "weight per_sample_weights",
    f"{_ATTRS} count",
    weight=Rule(_to_weight, "zeros_like(weight).index_add(0, indices, grad[bags] * per_sample_weights.unsqueeze(1))"),
    per_sample_weights=Rule(_to_samples, "(grad[bags] * weight[indices]).sum(1)"),
)


def _picked(weight: Array, places: Array) -> Array:
    """The elements at places of the flattened table, 0 for -1."""
    return np.where(places < 0, weight.dtype.type(0), weight.reshape(-1)[places])


def _returned(grad: Array, places: Array, rows: int) -> Array:
    out = np.zeros(rows * grad.shape[1], grad.dtype)
    np.add.at(out, places[places >= 0], grad[places >= 0])
    return out.reshape(rows, grad.shape[1])


BAG_MAX_BACKWARD: Op = Op(
    "EmbeddingBagBackwardBackward0",
    _returned,
    "grad_output",
    "indices rows",
    grad_output=Rule(lambda xp, grad, indices: xp.call(BAG_MAX, grad, indices), "where(indices < 0, 0, grad.take(indices.clamp(min=0)))"),
)
BAG_MAX: Op = Op(
    "EmbeddingBagBackward0",
    _picked,
    "weight",
    "indices",
    weight=Rule(
        lambda xp, grad, weight_shape, indices: xp.call(BAG_MAX_BACKWARD, grad, indices, weight_shape[0]),
        "zeros_like(weight).flatten().index_add(0, indices[indices >= 0], grad[indices >= 0]).reshape(weight.shape)",
        "the first of equal maxima of a bag gets its gradient",
    ),
)


def _maxima(weight: Array, indices: Array, bags: Array, count: int) -> Array:
    """Where the largest elements of each bag are in the flattened table; -1 in an empty bag."""
    width = weight.shape[1]
    places = np.full((count, width), -1, np.int64)
    best = np.full((count, width), -np.inf)
    for index, bag in zip(indices.tolist(), bags.tolist(), strict=True):
        better = (places[bag] < 0) | (weight[index] > best[bag])
        best[bag] = np.where(better, weight[index], best[bag])
        places[bag] = np.where(better, index * width + np.arange(width), places[bag])
    return places


def _bags(input: Tensor, offsets: Any, include_last_offset: bool) -> tuple[Array, Array, int]:
    """The indices one after the other, the bag of each, and how many bags there are."""
    if input.array.ndim == 2:
        if offsets is not None:
            kind = "<class 'torch.Tensor'>" if type(offsets) is Tensor else f"<class '{hooks.type_name(offsets)}'>"
            raise ProgramError(
                "ValueError",
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, "
                f"found offsets of type {kind}",
            )
        rows, columns = input.array.shape
        return input.array.reshape(-1), np.repeat(np.arange(rows), columns), rows
    if input.array.ndim != 1:
        raise ProgramError("ValueError", f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.array.ndim}")
    if type(offsets) is not Tensor:
        raise ProgramError("ValueError", "offsets has to be a 1D Tensor but got None")
    if offsets.array.ndim != 1:
        raise ProgramError("ValueError", "offsets has to be a 1D Tensor")
    starts, size = offsets.array, input.array.size
    if starts.size and starts[0] != 0:
        text = f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got {starts[0]}"
        raise runtime_error(text)
    if starts.size and starts[-1] > size:
        raise runtime_error(f"offsets[-1] can not be greater than input's length {size} but got offsets[-1] of {starts[-1]}")
    count = starts.size - 1 if include_last_offset else starts.size
    return input.array, np.searchsorted(starts[:count], np.arange(size), "right") - 1, count


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Any = None,
    max_norm: Any = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: Any = None,
) -> Any:
    """Sums, means or maxima of the rows of a table in each bag."""
    if mode not in ("sum", "mean", "max"):
        raise ProgramError("ValueError", "mode has to be one of sum, mean or max")
    if sparse or scale_grad_by_freq:
        raise ProgramError("NotImplementedError", "embedding_bag with sparse=True or scale_grad_by_freq=True is not part of gradcli")
    if input.dtype.torch_name not in ("Long", "Int"):
        raise runtime_error(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch."
            f"{input.dtype.torch_name}Tensor instead (while checking arguments for embedding_bag)"
        )
    indices, bags, count = _bags(input, offsets, include_last_offset)
    if per_sample_weights is not None and mode != "sum":
        raise ProgramError(
            "NotImplementedError",
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub.",
        )
    rows, width = weight.array.shape
    for at, index in enumerate(indices.tolist()):
        if not 0 <= index < rows:
            raise runtime_error(f"Index {at} of input takes value {index} which is not in the valid range [0, {rows})")
    limits.check_elements(max(indices.size, count) * width, weight.dtype.itemsize)
    if max_norm is not None:
        records.shorten(weight, indices, float(max_norm), float(norm_type))
    kept = np.ones(indices.size, np.bool_) if padding_idx is None else indices != padding_idx % rows
    indices, bags = np.array(indices[kept], np.int64), bags[kept]
    if per_sample_weights is not None:
        shares = catalog.function("reshape")(per_sample_weights, (-1,)) if per_sample_weights.array.ndim > 1 else per_sample_weights
        if not kept.all():
            shares = catalog.function("index_select")(shares, 0, Tensor(np.flatnonzero(kept), dtypes.int64))
        return WEIGHTED(weight, shares, indices, bags, count)
    if mode == "max":
        return BAG_MAX(weight, _maxima(weight.array, indices, bags, count))
    sizes = np.bincount(bags, minlength=count)
    each = 1 / sizes[bags] if mode == "mean" else np.ones(indices.size)
    return BAG(weight, indices, bags, count, each)


# --- windows as columns ---


def _pair(value: Any) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    numbers = tuple(value)
    return (numbers[0], numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])


def _columns(x: Array, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Array:
    batched = x if x.ndim == 4 else x[None]
    found = windows.view(windows.padded(batched, padding), kernel, stride, dilation)
    n, channels, rows, columns = found.shape[:4]
    made = found.transpose(0, 1, 4, 5, 2, 3).reshape(n, channels * math.prod(kernel), rows * columns)
    return made if x.ndim == 4 else made[0]


def _images(columns: Array, output_size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Array:
    batched = columns if columns.ndim == 3 else columns[None]
    n, channels = batched.shape[0], batched.shape[1] // math.prod(kernel)
    sizes = tuple(size + 2 * p for size, p in zip(output_size, padding, strict=True))
    limits.check_elements(max(n * channels, 1) * math.prod(sizes), columns.itemsize)
    out = np.zeros((n, channels, *sizes), columns.dtype)
    found = windows.view(out, kernel, stride, dilation, True)
    if found.size:
        values = batched.reshape(n, channels, *kernel, *found.shape[2:4]).transpose(0, 1, 4, 5, 2, 3)
        windows.add_windows(found, values, 2)
    made = np.ascontiguousarray(out[windows.inside(padding, output_size)])
    return made if columns.ndim == 3 else made[0]


_HOW = "kernel_size dilation padding stride"
_UNFOLD = "F.unfold({}, kernel_size, dilation, padding, stride)"
IM2COL: Op = Op(
    "Im2ColBackward0",
    _columns,
    "input",
    _HOW,
    input=Rule(
        lambda xp, grad, input_shape, kernel_size, dilation, padding, stride: xp.call(
            COL2IM, grad, tuple(input_shape[-2:]), kernel_size, dilation, padding, stride
        ),
        "F.fold(grad, input.shape[-2:], kernel_size, dilation, padding, stride)",
    ),
)
COL2IM: Op = Op(
    "Col2ImBackward0",
    _images,
    "input",
    f"output_size {_HOW}",
    input=Rule(
        lambda xp, grad, kernel_size, dilation, padding, stride: xp.call(IM2COL, grad, kernel_size, dilation, padding, stride),
        _UNFOLD.format("grad"),
    ),
)


def _check_windows(kernel: Any, dilation: Any, padding: Any, stride: Any) -> None:
    for name, text, pair, least in (
        ("kernel size", "kernel", kernel, 1),
        ("stride", "stride", stride, 1),
        ("dilation", "dilation", dilation, 1),
        ("padding", "pad", padding, 0),
    ):
        if min(pair) < least:
            what = "greater than zero" if least else "non-negative"
            raise runtime_error(f"{name} should be {what}, but got {text}_height: {pair[0]} {text}_width: {pair[1]}")


def _blocks(sizes: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> tuple[int, ...]:
    return windows.positions([n + 2 * p for n, p in zip(sizes, padding, strict=True)], kernel, stride, dilation)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """All windows of images, each as a column."""
    pairs = [_pair(value) for value in (kernel_size, dilation, padding, stride)]
    _check_windows(*pairs)
    shape = input.array.shape
    if len(shape) not in (3, 4):
        raise runtime_error(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    kernel, gaps, border, step = pairs
    found = _blocks(shape[-2:], kernel, gaps, border, step)
    if min(found) < 1:
        raise runtime_error(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={kernel}, dilation={gaps}, padding={border}, calculated shape "
            f"of the array of sliding blocks as {found}, but its components must be at least one."
        )
    limits.check_elements(math.prod(shape[:-2]) * math.prod(kernel) * math.prod(found), input.dtype.itemsize)
    return IM2COL(input, kernel, gaps, border, step)


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Columns added up as windows of images."""
    size = _pair(output_size)
    pairs = [_pair(value) for value in (kernel_size, dilation, padding, stride)]
    _check_windows(*pairs)
    kernel, gaps, border, step = pairs
    shape = input.array.shape
    if len(shape) not in (2, 3):
        raise runtime_error(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    rank = len(shape) - 2
    if shape[rank] % math.prod(kernel):
        raise runtime_error(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)={shape[rank]} and "
            f"kernel_size={kernel}."
        )
    found = _blocks(size, kernel, gaps, border, step)
    if shape[rank + 1] != math.prod(found):
        raise runtime_error(
            f"Given output_size={size}, kernel_size={kernel}, dilation={gaps}, padding={border}, stride={step}, expected size of input's "
            f"dimension 2 to match the calculated number of sliding blocks {found[0]} * {found[1]} = {math.prod(found)}, but got "
            f"input.size(2)={shape[rank + 1]}."
        )
    return COL2IM(input, size, kernel, gaps, border, step)


_W = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [0.3, 0.8, -0.2], [-1.2, 0.6, 1.1]]
_IMAGE = [[[[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-0.3, 0.8, 0.6]]]]
_BAGS = (BAG, BAG_BACKWARD, WEIGHTED, WEIGHTED_BACKWARD, BAG_MAX, BAG_MAX_BACKWARD)
FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        embedding_bag,
        "embedding_bag",
        "Sums, means or maxima of rows of a table.",
        checked_as="embedding_bag",
        ops=_BAGS,
        samples=(
            Sample("F.embedding_bag(tensor([1, 2, 0, 1, 3]), w, tensor([0, 2, 2]))", None, w=_W),
            Sample("F.embedding_bag(tensor([[1, 2], [0, 1]]), w, mode='sum', padding_idx=2)", None, w=_W),
            Sample("F.embedding_bag(tensor([1, 2, 0, 1, 3]), w, tensor([0, 2, 2]), mode='max')", None, w=_W),
            Sample(
                "F.embedding_bag(tensor([[1, 2], [0, 1]]), w, mode='sum', per_sample_weights=s)", None, w=_W, s=[[0.5, 2.0], [-1.0, 0.3]]
            ),
        ),
    ),
    PythonFunction(
        unfold,
        "unfold",
        "All windows of images, each as a column.",
        checked_as="im2col",
        ops=(IM2COL,),
        samples=(Sample("F.unfold(x, 2)", None, x=_IMAGE), Sample("F.unfold(x, (2, 1), 1, 1, 2)", None, x=_IMAGE[0])),
    ),
    PythonFunction(
        fold,
        "fold",
        "Columns added up as windows of images.",
        checked_as="col2im",
        ops=(COL2IM,),
        samples=(Sample("F.fold(x, (2, 3), (1, 2))", None, x=[[[0.5, -1.0, 2.0, 1.0], [1.5, 0.25, -0.5, 0.3]]]),),
    ),
)
