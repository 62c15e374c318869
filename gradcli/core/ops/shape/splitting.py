"""A tensor split along a dimension: unbind, split, split_with_sizes, chunk, tensor_split and its kin; a dimension: unflatten."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from gradcli import limits
from gradcli.core.calling.overloads import Parser
from gradcli.core.calling.signature import Signature, language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import without_dimensions, wrap_dim
from gradcli.core.ops.operators import is_true
from gradcli.core.ops.shape.joining import CAT, STACK
from gradcli.core.ops.shape.slicing import SLICE, _select, _slice
from gradcli.core.ops.shape.views import NO_SIZES, unflatten
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error

#: a number of outputs that no operation exceeds, since the length of a list of outputs depends on the input
MANY = 1 << 62


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
    saved="dim",
    outputs="outputs",
    differentiable=MANY,
    view=True,
    input=Rule(_unbind_rule, "stack(grads, dim)"),
)


def _pieces(length: int, size: int) -> list[int]:
    """The sizes of the parts into which `split(size)` splits a dimension."""
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


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of the slices along a dimension, without this dimension."""
    wrap_dim(dim, input.array.ndim)
    if not input.array.ndim:
        raise without_dimensions(input, shape_error("Dimension specified as 0 but tensor has no dimensions", "IndexError"))
    if not input.array.shape[dim]:
        return ()
    limits.check_list(input.array.shape[dim], limits.TENSOR)
    return UNBIND(input, dim)  # type: ignore[no-any-return]


def split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of parts of split_size elements along a dimension; the last part may be smaller."""
    if not input.array.ndim:
        raise shape_error("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise shape_error(f"split expects split_size be non-negative, but got split_size={split_size}")
    length = input.array.shape[wrap_dim(dim, input.array.ndim)]
    if split_size == 0 and length:
        raise shape_error(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    limits.check_list(length // max(split_size, 1), limits.TENSOR)
    return SPLIT(input, split_size, dim)  # type: ignore[no-any-return]


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of parts of the given sizes along a dimension."""
    if not input.array.ndim:
        raise shape_error("split expects at least a 1-dimensional tensor")
    length = input.array.shape[wrap_dim(dim, input.array.ndim)]
    if any(n < 0 for n in split_sizes):
        raise shape_error(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_sizes)}")
    if sum(split_sizes) != length:
        raise shape_error(
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={list(split_sizes)}"
        )
    if not split_sizes:
        return ()
    limits.check_list(len(split_sizes), limits.TENSOR)
    return SPLIT_SIZES(input, tuple(split_sizes), dim)  # type: ignore[no-any-return]


_BY_SIZE = Parser(
    "split",
    [Signature("Tensor input, int split_size, int dim=0", split), Signature("Tensor input, ints split_size, int dim=0", split_with_sizes)],
)
_BY_SIZES = Parser("split_with_sizes", [Signature("Tensor input, ints split_sizes, int dim=0", split_with_sizes)])


def split_either(input: Tensor, split_size: Any, dim: Any = 0) -> tuple[Tensor, ...]:
    """`Tensor.split`: one size or several. PyTorch decides in Python which of both functions it calls."""
    if type(split_size) is Tensor and split_size.array.size == 1:
        split_size = int(split_size.item())
    parser = _BY_SIZE if isinstance(split_size, int) and language.as_number(split_size) is None else _BY_SIZES
    parts: tuple[Tensor, ...] = parser.call((input, split_size, dim), {})
    return parts


def _split_any(tensor: Any, split_size_or_sections: Any, dim: Any) -> tuple[Tensor, ...]:
    if type(tensor) is not Tensor:
        raise no_attribute(tensor, "split")
    return split_either(tensor, split_size_or_sections, dim)


def _unflatten(input: Tensor, dim: Any, sizes: Any) -> Any:
    """`unflatten` as PyTorch's method, which looks at the sizes before it looks at the dimension. Raises TypeError too."""
    if not is_true(sizes):
        raise shape_error(NO_SIZES)
    return _UNFLATTEN.call((dim, sizes), {}, (input,))


_UNFLATTEN = Parser("unflatten", [Signature("Tensor input, int dim, ints sizes", unflatten).without_self()])


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most `chunks` parts of equal size along a dimension; the last part may be smaller."""
    if not input.array.ndim:
        raise shape_error("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise runtime_error(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input.array.shape[wrap_dim(dim, input.array.ndim)]
    if not length:
        limits.check_list(chunks, limits.TENSOR)
        return SPLIT_SIZES(input, (0,) * chunks, dim)  # type: ignore[no-any-return]
    return split(input, -(-length // chunks), dim)


def tensor_split(input: Tensor, sections: Sequence[int] | int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of the parts between given indices, or of a number of parts whose sizes differ by at most 1."""
    _check_splittable(input)
    dim = wrap_dim(dim, input.array.ndim)
    length = input.array.shape[dim]
    if isinstance(sections, int):
        if sections <= 0:
            raise runtime_error(f"number of sections must be larger than 0, got {sections}")
        limits.check_list(sections, limits.TENSOR)
        small, larger = divmod(length, sections)
        bounds = [0]
        for i in range(sections):
            bounds.append(bounds[-1] + small + (i < larger))
        pairs = list(pairwise(bounds))
    else:
        pairs = list(zip((0, *sections), (*sections, length), strict=True))
    return tuple(SLICE(input, dim, start, end, 1) for start, end in pairs)


def _check_splittable(input: Tensor) -> None:
    if not input.array.ndim:
        raise shape_error("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")


def _tensor_split_by(input: Tensor, positions: Tensor, dim: int) -> tuple[Tensor, ...]:
    _check_splittable(input)
    name = "tensor_split expected tensor_indices_or_sections to"
    if positions.dtype is not dtypes.int64:
        raise runtime_error(f"{name} have dtype of long, but got {positions.dtype.torch_name}")
    if positions.array.ndim > 1:
        dims = positions.array.ndim
        raise shape_error(f"{name} be a zero-dimensional or one-dimensional tensor, but got a tensor with {dims} dims")
    return tensor_split(input, positions.tolist(), dim)


def _even_split(name: str, least: int, dim_of: Any) -> Any:
    """hsplit, vsplit or dsplit: tensor_split along a fixed dimension, at indices or into equal parts."""

    def by_count(input: Tensor, sections: int) -> tuple[Tensor, ...]:
        dim = _checked(input)
        length = input.array.shape[dim]
        if sections == 0 or length % sections:
            raise shape_error(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {length} is not divisible by "
                f"the split_size {sections}!"
            )
        return tensor_split(input, sections, dim)

    def by_indices(input: Tensor, indices: Sequence[int]) -> tuple[Tensor, ...]:
        return tensor_split(input, indices, _checked(input))

    def _checked(input: Tensor) -> int:
        rank = input.array.ndim
        if rank < least:
            raise shape_error(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {rank} dimensions!")
        dim: int = dim_of(rank)
        return dim

    return Function(
        name, ("Tensor input, int sections", by_count), ("Tensor input, ints indices", by_indices), doc="Parts along a fixed dimension."
    )


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


FUNCTIONS = (
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
    Function(
        "Tensor.unflatten",
        ("Tensor input, any dim, any sizes", _unflatten),
        doc="One dimension made several.",
        samples=(Sample("x.unflatten(1, (3, 1))", lambda x: x.reshape(2, 3, 1), x=_M),),
        function=False,
        python="Tensor.unflatten",
    ),
    _even_split("hsplit", 1, lambda rank: 0 if rank == 1 else 1),
    _even_split("vsplit", 2, lambda rank: 0),
    _even_split("dsplit", 3, lambda rank: 2),
)
