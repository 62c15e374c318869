"""Tensors of another shape: view, reshape, flatten, unflatten, ravel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.clone import CONTIGUOUS
from gradcli.core.graph.record import Op, Rule, check_strides
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import check_rank, wrap_dim
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.layout import offset_in
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def _back(xp: Any, grad: Any, input_shape: Any) -> Any:
    return xp.reshape(grad, input_shape)


def _view_array(a: Array, size: Any) -> Array:
    check_rank(len(size))
    if not a.size:
        check_strides(size)
    made = a.reshape(size)
    if 1 in a.shape or (1 in made.shape and not a.flags.c_contiguous):
        return memory_format.as_viewed(a, made)
    return made


_VIEW_FORMULA = "grad.reshape(input.shape)"
VIEW: Op = Op("ViewBackward0", _view_array, "input", "size", saved="self_sym_sizes", view=True, input=Rule(_back, _VIEW_FORMULA))
RESHAPE_ALIAS: Op = Op(
    "ReshapeAliasBackward0", _view_array, "input", "size", saved="self_sym_sizes", view=True, input=Rule(_back, _VIEW_FORMULA)
)
UNSAFE_VIEW: Op = Op(
    "UnsafeViewBackward0", _view_array, "input", "size", saved="self_sym_sizes", input=Rule(_back, _VIEW_FORMULA), complex=True
)


def view_and_inplace(name: str, overloads: tuple[int, int], forward: Callable[..., Array], attrs: str, rule: Rule) -> tuple[Op, Op]:
    """The records of a view and of its in-place form, which gives the tensor itself another shape.

    `overloads` are the numbers in the names of their nodes.
    """
    view = Op(f"{name}Backward{overloads[0]}", forward, "input", attrs, view=True, input=rule)
    return view, Op(f"{name}Backward{overloads[1]}", forward, "input", attrs, input=rule, complex=True)


def infer_size(shape: Sequence[int], count: int) -> tuple[int, ...]:
    """`shape` with its -1 computed. Raises RuntimeError if it does not fit `count` elements."""
    known = 1
    hole = -1
    for i, n in enumerate(shape):
        if n == -1:
            if hole >= 0:
                raise shape_error("only one dimension can be inferred")
            hole = i
        elif n < 0:
            raise shape_error(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
        else:
            known *= n
    if known == count and hole < 0:
        return tuple(shape)
    if hole >= 0 and known > 0 and count % known == 0:
        return (*shape[:hole], count // known, *shape[hole + 1 :])
    if hole >= 0 and known == 0 and count == 0:
        raise shape_error(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be any "
            "value and is ambiguous",
        )
    raise runtime_error(f"shape '{list(shape)}' is invalid for input of size {count}", Code.INVALID_VIEW_SIZE)


def _shares(array: Array, shape: tuple[int, ...]) -> bool:
    """Whether a view of the array can have this shape."""
    if array.flags.c_contiguous or not array.size:
        return True
    return np.may_share_memory(array.reshape(shape), array)


def check_view(array: Array, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError where no view of the array has this shape."""
    if not _shares(array, shape):
        raise shape_error(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead.",
        )


def view(input: Tensor, size: Sequence[int]) -> Tensor:
    """A view of another shape. Raises RuntimeError if the strides do not allow one."""
    shape = infer_size(size, input.array.size)
    check_view(input.array, shape)
    return VIEW(input, shape)  # type: ignore[no-any-return]


def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor of another shape: a view where possible, else a copy."""
    array = input.array
    shape = infer_size(shape, array.size)
    if array.flags.c_contiguous:
        return VIEW(input, shape)  # type: ignore[no-any-return]
    if _shares(array, shape):
        return RESHAPE_ALIAS(input, shape)  # type: ignore[no-any-return]
    return UNSAFE_VIEW(CONTIGUOUS(input), shape)  # type: ignore[no-any-return]


def as_dtype(input: Tensor, dtype: DType) -> Array:
    """The same memory read as another dtype. RuntimeError where sizes or strides do not allow it."""
    array, (have, want) = input.array, (input.dtype.itemsize, dtype.itemsize)
    if dtypes.bfloat16 in (dtype, input.dtype):
        raise runtime_error(f"view as another dtype is not part of gradcli for this tensor; use .to({dtype}) to convert the values")
    if have != want:
        pair = f"to view {input.dtype.torch_name} as {dtype.torch_name} (different element sizes)"
        if not array.ndim:
            raise runtime_error(f"self.dim() cannot be 0 {pair}")
        ratio = want // have
        if ratio > 1 and array.shape[-1] % ratio:
            raise runtime_error(f"self.size(-1) must be divisible by {ratio} {pair}, but got {array.shape[-1]}")
        offset = offset_in(memory_format.owner(array), array)
        if ratio > 1 and offset % ratio:
            raise runtime_error(f"self.storage_offset() must be divisible by {ratio} {pair}, but got {offset}")
        *outer, inner = memory_format.element_strides(array)
        if inner != 1:
            raise runtime_error(f"self.stride(-1) must be 1 {pair}, but got {inner}")
        for place, stride in enumerate(outer):
            if ratio > 1 and stride % ratio:
                raise runtime_error(f"self.stride({place}) must be divisible by {ratio} {pair}, but got {stride}")
        if not array.size:
            strides = (*(s // ratio if ratio else s * (have // want) for s in outer), 1)
            return memory_format.empty((*array.shape[:-1], array.shape[-1] * have // want), strides, dtype.np)
    try:
        return array.view(dtype.np)
    except ValueError as error:
        raise runtime_error(f"view as {dtype}: {error}") from None


def _view_dtype(input: Tensor, dtype: DType) -> Tensor:
    # PyTorch's is no differentiable view
    for name, what in (("conj", "conjugate view tensors"), ("neg", "tensors with negative bit set")):
        if input.property_of(name):
            raise runtime_error(f"torch.Tensor.view is not supported for {what} when converting to a different dtype.")
    made = Tensor(input.array if dtype is input.dtype else as_dtype(input, dtype), dtype)
    if state.inference:
        made.set_property("inference", True)
    elif not input.property_of("inference"):
        made.version = input.counter()
    return made


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from start_dim to end_dim joined to one."""
    shape = input.array.shape
    rank = len(shape)
    start, end = wrap_dim(start_dim, rank), wrap_dim(end_dim, rank)
    if start > end:
        raise runtime_error("flatten() has invalid args: start_dim cannot come after end_dim")
    if not rank:
        return reshape(input, (1,))
    if start == end:
        return input
    return reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


NO_SIZES = "unflatten: sizes must be non-empty"


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension split into several; one of `sizes` may be -1."""
    shape = input.array.shape
    at = wrap_dim(dim, len(shape))
    if not sizes:
        raise shape_error(NO_SIZES)
    if not shape:
        raise shape_error("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
    try:
        inferred = infer_size(sizes, shape[at])
    except ProgramError as error:
        if error.code is not Code.INVALID_VIEW_SIZE:
            raise shape_error(f"unflatten got an unexpected error:\n{error.message}") from None
        misfit = f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {at} ({shape[at]}) in the input tensor"
        raise runtime_error(misfit, Code.INVALID_VIEW_SIZE) from None
    return view(input, (*shape[:at], *inferred, *shape[at + 1 :]))


def ravel(input: Tensor) -> Tensor:
    """The elements in one dimension: a view where the tensor is contiguous, else a copy."""
    return VIEW(contiguous(input), (input.array.size,))  # type: ignore[no-any-return]


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


FUNCTIONS = (
    Function(
        "reshape",
        ("Tensor input, ints shape", reshape),
        doc="Another shape: a view where possible, else a copy.",
        ops=(RESHAPE_ALIAS, UNSAFE_VIEW),
        samples=(
            Sample("reshape(x, (3, 2))", lambda x: x.reshape(3, 2), x=_M),
            Sample("x.t().reshape(-1)", lambda x: x.T.reshape(-1), x=_M),
        ),
    ),
    Function(
        "reshape_as", ("Tensor input, Tensor other", lambda a, b: reshape(a, b.array.shape)), doc="The shape of other.", function=False
    ),
    Function(
        "view",
        ("Tensor input, dtype dtype", _view_dtype),
        ("Tensor input, ints size", view),
        doc="The same memory in another shape.",
        ops=(VIEW,),
        samples=(Sample("x.view(3, 2)", lambda x: x.reshape(3, 2), x=_M),),
        function=False,
    ),
    Function(
        "view_as",
        ("Tensor input, Tensor other", lambda a, b: view(a, b.array.shape)),
        doc="The same memory in the shape of other.",
        function=False,
    ),
    Function(
        "flatten",
        ("Tensor input, int start_dim=0, int end_dim=-1", flatten),
        doc="Dimensions from start_dim to end_dim made one.",
        samples=(Sample("flatten(x)", np.ravel, x=_M),),
    ),
    Function(
        "unflatten",
        ("Tensor input, int dim, ints sizes", unflatten),
        doc="One dimension made several.",
        samples=(Sample("unflatten(x, 1, (3, 1))", lambda x: x.reshape(2, 3, 1), x=_M),),
        method=False,
    ),
    Function("ravel", ("Tensor input", ravel), doc="One dimension.", samples=(Sample("ravel(x)", np.ravel, x=_M),)),
)
