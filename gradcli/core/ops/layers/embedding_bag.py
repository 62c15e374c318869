"""Sums, means or maxima of the rows of a table in bags.

`indices` are the rows that are looked up, `bags` the bag of each; `shares` say how much of each row goes into its bag, and `returned` how
much of a bag's gradient goes back to it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.signature import language
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.record import Op, Rule, no_forward_derivative, without_jvp
from gradcli.core.kernels import Array, half_to_single
from gradcli.core.kernels.memory_format import element_strides
from gradcli.core.kernels.scattering import add_at
from gradcli.core.ops.checks import not_implemented, size, with_method
from gradcli.core.ops.index.adding import added_in_half
from gradcli.core.ops.index.sorting import unstable_order
from gradcli.core.ops.layers.embedding import check_indices, rows_added_in_half, shorten
from gradcli.core.ops.rules import ZERO, in_half_precision, moves, not_differentiable, refused
from gradcli.core.ops.shape.views import reshape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import UNMET, ProgramError, runtime_error, shape_error


def _moved(rows: Array, source: Array, target: Array, count: int, shares: Array) -> Array:
    """`count` rows: the rows at `source`, each times its share, added up at `target`."""
    taken = half_to_single(rows[source])
    out = np.zeros((count, rows.shape[1]), taken.dtype)
    add_at(out, target, taken * shares[:, None].astype(taken.dtype))
    return out.astype(rows.dtype, copy=False)


def _moved_back_in_half(dtype: DType, grad: Array, indices: Array, bags: Array, rows: int, returned: Array) -> Array:
    """PyTorch rounds each share, each product and each sum, in the order of the sorted indices."""
    order = unstable_order(indices, 0, False)
    indices, bags, returned = indices[order], bags[order], returned[order]
    shares = dtypes.stored(returned.astype(np.float32), dtype)[:, None]
    values = dtypes.stored(half_to_single(grad)[bags] * shares, dtype).astype(grad.dtype)
    return rows_added_in_half((rows, grad.shape[1]), indices, values, dtype)


_NO_SECOND = refused(lambda: ProgramError("NotImplementedError", "the derivative for '_embedding_bag_backward' is not implemented."))
BAG_BACKWARD = Op(
    "EmbeddingBagBackwardBackward0",
    lambda grad, indices, bags, rows, returned: _moved(grad, bags, indices, rows, returned),
    "grad_output",
    "indices bags rows returned",
    in_half=_moved_back_in_half,
    saved="",
    grad_output=_NO_SECOND,
)
_SAVED = "indices offsets=? result1=? result2=? result3=? weight=? mode={} padding_idx=? scale_grad_by_freq={} sparse=False"
# --- with shares that have a gradient ---


def _to_weight(xp: Any, grad: Any, weight_shape: Any, per_sample_weights: Any, indices: Any, bags: Any, returned: Any, kept: Any) -> Any:
    if per_sample_weights is None:
        return xp.call(BAG_BACKWARD, grad, indices, bags, weight_shape[0], returned)
    return xp.call(WEIGHTED_BACKWARD, grad, per_sample_weights, indices, bags, weight_shape[0], kept, returned)


def _samples_gradient(grad: Array, weight: Array, indices: Array, bags: Array, kept: Array, count: int) -> Array:
    """The gradient of `count` weights of samples, 0 for those that are not kept."""
    made = np.zeros(count, grad.dtype)
    made[kept] = (grad[bags] * weight[indices]).sum(1)
    return made


_SAMPLES_BACKWARD = not_differentiable(
    "_embedding_bag_per_sample_weights_backward", _samples_gradient, "grad weight", "indices bags kept count"
)


WEIGHTED_BACKWARD = Op(
    "EmbeddingBagBackwardBackward0",
    lambda grad, shares, indices, bags, rows, kept, returned: _moved(grad, bags, indices, rows, shares[kept] * returned),
    "grad_output per_sample_weights",
    "indices bags rows kept returned",
    saved="",
    grad_output=_NO_SECOND,
    per_sample_weights=_NO_SECOND,
)


def _bag(
    weight: Array, per_sample_weights: Array | None, indices: Array, bags: Array, count: int, shares: Array, kept: Array, *_: object
) -> Array:
    """The rows in each bag added up, then divided by their number if they are to be averaged; `kept` are places in per_sample_weights."""
    if per_sample_weights is not None:
        return _moved(weight, indices, bags, count, per_sample_weights[kept])
    out = _moved(weight, indices, bags, count, np.ones(1))
    each = np.ones(count)
    each[bags] = shares
    if weight.dtype == np.float16:  # PyTorch divides the rounded sums
        return (out * each[:, None]).astype(weight.dtype)
    return np.asarray(out * each[:, None].astype(weight.dtype))


BAG = Op(
    "EmbeddingBagBackward0",
    _bag,
    "weight per_sample_weights",
    "indices bags count shares kept returned mode scale_grad_by_freq",
    jvp=without_jvp("_embedding_bag"),
    saved=f"{_SAVED.format('mode', 'scale_grad_by_freq')} weight_sym_argsize_0 per_sample_weights",
    weight=Rule(
        _to_weight,
        "s = returned if per_sample_weights is None else per_sample_weights[kept] * returned; "
        "zeros_like(weight).index_add(0, indices, grad[bags] * s.unsqueeze(1))",
    ),
    per_sample_weights=Rule(
        lambda xp, grad, weight, indices, bags, kept, per_sample_weights_shape: xp.call(
            _SAMPLES_BACKWARD, grad, weight, indices, bags, kept, per_sample_weights_shape[0]
        ),
        "zeros(per_sample_weights.shape, dtype=grad.dtype).index_add(0, kept, (grad[bags] * weight[indices]).sum(1))",
    ),
)


def _away(sums: Array) -> Array:
    """Sums rounded to bfloat16 with ties away from zero, as by PyTorch's library."""
    rounded = ((sums.view(np.uint32) + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(sums), rounded, sums)


def _bag_bfloat(rounded: Callable[[Array], Array], weight: Array, per_sample_weights: Array | None, *attrs: Any) -> Array:
    """The sums are rounded, and then divided."""
    indices, bags, count, shares, kept = attrs[:5]
    sums = rounded(_bag(weight, per_sample_weights, indices, bags, count, np.ones(1), kept))
    each = np.ones(count)
    each[bags] = shares
    return np.asarray(sums * each[:, None], np.float32)


#: the records for bfloat16, by whether PyTorch leaves the sums to its library
_BAG_BFLOAT = {simple: in_half_precision(BAG, partial(_bag_bfloat, _away if simple else dtypes.round_bfloat16)) for simple in (False, True)}


# --- maxima; `indices` are places in the flattened table, -1 in an empty bag ---


def _picked(weight: Array, places: Array) -> Array:
    """The elements at the places, 0 at -1."""
    return np.where(places < 0, weight.dtype.type(0), weight.reshape(-1)[places])


def _returned(grad: Array, places: Array, rows: int) -> Array:
    """The transpose of `_picked`."""
    out = np.zeros(rows * grad.shape[1], grad.dtype)
    np.add.at(out, places[places >= 0], grad[places >= 0])
    return out.reshape(rows, grad.shape[1])


BAG_MAX_BACKWARD = Op(
    "EmbeddingBagBackwardBackward0",
    _returned,
    "grad_output",
    "indices rows",
    in_half=lambda dtype, grad, places, rows: added_in_half((rows, grad.shape[1]), places[places >= 0], grad[places >= 0], dtype),
    saved="",
    grad_output=_NO_SECOND,
)
BAG_MAX = Op(
    "EmbeddingBagBackward0",
    lambda weight, _, indices: _picked(weight, indices),
    "weight per_sample_weights",
    "indices",
    jvp=without_jvp("_embedding_bag"),
    saved=f"{_SAVED.format(2, False)} weight_sym_argsize_0 per_sample_weights=?",
    weight=Rule(
        lambda xp, grad, weight_shape, indices: xp.call(BAG_MAX_BACKWARD, grad, indices, weight_shape[0]),
        "zeros_like(weight).flatten().index_add(0, indices[indices >= 0], grad[indices >= 0]).reshape(weight.shape)",
        "the first of equal maxima of a bag gets its gradient",
    ),
    per_sample_weights=ZERO,  # maxima take no weights
)


def _maxima(weight: Array, indices: Array, bags: Array, count: int) -> Array:
    """The places of the largest elements of each bag, one for each column."""
    width = weight.shape[1]
    places = np.full((count, width), -1, np.int64)
    best = np.full((count, width), -np.inf)
    for index, bag in zip(indices.tolist(), bags.tolist(), strict=True):
        better = (places[bag] < 0) | (weight[index] > best[bag])
        best[bag] = np.where(better, weight[index], best[bag])
        places[bag] = np.where(better, index * width + np.arange(width), places[bag])
    return places


def _two_dimensional(input: Tensor, offsets: Any, per_sample_weights: Any) -> tuple[Any, Any, Any]:
    """Indices, offsets and weights of rows that are a bag each. Raises ValueError for offsets beside them."""
    if offsets is not None:
        kind = "<class 'torch.Tensor'>" if type(offsets) is Tensor else language.type_repr(offsets)
        raise shape_error(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, "
            f"found offsets of type {kind}",
            "ValueError",
        )
    rows, columns = input.array.shape
    if input.dtype is dtypes.bool_ or input.dtype.is_complex:
        raise not_implemented("arange_cpu", input.dtype)
    if not columns:
        raise runtime_error("step must be nonzero")
    starts = Tensor(np.arange(0, rows * columns, columns, dtype=input.array.dtype), input.dtype)
    weights = per_sample_weights if per_sample_weights is None else reshape(per_sample_weights, (-1,))
    return reshape(input, (-1,)), starts, weights


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
    """The sum, mean or maximum of the rows of `weight` in each bag.

    A bag is a row of a 2-d input, or begins at an offset of a 1-d input. Raises ValueError, RuntimeError or
    NotImplementedError for arguments that do not fit.
    """
    if with_method(weight, "dtype").dtype is dtypes.int64 and with_method(input, "is_floating_point").dtype.is_floating_point:
        warnings.emit(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, "
            "and should now be `embedding_bag(input, weight, ...)`."
        )
        weight, input = input, weight
    if per_sample_weights is not None:
        shapes = [with_method(t, "size").shape for t in (input, per_sample_weights)]
        if shapes[0] != shapes[1]:
            raise shape_error(
                f"embedding_bag: If per_sample_weights ({shapes[1]}) is not None, then it must have the same shape as the input "
                f"({shapes[0]})",
                "ValueError",
            )
    if weight.array.ndim != 2:
        raise shape_error(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.array.ndim}", "ValueError")
    rank = with_method(input, "dim").array.ndim
    if rank == 2:
        input, offsets, per_sample_weights = _two_dimensional(input, offsets, per_sample_weights)
        include_last_offset = False
    elif rank == 1:
        if offsets is None:
            raise shape_error("offsets has to be a 1D Tensor but got None", "ValueError")
        if with_method(offsets, "dim").array.ndim != 1:
            raise shape_error("offsets has to be a 1D Tensor", "ValueError")
    else:
        raise shape_error(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {rank}", "ValueError")
    if mode not in _MODES:
        raise ProgramError("ValueError", "mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ProgramError("ValueError", "max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ProgramError("ValueError", "max mode does not support sparse weights")
    if max_norm is not None:
        shorten(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise ProgramError(
            "NotImplementedError",
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{formatted(mode)}'). Please open a feature request on GitHub.",
        )
    more = (scale_grad_by_freq, _MODES.index(mode), sparse, per_sample_weights, include_last_offset, padding_idx)
    return _EMBEDDING_BAG(weight, input, offsets, *more)[0]


#: the modes by their numbers
_MODES = ("sum", "mean", "max")


def _check_ranks(weight: Tensor, indices: Tensor, offsets: Tensor) -> None:
    if indices.array.ndim == 2:
        raise ProgramError("NotImplementedError", "torch.embedding_bag of indices in two dimensions is not part of gradcli")
    for name, tensor, rank in (("input", indices, 1), ("offsets", offsets, 1), ("weight", weight, 2)):
        if (found := tensor.array.ndim) != rank:
            expected = "1D or 2D" if name == "input" else f"{rank}D"
            raise shape_error(f"{name} has to be a {expected} Tensor, but got Tensor of dimension {found}")


def _check_types(weight: Tensor, indices: Tensor, per_sample_weights: Tensor | None) -> None:
    check_indices("embedding_bag", indices)
    if not weight.dtype.is_floating_point:
        raise runtime_error(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; but got "
            f"{weight.dtype.tensor_name} instead (while checking arguments for embedding_bag)"
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise runtime_error(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but type "
            f"{weight.dtype.tensor_name} does not equal {per_sample_weights.dtype.tensor_name} (while checking arguments for embedding_bag)"
        )


def _bags(indices: Tensor, offsets: Tensor, include_last_offset: bool) -> tuple[Array, int]:
    """The bag of each index, and the number of bags. Raises RuntimeError for wrong offsets."""
    starts, size = offsets.array, indices.array.size
    if starts.size:
        if starts[0] != 0:
            raise runtime_error(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
                f"{starts[0]}\n[ torch.{offsets.dtype.torch_name}Tensor{{}} ]"
            )
        if starts[-1] > size:
            raise runtime_error(f"offsets[-1] can not be greater than input's length {size} but got offsets[-1] of {starts[-1]}")
    elif include_last_offset:
        raise runtime_error("include_last_offset: number of offset should be at least 1")
    count = starts.size - 1 if include_last_offset else starts.size
    # what PyTorch makes of these depends on its kernel, which may read beyond the indices
    if (np.diff(starts) < 0).any():
        raise ProgramError("NotImplementedError", "embedding_bag with offsets that decrease is not part of gradcli")
    if size and (not count or (include_last_offset and starts[-1] < size)):
        raise ProgramError("NotImplementedError", "embedding_bag with indices that belong to no bag is not part of gradcli")
    return np.searchsorted(starts[:count], np.arange(size), "right") - 1, count


def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None = None,
) -> tuple[Tensor, ...]:
    """`torch.embedding_bag`: the bags, the bag of each index, the numbers of indices in the bags, and the rows of the maxima.

    Of sums and means PyTorch gives what its kernels need or leave: no bags of the indices for simple sums, 0 for the numbers of sums,
    and the numbers once more in place of the rows.
    """
    if padding_idx is not None and not -(rows := size(weight, 0)) <= padding_idx < rows:
        raise runtime_error(f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}")
    _check_ranks(weight, indices, offsets)
    rows, width = weight.array.shape
    if moves(weight, indices, per_sample_weights):
        raise no_forward_derivative("_embedding_bag")
    if sparse:
        raise ProgramError("NotImplementedError", "embedding_bag with sparse=True is not part of gradcli")
    both = dtypes.promote(indices.dtype, offsets.dtype)
    indices, offsets = (Tensor(t.array.astype(both.np), both) for t in (indices, offsets))
    _check_types(weight, indices, per_sample_weights)
    bags, count = _bags(indices, offsets, include_last_offset)
    if not 0 <= mode < 3:
        raise runtime_error("`mode` must be sum, mean, or max.")
    if per_sample_weights is not None:
        _check_weights(per_sample_weights, indices, mode)
    # PyTorch has another kernel for tables of single or half precision whose rows lie in one piece
    simple = weight.dtype is not dtypes.float64 and element_strides(weight.array)[1] == 1 and padding_idx is None
    for at, index in enumerate(indices.array.tolist()):
        if not 0 <= index < rows:
            if mode == 2 or not simple:
                raise runtime_error(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {index}")
            raise runtime_error(f"Index {at} of input takes value {index} which is not in the valid range [0, {rows})")
    limits.check_elements(max(indices.array.size, count) * width, weight.dtype.itemsize)
    kept = np.ones(indices.array.size, np.bool_) if padding_idx is None else indices.array != padding_idx % rows
    places, kept_bags = np.array(indices.array[kept], np.int64), bags[kept]
    sizes = np.bincount(kept_bags, minlength=count)
    if mode == 2:
        maxima = _maxima(weight.array, places, kept_bags, count)
        found = [bags, sizes, np.maximum(maxima, 0) // max(width, 1)]
        return BAG_MAX(weight, None, maxima), *(Tensor(a.astype(both.np), both) for a in found)
    each = 1 / sizes[kept_bags] if mode == 1 else np.ones(places.size)
    returned = each / _frequencies(indices.array)[kept] if scale_grad_by_freq else each
    record = _BAG_BFLOAT[simple] if weight.dtype is dtypes.bfloat16 else BAG
    attrs = (places, kept_bags, count, each, np.flatnonzero(kept), returned, mode, scale_grad_by_freq)
    if mode == 0:
        if simple and (per_sample_weights is None or element_strides(per_sample_weights.array)[0] == 1):
            bags = bags[:0]
        sizes = np.zeros(count if weight.requires_grad else offsets.array.size, np.int64)
    found = [bags, sizes, sizes]
    return record(weight, per_sample_weights, *attrs), *(Tensor(a.astype(both.np), both) for a in found)


def _check_weights(per_sample_weights: Tensor, indices: Tensor, mode: int) -> None:
    if mode != 0:
        raise runtime_error("embedding_bag: per_sample_weights only supported with mode='sum'")
    if per_sample_weights.array.ndim != 1:
        raise runtime_error(UNMET.format("per_sample_weights.value().dim() == 1"))
    if per_sample_weights.array.size != indices.array.size:
        raise runtime_error(UNMET.format("per_sample_weights.value().numel() == indices.numel()"))


def _frequencies(indices: Array) -> Array:
    """What PyTorch takes for the frequency of each index.

    It is that of another one: of the sorted indices it looks at the first for the smallest index, at the second for the next larger one.
    """
    _, number = np.unique(indices, return_inverse=True)
    return np.asarray(np.bincount(indices)[np.sort(indices)[number]])


_W = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [0.3, 0.8, -0.2], [-1.2, 0.6, 1.1]]
_EMBEDDING_BAG = Function(
    "embedding_bag",
    (
        "Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, "
        "bool include_last_offset, int? padding_idx |4 outs",
        _embedding_bag,
    ),
    (
        "Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
        "Tensor? per_sample_weights=None, bool include_last_offset=False |4 outs",
        _embedding_bag,
    ),
    doc="Sums, means or maxima of rows of a table, with the bags, their sizes and the rows of the maxima.",
    ops=(BAG, BAG_MAX),
    samples=(Sample("torch.embedding_bag(w, tensor([1, 2, 0]), tensor([0, 2]), mode=1)[0]", None, w=_W),),
    method=False,
)


FUNCTIONS: tuple[Function, ...] = (
    _EMBEDDING_BAG,
    PythonFunction(
        embedding_bag,
        "embedding_bag",
        "Sums, means or maxima of rows of a table.",
        unchecked=True,
        ops=(BAG, BAG_MAX),
        samples=(
            Sample("F.embedding_bag(tensor([1, 2, 0, 1, 3]), w, tensor([0, 2, 2]))", None, w=_W),
            Sample("F.embedding_bag(tensor([[1, 2], [0, 1]]), w, mode='sum', padding_idx=2)", None, w=_W),
            Sample("F.embedding_bag(tensor([1, 2, 0, 1, 3]), w, tensor([0, 2, 2]), mode='max')", None, w=_W),
            Sample(
                "F.embedding_bag(tensor([[1, 2], [0, 1]]), w, mode='sum', per_sample_weights=s)", None, w=_W, s=[[0.5, 2.0], [-1.0, 0.3]]
            ),
        ),
    ),
)
