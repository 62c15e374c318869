"""What looks at or changes the memory of a tensor itself: other sizes in place, strided parts, values written by a function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import hooks, scalar_of
from gradcli.core.calling.type_errors import not_callable
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import in_place, strided
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops.shape import layout
from gradcli.core.ops.shape.views import expanded_shape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError

# --- other sizes ---


def resize_(input: Tensor, size: Sequence[int], memory_format: Any = None) -> Tensor:
    """Another shape for the tensor itself, row by row over its memory; more memory where it does not suffice, filled with 0."""
    if input.requires_grad:
        raise ProgramError("RuntimeError", "cannot resize variables that require grad")
    if any(n < 0 for n in size):
        raise ProgramError("RuntimeError", "numel: integer multiplication overflow")
    count = math.prod(size)
    limits.check_elements(count, input.dtype.itemsize)
    if tuple(size) == input.array.shape:
        in_place.bump(input)
        return input
    memory = layout.owner(input.array)
    offset = strided.geometry(input.array, memory)[2]
    held = memory.reshape(-1) if memory.flags.c_contiguous else np.array(input.array).reshape(-1)
    flat = held[offset:] if held.base is not None or held is memory else held
    if flat.size < count:
        flat = np.concatenate([flat, np.zeros(count - flat.size, flat.dtype)])
    input.array = flat[:count].reshape(tuple(size))
    in_place.bump(input)
    return input


# --- strided parts ---

_STRIDED_INPLACE = Op(
    "AsStridedBackward1",
    layout.AS_STRIDED.forward,
    "input",
    "size stride offset input_stride",
    input=strided.AS_STRIDED_RULE,
)


def as_strided_(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Tensor:
    """Another shape and other strides for the tensor itself."""
    in_place.check_writable(input)
    return in_place.reshape_(input, _STRIDED_INPLACE, *layout.place(input, size, stride, storage_offset))


def _written(a: Array, src: Array, size: Any, stride: Any, offset: int, input_stride: Any) -> Array:
    view = (size, stride, offset)
    opened = strided.laid_open(a, view, (a.shape, input_stride, 0))
    if opened is None:
        made = np.array(a, order="C")
        strided.seen(made, view)[...] = src
        return made
    whole, window = opened
    window[...] = src
    return whole


def _within(xp: Any, grad: Any, size: Any, stride: Any, offset: int, input_stride: Any) -> Any:
    outside = strided.outside((size, stride, offset), (grad.shape, input_stride, 0))
    return xp.where(outside, 0.0, grad)


AS_STRIDED_SCATTER = Op(
    "AsStridedScatterBackward0",
    _written,
    "input src",
    "size stride offset input_stride",
    input=Rule(
        _within,
        "zeros_like(input).as_strided_scatter(grad.contiguous().as_strided(size, stride, offset), size, stride, offset)",
        "PyTorch gives input the gradient of the part that src replaced, and none of the rest",
    ),
    src=Rule(
        lambda xp, grad, size, stride, offset, input_stride: xp.call(strided.AS_STRIDED, grad, size, stride, offset, input_stride),
        "grad.contiguous().as_strided(size, stride, offset)",
    ),
)


def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Tensor:
    """A copy with the part of that size and those strides taken from src."""
    where = layout.place(input, size, stride, storage_offset)
    if src.array.shape != tuple(size):
        raise ProgramError(
            "RuntimeError",
            f"expected src to have a size equal to the slice of self. src size = {list(src.array.shape)}, slice size = {list(size)}",
        )
    limits.check_elements(input.array.size, input.dtype.itemsize)
    values = src if src.dtype is input.dtype else Tensor(dtypes.cast(src.array, input.dtype), input.dtype)
    return AS_STRIDED_SCATTER(input, values, *where)  # type: ignore[no-any-return]


def fill_diagonal_(input: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """One value on the diagonal, in place; with wrap the diagonal of a tall matrix starts again after each square."""
    shape = input.array.shape
    if len(shape) < 2:
        raise ProgramError("RuntimeError", "dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ProgramError("RuntimeError", "all dimensions of input must be of equal length")
    strides = layout.element_strides(input.array)
    size, step = min(shape), sum(strides)
    offset = strided.geometry(input.array, layout.owner(input.array))[2]
    in_place.fill_(layout.as_strided(input, (size,), (step,), offset), fill_value)
    height, width = shape[:2]
    if wrap and len(shape) == 2 and height > width + 1:
        more = (height * width + width) // (width + 1) - size
        in_place.fill_(layout.as_strided(input, (more,), (step,), offset + strides[0] * (width + 1)), fill_value)
    return input


# --- values written by a function ---


def _number(value: Any, input: Tensor) -> Any:
    """What a function returned, as an element of the tensor."""
    if type(value) is Tensor:
        value = value.item()
    if type(value) in (int, float, bool):
        return scalar_of(int(value) if not input.dtype.is_floating_point else value, input.dtype)
    kind = hooks.type_name(value)
    if input.dtype.is_floating_point:
        raise ProgramError("TypeError", f"must be real number, not {kind}")
    raise ProgramError("TypeError", f"'{kind}' object cannot be interpreted as an integer")


def _mapped(name: str, input: Tensor, others: Sequence[Tensor], function: Any) -> Tensor:
    if any(t.requires_grad for t in (input, *others)):
        raise ProgramError("RuntimeError", f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    for t, called in zip(others, ("x", "y") if len(others) > 1 else ("other",), strict=False):
        if t.dtype is not input.dtype:
            raise ProgramError(
                "TypeError", f"{name}: expected torch.{input.dtype.torch_name}Tensor for '{called}' (got torch.{t.dtype.torch_name}Tensor)"
            )
    if not callable(function):
        raise not_callable(function)
    shape = input.array.shape
    arrays = [input.array, *(np.broadcast_to(t.array, expanded_shape(t, shape)) for t in others)]
    limits.check_list(input.array.size * len(arrays))
    for place in np.ndindex(shape):
        input.array[place] = _number(function(*[a[place].item() for a in arrays]), input)
    if input.dtype is dtypes.bfloat16:
        input.array[...] = dtypes.round_bfloat16(input.array)
    return input


_STRIDED = "ints size, ints stride, int? storage_offset=None"
_V: Any = [1.0, 2.0, 3.0, 4.0]


def _mapping(name: str, signature: str, run: Callable[..., Tensor], doc: str, sample: str) -> Function:
    return Function(name, (signature, run), doc=doc, samples=(Sample(sample),), function=False)


FUNCTIONS = (
    Function(
        "resize_",
        ("Tensor input, ints size, *, memory_format? memory_format=None", resize_),
        doc="Another shape for the tensor itself.",
        samples=(Sample("tensor([1., 2., 3., 4.]).resize_(2, 2)"),),
        function=False,
    ),
    Function(
        "resize_as_",
        ("Tensor input, Tensor the_template, *, memory_format? memory_format=None", lambda a, b, _: resize_(a, b.array.shape)),
        doc="The shape of another tensor for the tensor itself.",
        samples=(Sample("tensor([1., 2., 3., 4.]).resize_as_(tensor([[1.], [2.]]))"),),
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
        "fill_diagonal_",
        ("Tensor input, Number fill_value, bool wrap=False", fill_diagonal_),
        doc="One value on the diagonal, in place.",
        samples=(Sample("(x * 1).fill_diagonal_(2.)", lambda x: x * (1 - np.eye(2)) + 2 * np.eye(2), x=[[1.0, 3.0], [4.0, 5.0]]),),
        function=False,
    ),
    _mapping(
        "apply_",
        "Tensor input, any callable",
        lambda a, f: _mapped("apply_", a, (), f),
        "Every element replaced by what a function makes of it.",
        "tensor([1., 2.]).apply_(lambda a: a + 1)",
    ),
    _mapping(
        "map_",
        "Tensor input, Tensor other, any callable",
        lambda a, b, f: _mapped("map_", a, (b,), f),
        "Every element replaced by what a function makes of it and of that of another tensor.",
        "tensor([1., 2.]).map_(tensor([3., 4.]), lambda a, b: a * b)",
    ),
    _mapping(
        "map2_",
        "Tensor input, Tensor x, Tensor y, any callable",
        lambda a, b, c, f: _mapped("map2_", a, (b, c), f),
        "Every element replaced by what a function makes of it and of those of two other tensors.",
        "tensor([1., 2.]).map2_(tensor([3., 4.]), tensor([5., 6.]), lambda a, b, c: a * b + c)",
    ),
)
