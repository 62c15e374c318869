"""Another shape for the memory of a tensor: as_strided, as_strided_scatter, resize_, fill_diagonal_."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import in_place, strided, write_checks
from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.record import Op, Rule, check_strides
from gradcli.core.kernels import Array, conjugates, memory_format
from gradcli.core.kernels.memory_format import copy_with_gaps, element_strides, owner
from gradcli.core.ops.checks import Number, check_not_negative, strides_of
from gradcli.core.ops.create.leaf import unset
from gradcli.core.ops.shape import casting
from gradcli.core.ops.shape.layout import offset_in
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def place(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None, in_place: bool = False) -> tuple[Any, ...]:
    """The plain arguments of AS_STRIDED: size, stride, the offset from the first element, the tensor's own strides, and `storage_offset`.

    `storage_offset` counts from the beginning of the memory. Raises RuntimeError for elements outside of the tensor and for negative
    sizes, which PyTorch's `in_place` form finds in a later check.
    """
    array = input.array
    if len(size) != len(stride):
        raise shape_error("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise runtime_error(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    conjugates.fill(array)
    memory = owner(array)
    own = offset_in(memory, array)
    offset = own if storage_offset is None else storage_offset
    needed = offset + strided.extent(tuple(size), tuple(stride))
    itemsize, room = input.dtype.itemsize, memory.nbytes // array.itemsize  # the memory may be that of complex numbers
    if offset < 0:
        raise runtime_error(f"Tensor: invalid storage offset {offset}")
    if not in_place and 0 not in size and any(n < 0 < s for n, s in zip(size, stride, strict=True)):
        raise runtime_error(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if needed > room and 0 not in size:
        raise shape_error(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} requiring a "
            f"storage size of {needed * itemsize} are out of bounds for storage of size {room * itemsize}"
        )
    check_not_negative(size)
    if max(stride, default=0) * itemsize >= 1 << 63:
        raise runtime_error("strides of 2**63 bytes are not part of gradcli")
    if 0 in size:
        check_strides(size)
        return tuple(size), tuple(stride), offset - own, strided.own_geometry(array)[1], storage_offset
    if offset < own or needed - own > strided.extent(array.shape, element_strides(array)):
        raise runtime_error("as_strided beyond the elements of the tensor is not part of gradcli")
    if input.property_of("neg") and ((offset - own) % 2 or any(s % 2 for n, s in zip(size, stride, strict=True) if n > 1)):
        raise runtime_error("as_strided of both parts of conjugates is not part of gradcli")
    limits.check_elements(math.prod(size), array.itemsize)
    return tuple(size), tuple(stride), offset - own, strided.own_geometry(array)[1], storage_offset


def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view of the memory of a tensor with another shape and other strides."""
    return AS_STRIDED(input, *place(input, size, stride, storage_offset))  # type: ignore[no-any-return]


AS_STRIDED = Op(
    "AsStridedBackward0",
    lambda a, size, stride, offset, *_: strided.seen(a, (size, stride, offset)),
    "input",
    "size stride offset input_stride storage_offset",
    saved="size storage_offset stride",
    view=True,
    input=strided.AS_STRIDED_RULE,
)
_STRIDED_INPLACE = Op(
    "AsStridedBackward1",
    AS_STRIDED.forward,
    "input",
    "size stride offset input_stride storage_offset",
    saved="size storage_offset stride",
    input=strided.AS_STRIDED_RULE,
    complex=True,
)


def as_strided_(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Tensor:
    """`as_strided` in place: another shape and other strides for the tensor itself."""
    write_checks.check_writable(input)
    return in_place.reshape_(input, _STRIDED_INPLACE, *place(input, size, stride, storage_offset, True))


def _written(a: Array, src: Array, size: Any, stride: Any, offset: int, input_stride: Any, _: int | None) -> Array:
    view = (size, stride, offset)
    if src.dtype.kind == "c" and a.dtype.kind != "c":
        src = casting.converted(src, dtypes.of(a.dtype))
    opened = strided.laid_open(a, view, (a.shape, input_stride, 0)) if a.size else None
    if opened is None:
        made = copy_with_gaps(a)
        strided.seen(made, view)[...] = src
        return made
    whole, window = opened
    window[...] = src
    return whole


def _replaced_part(xp: Any, grad: Any, size: Any, stride: Any, offset: int, input_stride: Any) -> Any:
    view = (size, stride, offset)
    if xp is numeric or state.mapped or not strided.separate(view):  # PyTorch has no rule for vmap
        return xp.where(strided.outside(view, (grad.shape, input_stride, 0)), 0.0, grad)
    room = max(strided.extent(grad.shape, input_stride), strided.extent(size, stride) + offset)
    made = AS_STRIDED(Tensor(np.zeros(room, grad.dtype.np), grad.dtype), tuple(grad.shape), input_stride, 0, (1,), 0)
    in_place.copy_(_part(made, view), _part(casting.contiguous(grad), view))
    return made


def _part(whole: Tensor, view: strided.Geometry) -> Tensor:
    return AS_STRIDED(whole, *view, element_strides(whole.array), view[2])  # type: ignore[no-any-return]


def _part_of_gradient(xp: Any, grad: Any, size: Any, stride: Any, offset: int, input_stride: Any) -> Any:
    return xp.call(strided.AS_STRIDED, grad, size, stride, offset, input_stride)


AS_STRIDED_SCATTER = Op(
    "AsStridedScatterBackward0",
    _written,
    "input src",
    "size stride offset input_stride storage_offset",
    saved="size storage_offset stride",
    input=Rule(
        _replaced_part,
        "zeros_like(input).as_strided_scatter(grad.contiguous().as_strided(size, stride, offset), size, stride, offset)",
        "as in PyTorch, the part of input that src replaces has the gradient, and the rest has 0",
    ),
    src=Rule(_part_of_gradient, "grad.contiguous().as_strided(size, stride, offset)"),
    complex=True,
    real_part=False,
)


def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Tensor:
    """A copy in which the part that `as_strided` shows is src."""
    where = place(input, size, stride, storage_offset)
    if src.array.shape != tuple(size):
        text = f"expected src to have a size equal to the slice of self. src size = {list(src.array.shape)}, slice size = {list(size)}"
        raise shape_error(text)
    limits.check_elements(input.array.size, input.dtype.itemsize)
    if any(n > 1 and not s for n, s in zip(size, stride, strict=True)):
        raise write_checks.shared_places()
    # a differentiable source is converted as it is written, so that its gradient comes back in its own dtype
    kept = src.dtype is input.dtype or (src.dtype.is_differentiable and input.dtype.is_differentiable)
    values = src if kept else Tensor(dtypes.cast(src.array, input.dtype), input.dtype)
    return AS_STRIDED_SCATTER(input, values, *where)  # type: ignore[no-any-return]


def resize_(input: Tensor, size: Sequence[int], format: Any = None, template: Tensor | None = None) -> Tensor:
    """Another shape for the tensor itself, filled from its memory and then as one that is not set, row by row or with a format's strides.

    A format that preserves is that of the `template`. Raises RuntimeError for a tensor that requires grad, but not in inference mode,
    and for other formats.
    """
    if input.requires_grad and not state.inference:
        raise shape_error("cannot resize variables that require grad")
    if state.dual is not None and state.dual.tangent_of(input) is not None:
        raise runtime_error("cannot resize variables that has a forward grad")
    if any(n < 0 for n in size):
        raise runtime_error("numel: integer multiplication overflow")
    count = math.prod(size)
    limits.check_elements(count, input.dtype.itemsize)
    same = tuple(size) == input.array.shape
    if same and format is None:
        return input
    conjugates.fill(input.array)
    strides = strides_of(size, format) or memory_format.contiguous_strides(size)
    if format is not None and format.name == "preserve_format":
        if template is None:
            raise runtime_error("Unsupported memory formatPreserve")
        if memory_format.suggests_channels_last(template.array):
            strides = memory_format.channels_last_strides(size)
    before = owner(input.array).size
    input.array = strided.resized(input.array, tuple(size), strides)
    unset(owner(input.array).reshape(-1)[before:], input.dtype)
    if not same:
        write_checks.bump(input)
    return input


def fill_diagonal_(input: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """One value written to the diagonal; with `wrap` the diagonal of a tall matrix begins again below each square."""
    shape = input.array.shape
    if len(shape) < 2:
        raise shape_error("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise shape_error("all dimensions of input must be of equal length")
    strides = element_strides(input.array)
    size, step = min(shape), sum(strides)
    offset = offset_in(owner(input.array), input.array)
    in_place.fill_(as_strided(input, (size,), (step,), offset), fill_value)
    height, width = shape[:2]
    if wrap and len(shape) == 2 and height > width + 1:
        more = (height * width + width) // (width + 1) - size
        in_place.fill_(as_strided(input, (more,), (step,), offset + strides[0] * (width + 1)), fill_value)
    return input


_STRIDED = "ints size, ints stride, symint? storage_offset=None"
_V: Any = [1.0, 2.0, 3.0, 4.0]


FUNCTIONS = (
    Function(
        "as_strided",
        (f"Tensor input, {_STRIDED}", as_strided),
        doc="The memory of a tensor seen with another shape and other strides.",
        ops=(AS_STRIDED,),
        samples=(Sample("as_strided(x, (2, 2), (1, 1))", lambda x: np.array([[x[0], x[1]], [x[1], x[2]]]), x=[1.0, 2.0, 4.0]),),
    ),
    Function(
        "as_strided_",
        (f"Tensor input, {_STRIDED}", as_strided_),
        doc="Another shape and other strides for the tensor itself.",
        ops=(_STRIDED_INPLACE,),
        samples=(Sample("(x * 1).as_strided_((2, 2), (1, 1))", lambda x: np.array([[x[0], x[1]], [x[1], x[2]]]), x=_V),),
    ),
    Function(
        "as_strided_scatter",
        (f"Tensor input, Tensor src, {_STRIDED}", as_strided_scatter),
        doc="A copy with the part of that size and those strides taken from src.",
        ops=(AS_STRIDED_SCATTER,),
        samples=(
            Sample(
                "as_strided_scatter(zeros(4, dtype=torch.float64), x, (2,), (2,), 1)", lambda x: np.array([0, x[0], 0, x[1]]), x=[5.0, 6.0]
            ),
        ),
    ),
    Function(
        "resize_",
        ("Tensor input, ints size, *, memory_format? memory_format=None", resize_),
        doc="Another shape for the tensor itself.",
        samples=(Sample("tensor([1., 2., 3., 4.]).resize_(2, 2)"),),
        function=False,
    ),
    Function(
        "resize_as_",
        (
            "Tensor input, Tensor the_template, *, memory_format? memory_format=None",
            lambda input, template, format: resize_(input, template.array.shape, format, template),
        ),
        doc="The shape of another tensor for the tensor itself.",
        samples=(Sample("tensor([1., 2., 3., 4.]).resize_as_(tensor([[1.], [2.]]))"),),
    ),
    Function(
        "fill_diagonal_",
        ("Tensor input, Number fill_value, bool wrap=False", fill_diagonal_),
        doc="One value on the diagonal, in place.",
        samples=(Sample("(x * 1).fill_diagonal_(2.)", lambda x: x * (1 - np.eye(2)) + 2 * np.eye(2), x=[[1.0, 3.0], [4.0, 5.0]]),),
        function=False,
    ),
)
