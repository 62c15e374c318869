"""Arguments of reductions and their like: dimensions wrapped, what is wrong refused in PyTorch's words."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.core.tensor.dtypes import DType
from gradcli.errors import Code, ProgramError


def wrap_dim(dim: int, rank: int) -> int:
    """A dimension counted from 0; a 0-d tensor takes 0 and -1."""
    size = max(rank, 1)
    if not -size <= dim < size:
        raise ProgramError("IndexError", f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return dim % size


def wrap_dims(dims: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Dimensions counted from 0, in the order given; None and none at all mean every one."""
    if not dims:
        return tuple(range(rank))
    wrapped = tuple(wrap_dim(dim, rank) for dim in dims)
    for i, dim in enumerate(wrapped):
        if dim in wrapped[:i]:
            raise ProgramError("RuntimeError", f"dim {dim} appears multiple times in the list of dims")
    return wrapped if rank else ()


def not_implemented(kernel: str, dtype: DType) -> ProgramError:
    """The error of a kernel that PyTorch has not for a dtype."""
    text = f"\"{kernel}\" not implemented for '{dtype.torch_name}'"
    return ProgramError("NotImplementedError", text, code=Code.NO_KERNEL, names=(kernel, dtype.torch_name))
