"""Other shapes of the same elements: views where memory allows, copies where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.shape.casting import ALIAS, CONTIGUOUS
from gradcli.core.ops.shape.view_records import (
    EXPAND,
    PERMUTE,
    RESHAPE_ALIAS,
    SQUEEZE,
    SQUEEZE_DIM,
    SQUEEZE_DIMS,
    T_RECORD,
    TRANSPOSE,
    UNSAFE_VIEW,
    UNSQUEEZE,
    VIEW,
)
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import Code, ProgramError, runtime_error

# --- view and reshape ---


def infer_size(shape: Sequence[int], count: int) -> tuple[int, ...]:
    """A shape with its -1 computed; PyTorch's errors where it does not fit `count` elements."""
    known = 1
    hole = -1
    for i, n in enumerate(shape):
        if n == -1:
            if hole >= 0:
                raise ProgramError("RuntimeError", "only one dimension can be inferred")
            hole = i
        elif n < 0:
            raise ProgramError("RuntimeError", f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
        else:
            known *= n
    if known == count and hole < 0:
        return tuple(shape)
    if hole >= 0 and known > 0 and count % known == 0:
        return (*shape[:hole], count // known, *shape[hole + 1 :])
    if hole >= 0 and known == 0 and count == 0:
        raise ProgramError(
            "RuntimeError",
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be any "
            "value and is ambiguous",
        )
    raise runtime_error(f"shape '{list(shape)}' is invalid for input of size {count}", Code.INVALID_VIEW_SIZE)


def _shares(array: Array, shape: tuple[int, ...]) -> bool:
    """Whether the elements can be seen in this shape without a copy."""
    if array.flags.c_contiguous or not array.size:
        return True
    return np.may_share_memory(array.reshape(shape), array)


def view(input: Tensor, size: Sequence[int]) -> Tensor:
    """The same memory in another shape."""
    shape = infer_size(size, input.array.size)
    if not _shares(input.array, shape):
        raise ProgramError(
            "RuntimeError",
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead.",
        )
    return VIEW(input, shape)  # type: ignore[no-any-return]


def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """Another shape: a view where possible, else a copy."""
    array = input.array
    shape = infer_size(shape, array.size)
    if array.flags.c_contiguous:
        return VIEW(input, shape)  # type: ignore[no-any-return]
    if _shares(array, shape):
        return RESHAPE_ALIAS(input, shape)  # type: ignore[no-any-return]
    return UNSAFE_VIEW(CONTIGUOUS(input), shape)  # type: ignore[no-any-return]


def check_same_dtype(input: Tensor, dtype: Any) -> None:
    """Refuse the bits of one dtype as another."""
    if dtype is not input.dtype:
        raise ProgramError("RuntimeError", f"view as another dtype is not part of gradcli; use .to({dtype}) to convert the values")


def _view_dtype(input: Tensor, dtype: Any) -> Tensor:
    check_same_dtype(input, dtype)
    return input


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions from start_dim to end_dim made one."""
    shape = input.array.shape
    rank = len(shape)
    start, end = wrap_dim(start_dim, rank), wrap_dim(end_dim, rank)
    if start > end:
        raise ProgramError("RuntimeError", "flatten() has invalid args: start_dim cannot come after end_dim")
    if not rank:
        return reshape(input, (1,))
    if start == end:
        return input
    count = 1
    for n in shape[start : end + 1]:
        count *= n
    return reshape(input, (*shape[:start], count, *shape[end + 1 :]))


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension made several."""
    shape = input.array.shape
    at = wrap_dim(dim, len(shape))
    if not sizes:
        raise ProgramError("RuntimeError", "unflatten: sizes must be non-empty")
    if not shape:
        raise ProgramError("RuntimeError", "unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
    try:
        parts = infer_size(sizes, shape[at])
    except ProgramError as error:
        if error.code is not Code.INVALID_VIEW_SIZE:
            raise
        raise ProgramError(
            "RuntimeError",
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {at} ({shape[at]}) in the input tensor",
        ) from None
    return view(input, (*shape[:at], *parts, *shape[at + 1 :]))


def ravel(input: Tensor) -> Tensor:
    """One dimension."""
    dense = input if input.array.flags.c_contiguous else CONTIGUOUS(input)
    return VIEW(dense, (input.array.size,))  # type: ignore[no-any-return]


# --- the order of dimensions ---


def t(input: Tensor) -> Tensor:
    """The transposed matrix."""
    rank = input.array.ndim
    if rank > 2:
        raise ProgramError("RuntimeError", f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return T_RECORD(input)  # type: ignore[no-any-return]


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions swapped."""
    rank = input.array.ndim
    wrap_dim(dim0, rank)
    wrap_dim(dim1, rank)
    return TRANSPOSE(input, dim0, dim1)  # type: ignore[no-any-return]


def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Dimensions in another order."""
    rank = input.array.ndim
    if len(dims) != rank:
        raise ProgramError(
            "RuntimeError",
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {len(dims)}",
        )
    if len({wrap_dim(d, rank) for d in dims}) != rank:
        raise ProgramError("RuntimeError", "permute(): duplicate dims are not allowed.")
    return PERMUTE(input, tuple(dims))  # type: ignore[no-any-return]


def movedim(input: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor:
    """Some dimensions moved to other places, the rest in order."""
    rank = input.array.ndim
    if len(source) != len(destination):
        raise ProgramError(
            "RuntimeError",
            "movedim: Invalid source or destination dims: source "
            f"({list(source)} dims) should contain the same number of dims as destination ({list(destination)} dims)",
        )
    froms, tos = [wrap_dim(d, rank) for d in source], [wrap_dim(d, rank) for d in destination]
    for name, dims, given in (("source", froms, source), ("destination", tos, destination)):
        if len(set(dims)) != len(dims):
            raise ProgramError("RuntimeError", f"movedim: repeated dim in `{name}` ({list(given)})")
    if not rank:
        return ALIAS(input)  # type: ignore[no-any-return]
    rest = iter(d for d in range(rank) if d not in froms)
    return PERMUTE(input, tuple(froms[tos.index(i)] if i in tos else next(rest) for i in range(rank)))  # type: ignore[no-any-return]


def T(input: Tensor) -> Tensor:
    """`x.T`: the dimensions in reverse."""
    rank = input.array.ndim
    from gradcli.core.calling import warnings

    if rank == 0:
        warnings.emit(
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases. (Triggered internally at "
            "/__w/pytorch/pytorch/aten/src/ATen/native/TensorShape.cpp:4321.)",
            once="T of a number",
        )
    elif rank != 2:
        warnings.emit(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error "
            "in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` "
            "to reverse the dimensions of a tensor. (Triggered internally at "
            "/__w/pytorch/pytorch/aten/src/ATen/native/TensorShape.cpp:4314.)",
            once="T",
        )
    return PERMUTE(input, tuple(range(rank - 1, -1, -1)))  # type: ignore[no-any-return]


def H(input: Tensor) -> Tensor:
    """`x.H`: the transposed matrix."""
    rank = input.array.ndim
    if rank not in (0, 2):
        more = " For batches of matrices, consider using tensor.mH" if rank > 2 else ""
        raise ProgramError("RuntimeError", f"tensor.H is only supported on matrices (2-D tensors). Got {rank}-D tensor.{more}")
    if rank == 0:
        from gradcli.core.calling import warnings

        warnings.emit(
            "Tensor.H is deprecated on 0-D tensors. Consider using x.conj(). (Triggered internally at "
            "/__w/pytorch/pytorch/aten/src/ATen/native/TensorShape.cpp:4335.)",
            once="H",
        )
        return input
    return TRANSPOSE(input, 0, 1)  # type: ignore[no-any-return]


#: what is said of numbers, and where PyTorch says it
_OF_NUMBERS = {
    "mT": ("This function is the identity in these cases.", 4373),
    "mH": ("Consider using x.conj().", 4382),
    "adjoint()": ("Consider using x.conj().", 4390),
}


def mT(input: Tensor, name: str = "mT") -> Tensor:
    """`x.mT`, `x.mH` and `x.adjoint()`: the last two dimensions swapped."""
    rank = input.array.ndim
    if not rank:
        from gradcli.core.calling import warnings

        what, line = _OF_NUMBERS[name]
        what, line = _OF_NUMBERS[name]
        warnings.emit(
            f"{'' if name == 'adjoint()' else 'Tensor.'}{name} is deprecated on 0-D tensors. {what} (Triggered internally at "
            f"/__w/pytorch/pytorch/aten/src/ATen/native/TensorShape.cpp:{line}.)",
            once=name,
        )
        return input
    if rank < 2:
        raise ProgramError("RuntimeError", f"tensor.{name} is only supported on matrices or batches of matrices. Got {rank}-D tensor.")
    return TRANSPOSE(input, -2, -1)  # type: ignore[no-any-return]


# --- dimensions of size 1 ---


def squeeze(input: Tensor) -> Tensor:
    """Without dimensions of size 1."""
    return SQUEEZE(input)  # type: ignore[no-any-return]


def squeeze_dim(input: Tensor, dim: int) -> Tensor:
    """Without one dimension, if its size is 1."""
    wrap_dim(dim, input.array.ndim)
    return SQUEEZE_DIM(input, dim)  # type: ignore[no-any-return]


def squeeze_dims(input: Tensor, dim: Sequence[int]) -> Tensor:
    """Without those of the dimensions whose size is 1."""
    rank = input.array.ndim
    seen: set[int] = set()
    for d in dim:
        at = wrap_dim(d, rank)
        if at in seen:
            raise ProgramError("RuntimeError", f"dim {at} appears multiple times in the list of dims")
        seen.add(at)
    return SQUEEZE_DIMS(input, tuple(dim))  # type: ignore[no-any-return]


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a new dimension of size 1."""
    wrap_dim(dim, input.array.ndim + 1)
    return UNSQUEEZE(input, dim)  # type: ignore[no-any-return]


# --- expansion ---


def expanded_shape(input: Tensor, size: Sequence[int]) -> tuple[int, ...]:
    """The shape that `expand(size)` gives; PyTorch's errors."""
    have = input.array.shape
    lead = len(size) - len(have)
    if lead < 0:
        raise ProgramError(
            "RuntimeError",
            f"expand(torch.{input.dtype.torch_name}Tensor{{{list(have)}}}, size={list(size)}): the number of sizes provided ({len(size)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({len(have)})",
        )
    shape = list(size)
    for i in range(len(size) - 1, -1, -1):
        n = size[i]
        if i < lead:
            if n < 0:
                raise ProgramError(
                    "RuntimeError", f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {i}"
                )
            continue
        old = have[i - lead]
        if n == -1:
            shape[i] = old
        elif n != old and old != 1:
            raise ProgramError(
                "RuntimeError",
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at non-singleton dimension {i}.  "
                f"Target sizes: {list(size)}.  Tensor sizes: {list(have)}",
            )
    return tuple(shape)


def expand(input: Tensor, size: Sequence[int], implicit: bool = False) -> Tensor:
    """Repeated along dimensions of size 1 and new leading ones, without a copy."""
    shape = expanded_shape(input, size)
    count = 1
    for n in shape:
        count *= n
    limits.check_elements(count, input.dtype.itemsize)
    return EXPAND(input, shape)  # type: ignore[no-any-return]


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_O: Any = [[[1.0], [2.0], [3.0]]]

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
    Function(
        "Tensor.unflatten",
        ("Tensor input, int dim, ints sizes", unflatten),
        doc="One dimension made several.",
        samples=(Sample("x.unflatten(1, (3, 1))", lambda x: x.reshape(2, 3, 1), x=_M),),
        function=False,
        python="Tensor.unflatten",
    ),
    Function("ravel", ("Tensor input", ravel), doc="One dimension.", samples=(Sample("ravel(x)", np.ravel, x=_M),)),
    Function("t", ("Tensor input", t), doc="The transposed matrix.", ops=(T_RECORD,), samples=(Sample("x.t()", np.transpose, x=_M),)),
    Function(
        "transpose",
        ("Tensor input, int dim0, int dim1", transpose),
        doc="Two dimensions swapped.",
        ops=(TRANSPOSE,),
        samples=(Sample("transpose(x, 0, -1)", np.transpose, x=_M),),
    ),
    Function(
        "swapaxes",
        ("Tensor input, int axis0, int axis1", transpose),
        doc="Two dimensions swapped.",
        samples=(Sample("swapaxes(x, 0, 1)", np.transpose, x=_M),),
    ),
    Function(
        "swapdims",
        ("Tensor input, int dim0, int dim1", transpose),
        doc="Two dimensions swapped.",
        samples=(Sample("swapdims(x, 0, 1)", np.transpose, x=_M),),
    ),
    Function(
        "permute",
        ("Tensor input, ints dims", permute),
        doc="Dimensions in another order.",
        ops=(PERMUTE,),
        samples=(Sample("permute(x, (2, 0, 1))", lambda x: np.transpose(x, (2, 0, 1)), x=_O),),
    ),
    Function(
        "movedim",
        ("Tensor input, int source, int destination", lambda a, s, d: movedim(a, (s,), (d,))),
        ("Tensor input, ints source, ints destination", movedim),
        doc="Dimensions moved to other places.",
        aliases=("moveaxis",),
        samples=(Sample("movedim(x, 0, 2)", lambda x: np.moveaxis(x, 0, 2), x=_O),),
    ),
    Function(
        "adjoint",
        ("Tensor input", lambda a: mT(a, "adjoint()")),
        doc="The last two dimensions swapped.",
        samples=(Sample("adjoint(x)", np.transpose, x=_M),),
    ),
    Function(
        "squeeze",
        ("Tensor input", squeeze),
        ("Tensor input, int dim", squeeze_dim),
        ("Tensor input, ints dim", squeeze_dims),
        doc="Without dimensions of size 1.",
        ops=(SQUEEZE, SQUEEZE_DIM, SQUEEZE_DIMS),
        samples=(
            Sample("squeeze(x)", np.squeeze, x=_O),
            Sample("squeeze(x, -1)", lambda x: x[..., 0], x=_O),
            Sample("squeeze(x, (0, 2))", np.squeeze, x=_O),
        ),
    ),
    Function(
        "unsqueeze",
        ("Tensor input, int dim", unsqueeze),
        doc="With a new dimension of size 1.",
        ops=(UNSQUEEZE,),
        samples=(Sample("unsqueeze(x, -1)", lambda x: x[..., None], x=_M),),
    ),
    Function(
        "expand",
        ("Tensor input, ints size, *, bool implicit=False", expand),
        doc="Repeated along dimensions of size 1, without a copy.",
        ops=(EXPAND,),
        samples=(Sample("x.expand(2, 3, 4)", lambda x: np.broadcast_to(x, (2, 3, 4)), x=_O), Sample("x.expand(2, -1, -1)", None, x=_O)),
        function=False,
    ),
    Function(
        "expand_as",
        ("Tensor input, Tensor other", lambda a, b: expand(a, b.array.shape)),
        doc="Expanded to the shape of other.",
        function=False,
    ),
    Function(
        "broadcast_to",
        ("Tensor input, ints size", expand),
        doc="Repeated to a larger shape, without a copy.",
        samples=(Sample("broadcast_to(x, (2, 2, 3))", lambda x: np.broadcast_to(x, (2, 2, 3)), x=_M),),
    ),
)
