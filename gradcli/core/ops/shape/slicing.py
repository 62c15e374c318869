"""Taking tensors apart and putting them together: the records, and the functions that take apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.overloads import Parser
from gradcli.core.calling.signature import Signature
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.shape.view_records import check_rank
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError

#: more outputs than any tensor has: the length of a list of outputs is not known beforehand
MANY = 1 << 62
#: what PyTorch puts for a slice without end
END = (1 << 63) - 1


def _select(a: Array, dim: int, index: int) -> Array:
    made = a[index] if dim == 0 else a[(slice(None),) * (dim if dim >= 0 else dim + a.ndim) + (index,)]
    # numpy gives a scalar for the last dimension; a view is wanted
    return made if type(made) is np.ndarray else a[(slice(None),) * (dim if dim >= 0 else dim + a.ndim) + (index, ...)]


def _select_back(grad: Array, dim: int, index: int, shape: Any) -> Array:
    made = np.zeros(shape, grad.dtype)
    made[(slice(None),) * (dim if dim >= 0 else dim + len(shape)) + (index,)] = grad
    return made


SELECT: Op = Op(
    "SelectBackward0",
    _select,
    "input",
    "dim index",
    view=True,
    input=Rule(
        lambda xp, grad, dim, index, input_shape: xp.call(SELECT_BACK, grad, dim, index, input_shape),
        "zeros_like(input).select_scatter(grad, dim, index)",
    ),
)
SELECT_BACK: Op = Op(
    "SelectBackwardBackward0",
    _select_back,
    "input",
    "dim index shape",
    input=Rule(lambda xp, grad, dim, index: xp.call(SELECT, grad, dim, index), "grad.select(dim, index)"),
)


def _slice(a: Array, dim: int, start: int, end: int, step: int) -> Array:
    if dim == 0:
        return a[start:end:step]
    return a[(slice(None),) * (dim if dim >= 0 else dim + a.ndim) + (slice(start, end, step),)]


def _slice_back(grad: Array, dim: int, start: int, end: int, step: int, shape: Any) -> Array:
    made = np.zeros(shape, grad.dtype)
    _slice(made, dim, start, end, step)[...] = grad
    return made


SLICE: Op = Op(
    "SliceBackward0",
    _slice,
    "input",
    "dim start end step",
    view=True,
    input=Rule(
        lambda xp, grad, dim, start, end, step, input_shape: xp.call(SLICE_BACK, grad, dim, start, end, step, input_shape),
        "zeros_like(input).slice_scatter(grad, dim, start, end, step)",
    ),
)
SLICE_BACK: Op = Op(
    "SliceBackwardBackward0",
    _slice_back,
    "input",
    "dim start end step shape",
    input=Rule(
        lambda xp, grad, dim, start, end, step: xp.call(SLICE, grad, dim, start, end, step),
        "grad.movedim(dim, 0)[start:end:step].movedim(0, dim)",
    ),
)


# --- joining, which undoes unbind and split ---


def _cat(arrays: Sequence[Array], dim: int) -> Array:
    # numpy keeps the order in memory that the parts have; PyTorch makes rows
    return np.ascontiguousarray(np.concatenate(arrays, axis=dim))


def _cat_rule(xp: Any, grad: Any, dim: int, tensors_shape: Any, sizes: Any) -> list[Any]:
    parts: list[Any] = []
    at = 0
    for shape, size in zip(tensors_shape, sizes, strict=True):
        parts.append(None if shape is None else xp.call(SLICE, grad, dim, at, at + size, 1))
        at += size
    return parts


CAT: Op = Op(
    "CatBackward0",
    lambda arrays, dim, sizes: _cat(arrays, dim),
    "tensors",
    "dim sizes",
    variadic=True,
    tensors=Rule(_cat_rule, "grad.split(sizes, dim)[i]"),
)


def _stack(arrays: Sequence[Array], dim: int) -> Array:
    check_rank(arrays[0].ndim + 1)
    return np.ascontiguousarray(np.stack(arrays, axis=dim))


def _stack_rule(xp: Any, grad: Any, dim: int, tensors_shape: Any) -> list[Any]:
    return [None if shape is None else xp.call(SELECT, grad, dim, i) for i, shape in enumerate(tensors_shape)]


STACK: Op = Op("StackBackward0", _stack, "tensors", "dim", variadic=True, tensors=Rule(_stack_rule, "grad.select(dim, i)"))


def _unbind(a: Array, dim: int) -> list[Array]:
    return [_select(a, dim, i) for i in range(a.shape[dim])]


def _unbind_rule(xp: Any, grads: Any, dim: int, input_shape: Any, input_dtype: Any) -> Any:
    shape = list(input_shape)
    del shape[dim]
    return xp.call(STACK, [xp.zeros(tuple(shape), input_dtype) if g is None else g for g in grads], dim)


UNBIND: Op = Op(
    "UnbindBackward0",
    _unbind,
    "input",
    "dim",
    outputs="outputs",
    differentiable=MANY,
    view=True,
    input=Rule(_unbind_rule, "stack(grads, dim)"),
)


def _pieces(length: int, size: int) -> list[int]:
    """Sizes of the parts that `split(size)` makes of a dimension."""
    if not length:
        return [0]
    return [min(size, length - at) for at in range(0, length, size)]


def _split(a: Array, split_sizes: Sequence[int], dim: int) -> list[Array]:
    parts = []
    at = 0
    for n in split_sizes:
        parts.append(_slice(a, dim, at, at + n, 1))
        at += n
    return parts


def _joined(xp: Any, grads: Any, sizes: Sequence[int], dim: int, shape: Any, dtype: Any) -> Any:
    parts = []
    for g, n in zip(grads, sizes, strict=True):
        part = list(shape)
        part[dim] = n
        parts.append(xp.zeros(tuple(part), dtype) if g is None else g)
    return xp.call(CAT, parts, dim, tuple(sizes))


def _split_rule(xp: Any, grads: Any, split_size: int, dim: int, input_shape: Any, input_dtype: Any) -> Any:
    return _joined(xp, grads, _pieces(input_shape[dim], split_size), dim, input_shape, input_dtype)


def _sizes_rule(xp: Any, grads: Any, split_sizes: Any, dim: int, input_shape: Any, input_dtype: Any) -> Any:
    return _joined(xp, grads, split_sizes, dim, input_shape, input_dtype)


SPLIT: Op = Op(
    "SplitBackward0",
    lambda a, split_size, dim: _split(a, _pieces(a.shape[dim], split_size), dim),
    "input",
    "split_size dim",
    outputs="outputs",
    differentiable=MANY,
    view=True,
    input=Rule(_split_rule, "cat(grads, dim)"),
)
SPLIT_SIZES: Op = Op(
    "SplitWithSizesBackward0",
    _split,
    "input",
    "split_sizes dim",
    outputs="outputs",
    differentiable=MANY,
    view=True,
    input=Rule(_sizes_rule, "cat(grads, dim)"),
)


# --- the functions ---


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One index of a dimension, which goes away."""
    shape = input.array.shape
    if not shape:
        raise ProgramError("IndexError", "select() cannot be applied to a 0-dim tensor.")
    length = shape[wrap_dim(dim, len(shape))]
    if not -length <= index < length:
        raise ProgramError(
            "IndexError",
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {wrap_dim(dim, len(shape))}",
        )
    return SELECT(input, dim, index)  # type: ignore[no-any-return]


def _narrow_from(input: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    if start.array.ndim or start.array.dtype.kind not in "iu":
        raise ProgramError("RuntimeError", "start must be an 0-dim integral Tensor.")
    return narrow(input, dim, int(start.item()), length)


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Elements start .. start + length of a dimension."""
    shape = input.array.shape
    if not shape:
        raise ProgramError("RuntimeError", "narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise ProgramError("RuntimeError", "narrow(): length must be non-negative.")
    size = shape[wrap_dim(dim, len(shape))]
    if start != size:
        if not -size <= start < size:
            raise ProgramError("IndexError", f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
        start %= size
    if start > size - length:
        raise ProgramError("RuntimeError", f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return SLICE(input, dim, start, start + length, 1)  # type: ignore[no-any-return]


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts along a dimension, without it."""
    if not input.array.ndim:
        raise ProgramError("IndexError", "Dimension specified as 0 but tensor has no dimensions")
    wrap_dim(dim, input.array.ndim)
    if not input.array.shape[dim]:
        return ()
    limits.check_list(input.array.shape[dim])
    return UNBIND(input, dim)  # type: ignore[no-any-return]


def split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of split_size elements along a dimension; the last may be smaller."""
    if not input.array.ndim:
        raise ProgramError("RuntimeError", "split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise ProgramError("RuntimeError", f"split expects split_size be non-negative, but got split_size={split_size}")
    length = input.array.shape[wrap_dim(dim, input.array.ndim)]
    if split_size == 0 and length:
        raise ProgramError("RuntimeError", f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    limits.check_list(length // max(split_size, 1))
    return SPLIT(input, split_size, dim)  # type: ignore[no-any-return]


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of the given sizes along a dimension."""
    if not input.array.ndim:
        raise ProgramError("RuntimeError", "split expects at least a 1-dimensional tensor")
    length = input.array.shape[wrap_dim(dim, input.array.ndim)]
    if any(n < 0 for n in split_sizes):
        raise ProgramError(
            "RuntimeError",
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_sizes)}",
        )
    if sum(split_sizes) != length:
        raise ProgramError(
            "RuntimeError",
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={list(split_sizes)}",
        )
    if not split_sizes:
        return ()
    return SPLIT_SIZES(input, tuple(split_sizes), dim)  # type: ignore[no-any-return]


_BY_SIZE = Parser(
    "split",
    [Signature("Tensor input, int split_size, int dim=0", split), Signature("Tensor input, ints split_size, int dim=0", split_with_sizes)],
)
_BY_SIZES = Parser("split_with_sizes", [Signature("Tensor input, ints split_sizes, int dim=0", split_with_sizes)])


def split_either(input: Tensor, split_size: Any, dim: Any = 0) -> tuple[Tensor, ...]:
    """`Tensor.split`, where PyTorch decides in Python which function is meant."""
    if type(split_size) is Tensor and split_size.array.size == 1:
        split_size = int(split_size.item())
    parser = _BY_SIZE if isinstance(split_size, int) else _BY_SIZES
    parts: tuple[Tensor, ...] = parser.call((input, split_size, dim), {})
    return parts


def _split_any(tensor: Any, split_size_or_sections: Any, dim: Any) -> tuple[Tensor, ...]:
    if type(tensor) is not Tensor:
        raise no_attribute(tensor, "split")
    return split_either(tensor, split_size_or_sections, dim)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts of equal size along a dimension."""
    if not input.array.ndim:
        raise ProgramError("RuntimeError", "chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise ProgramError("RuntimeError", f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input.array.shape[wrap_dim(dim, input.array.ndim)]
    if not length:
        limits.check_list(chunks)
        return SPLIT_SIZES(input, (0,) * chunks, dim)  # type: ignore[no-any-return]
    return split(input, -(-length // chunks), dim)


def tensor_split(input: Tensor, sections: Sequence[int] | int, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts between the given indices, or that many parts of nearly equal size."""
    if not input.array.ndim:
        raise ProgramError("RuntimeError", "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    length = input.array.shape[wrap_dim(dim, input.array.ndim)]
    if isinstance(sections, int):
        if sections <= 0:
            raise ProgramError("RuntimeError", f"number of sections must be larger than 0, got {sections}")
        limits.check_list(sections)
        small, larger = divmod(length, sections)
        bounds = [0]
        for i in range(sections):
            bounds.append(bounds[-1] + small + (i < larger))
        pairs = list(pairwise(bounds))
    else:
        pairs = list(zip((0, *sections), (*sections, length), strict=True))
    return tuple(SLICE(input, dim, start, end, 1) for start, end in pairs)


def _tensor_split_by(input: Tensor, positions: Tensor, dim: int) -> tuple[Tensor, ...]:
    name = "tensor_split expected tensor_indices_or_sections to"
    if positions.array.ndim > 1:
        dims = positions.array.ndim
        raise ProgramError("RuntimeError", f"{name} be a zero-dimensional or one-dimensional tensor, but got a tensor with {dims} dims")
    if positions.dtype is not dtypes.int64:
        raise ProgramError("RuntimeError", f"{name} have dtype of long, but got {positions.dtype.torch_name}")
    return tensor_split(input, positions.tolist(), dim)


def _even_split(name: str, least: int, dim_of: Any) -> Any:
    """hsplit, vsplit and dsplit: tensor_split along a fixed dimension, in equal parts."""

    def by_count(input: Tensor, sections: int) -> tuple[Tensor, ...]:
        dim = _checked(input)
        length = input.array.shape[dim]
        if sections == 0 or length % sections:
            raise ProgramError(
                "RuntimeError",
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {length} is not divisible by "
                f"the split_size {sections}!",
            )
        return tensor_split(input, sections, dim)

    def by_indices(input: Tensor, indices: Sequence[int]) -> tuple[Tensor, ...]:
        return tensor_split(input, indices, _checked(input))

    def _checked(input: Tensor) -> int:
        rank = input.array.ndim
        if rank < least:
            raise ProgramError(
                "RuntimeError",
                f"torch.{name} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but got a tensor with "
                f"{rank} dimensions!",
            )
        dim: int = dim_of(rank)
        return dim

    return Function(
        name,
        ("Tensor input, int sections", by_count),
        ("Tensor input, ints indices", by_indices),
        doc="Parts along a fixed dimension.",
    )


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

FUNCTIONS = (
    Function(
        "select",
        ("Tensor input, int dim, int index", select),
        doc="One index of a dimension, which goes away.",
        ops=(SELECT,),
        samples=(Sample("select(x, 1, -1)", lambda x: x[:, -1], x=_M), Sample("x[1, 2]", lambda x: x[1, 2], x=_M)),
    ),
    Function(
        "narrow",
        ("Tensor input, int dim, Tensor start, int length", _narrow_from),
        ("Tensor input, int dim, int start, int length", narrow),
        doc="length elements of a dimension from start on.",
        ops=(SLICE,),
        samples=(Sample("narrow(x, 1, 1, 2)", lambda x: x[:, 1:], x=_M), Sample("x[:, ::2]", lambda x: x[:, ::2], x=_M)),
    ),
    Function(
        "unbind",
        ("Tensor input, int dim=0", unbind),
        doc="The parts along a dimension, without it.",
        ops=(UNBIND,),
        samples=(Sample("unbind(x, 1)[2]", lambda x: x[:, 2], x=_M),),
    ),
    Function(
        "Tensor.split",
        ("Tensor input, any split_size, any dim=0", split_either),
        doc="Parts of a size, or of the given sizes, along a dimension.",
        ops=(SPLIT, SPLIT_SIZES),
        samples=(Sample("x.split(2, 1)[0]", lambda x: x[:, :2], x=_M), Sample("x.split([1, 2], 1)[1]", lambda x: x[:, 1:], x=_M)),
        function=False,
        python="Tensor.split",
    ),
    Function(
        "split",
        ("any tensor, any split_size_or_sections, any dim=0", _split_any),
        doc="Parts of a size, or of the given sizes, along a dimension.",
        ops=(SPLIT, SPLIT_SIZES),
        method=False,
        python="split",
        samples=(Sample("split(x, 2, 1)[0]", lambda x: x[:, :2], x=_M), Sample("split(x, [1, 2], 1)[1]", lambda x: x[:, 1:], x=_M)),
    ),
    Function(
        "split_with_sizes",
        ("Tensor input, ints split_sizes, int dim=0", split_with_sizes),
        doc="Parts of the given sizes along a dimension.",
        samples=(Sample("split_with_sizes(x, [1, 2], 1)[1]", lambda x: x[:, 1:], x=_M),),
    ),
    Function(
        "chunk",
        ("Tensor input, int chunks, int dim=0", chunk),
        doc="At most that many parts of equal size along a dimension.",
        samples=(Sample("chunk(x, 2, 1)[1]", lambda x: x[:, 2:], x=_M),),
    ),
    Function(
        "tensor_split",
        ("Tensor input, ints indices, int dim=0", tensor_split),
        ("Tensor input, Tensor tensor_indices_or_sections, int dim=0", _tensor_split_by),
        ("Tensor input, int sections, int dim=0", tensor_split),
        doc="Parts between the given indices, or that many parts of nearly equal size.",
        samples=(Sample("tensor_split(x, 2, 1)[1]", lambda x: x[:, 2:], x=_M),),
    ),
    _even_split("hsplit", 1, lambda rank: 0 if rank == 1 else 1),
    _even_split("vsplit", 2, lambda rank: 0),
    _even_split("dsplit", 3, lambda rank: 2),
)
