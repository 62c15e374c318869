"""What a tensor that vmap has batched has in place of an array: the tensor of all samples.

The function that vmap calls sees tensors of the shape of one sample. An operation record that meets one among its inputs computes on
the tensors of all samples. Code that asks for the elements themselves is told by `needs_samples` to come back with one sample at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NoReturn

from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, ones_like
from gradcli.errors import Code, ProgramError


def needs_samples() -> ProgramError:
    """The error of somebody who asks for the elements of a batched tensor, which are there for one sample after the other only."""
    text = "this use of the elements of a batched tensor within vmap is not part of gradcli"
    return ProgramError("NotImplementedError", text, code=Code.NEEDS_SAMPLES)


class Level:
    """One call of vmap that is running: its number among the transforms, how many samples there are, and what is in force outside."""

    __slots__ = ("drawing", "dual", "number", "open", "size", "within")

    def __init__(self, size: int, drawing: Any = None) -> None:
        #: how many transforms run, this one included
        self.number = len(state.transforms) + 1
        #: whether the call has not ended
        self.open = True
        self.size = size
        #: the random numbers of the samples
        self.drawing = drawing
        self.within, self.dual = state.within, state.dual


class Flags:
    """The flags of an array that programs and formats ask for."""

    __slots__ = ("c_contiguous", "f_contiguous", "writeable")

    def __init__(self, array: BatchedArray) -> None:
        self.c_contiguous = _is_dense(array, range(array.ndim - 1, -1, -1))
        self.f_contiguous = _is_dense(array, range(array.ndim))
        self.writeable = array.value.array.flags.writeable


def _is_dense(array: BatchedArray, inner_first: Iterable[int]) -> bool:
    step = array.itemsize
    for dim in inner_first:
        if array.shape[dim] != 1 and array.strides[dim] != step:
            return not array.size
        step *= array.shape[dim]
    return True


class BatchedArray:
    """The array of a batched tensor: shape, dtype and strides of one sample; `value` has the batch as dimension `dim`.

    Without `dim` it is that of a tensor which is the same for all samples, but has a history of its own within the level.
    """

    #: known by `Tensor.batch`
    BATCHED = True
    __slots__ = ("dim", "dtype", "level", "ndim", "shape", "size", "value")

    level: Any

    def __init__(self, value: Tensor, dim: int | None, level: Any) -> None:
        array = value.array
        self.value = value
        self.dim = None if dim is None else dim % array.ndim
        self.level = level
        self.dtype = array.dtype
        self.shape = self._of_sample(array.shape)
        self.ndim = len(self.shape)
        self.size = math.prod(self.shape)

    def _of_sample(self, values: tuple[int, ...]) -> tuple[int, ...]:
        return values if self.dim is None else (*values[: self.dim], *values[self.dim + 1 :])

    def of(self, value: Tensor) -> BatchedArray:
        """The same batch of other values."""
        return BatchedArray(value, self.dim, self.level)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """The bytes of a sample."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides of a sample in bytes."""
        return self._of_sample(self.value.array.strides)

    @property
    def flags(self) -> Flags:
        """Whether a sample is contiguous, and whether it may be written."""
        return Flags(self)

    @property
    def base(self) -> None:
        """A batched array is no view of another array."""
        return None

    def item(self) -> Any:
        """The only element of a tensor that is the same for all samples."""
        return self.value.item() if self.dim is None else self.need_samples()

    def tolist(self) -> Any:
        """The elements of a tensor that is the same for all samples."""
        return self.value.tolist() if self.dim is None else self.need_samples()

    def __len__(self) -> int:
        return self.shape[0]

    def __getattr__(self, name: str) -> NoReturn:
        raise needs_samples()

    def need_samples(self, *_: Any, **__: Any) -> NoReturn:
        """Tell that elements are there for one sample after the other only."""
        raise needs_samples()

    __array__ = __array_ufunc__ = __array_function__ = need_samples
    __getitem__ = __setitem__ = __iter__ = __bool__ = __float__ = __int__ = __index__ = __complex__ = __contains__ = need_samples
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = need_samples
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __matmul__ = __rmatmul__ = __neg__ = __pos__ = __abs__ = __invert__ = need_samples
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rshift__ = need_samples
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = __ifloordiv__ = __imod__ = __iand__ = __ior__ = __ixor__ = need_samples
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = need_samples
    __hash__ = object.__hash__


def innermost(values: Iterable[Any]) -> Any:
    """The innermost level among batched tensors and arrays, in lists and tuples too, or one that has ended; None where there is none."""
    found: Any = None
    for value in values:
        kind = type(value)
        if kind is list or kind is tuple or (kind is not BatchedArray and isinstance(value, tuple)):
            level = innermost(value)
        elif kind is dict:
            level = innermost(value.values())
        else:
            array = value if kind is BatchedArray else value.array if kind is Tensor else None
            level = array.level if type(array) is BatchedArray else None
        if level is not None and (found is None or not level.open or (found.open and level.number > found.number)):
            found = level
    return found


def levels(tensor: Tensor) -> list[Level]:
    """The calls of vmap for each of whose samples a tensor is another, the innermost first."""
    found: list[Level] = []
    array: Any = tensor.array
    while type(array) is BatchedArray:
        if array.dim is not None:
            found.append(array.level)
        array = array.value.array
    return found


def hides(tensor: Tensor) -> bool:
    """Whether vmap is the innermost level of a tensor, so that programs see nothing of its history."""
    innermost, own = tensor.property_of("levels"), levels(tensor)
    return bool(own) and (not innermost or own[0].number > innermost[-1].number)


def of_all_samples(array: Any) -> Any:
    """The plain array that holds the elements of all samples; an array that is no batched one itself."""
    while type(array) is BatchedArray:
        array = array.value.array
    return array


def ones_of_samples(tensor: Tensor) -> Tensor:
    """Ones of the shape of a tensor, for each of its samples others, without history."""
    array: Any = tensor.array
    if type(array) is not BatchedArray:
        return ones_like(tensor)
    return Tensor(array.of(ones_of_samples(array.value)), tensor.dtype)  # type: ignore[arg-type]


def below(tensor: Tensor) -> Tensor:
    """The tensor of all samples, which has the history outside of all vmaps."""
    array: Any = tensor.array
    return below(array.value) if type(array) is BatchedArray else tensor
