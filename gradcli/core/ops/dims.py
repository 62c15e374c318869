"""Dimensions as arguments: negative ones wrapped, wrong ones refused in PyTorch's words."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.errors import ProgramError


def wrap_dim(dim: int, rank: int) -> int:
    """A dimension counted from 0; a 0-d tensor takes 0 and -1."""
    size = max(rank, 1)
    if not -size <= dim < size:
        raise ProgramError("IndexError", f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return dim % size


def wrap_dims(dims: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Dimensions counted from 0, in the order given; None and none are all of them."""
    if not dims:
        return tuple(range(rank))
    wrapped = tuple(wrap_dim(dim, rank) for dim in dims)
    for i, dim in enumerate(wrapped):
        if dim in wrapped[:i]:
            raise ProgramError("RuntimeError", f"dim {dim} appears multiple times in the list of dims")
    return wrapped if rank else ()


def kept_shape(shape: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    """The shape with the reduced dimensions as 1."""
    return tuple(1 if i in dims else n for i, n in enumerate(shape))
