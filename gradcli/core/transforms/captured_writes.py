"""What vmap knows of tensors while samples run: which are batched, what all samples have printed, and what may be written in place.

`vmap` refuses to write a sample into a tensor that is the same for all samples, whether it is captured or new. Here samples run one after
the other, so that what is written to a new tensor is known to be a sample when another sample writes something else.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.graph.write_checks import overload
from gradcli.core.kernels import Array, memory_format
from gradcli.core.tensor.state import Batching, WriteGuard, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.transforms.batched_results import batched_name
from gradcli.core.transforms.pytree import flatten
from gradcli.errors import ProgramError, runtime_error, shape_error

_LARGER = (
    "vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`. "
    "This happened due to `other` being vmapped over but `self` not being vmapped over {1}. Please try to use out-of-place operators "
    "instead of {0}. If said operator is being called inside the PyTorch framework, please file a bug report instead."
)
_FALLBACK = (
    "There is a performance drop because we have not yet implemented the batching rule for aten::{}. Please file us an issue on GitHub so "
    "that we can prioritize its implementation. (Triggered internally at "
    "/__w/pytorch/pytorch/aten/src/ATen/functorch/BatchedFallback.cpp:82.)"
)

#: operations whose kernel finds that the tensor has another shape than the result for all samples
_BROADCAST = "add_ atan2_ arctan2_ bitwise_and_ bitwise_or_ bitwise_xor_ copysign_ gcd_ lcm_"
#: operations that share the batching rule of arithmetic, and those that have one of their own
_ARITHMETIC = "sub_ mul_ multiply_ div_ divide_ true_divide_ copy_ clamp_min_ clamp_max_ logical_and_ logical_or_ logical_xor_"
_RULES = "index_put_ index_add_ scatter_add_ scatter_reduce_ fill_ index_fill_"

#: what is not looked into for tensors: plain values, and functions of Python's own, which are the interpreter's
_OPAQUE = (
    *(type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.FrameType, types.GeneratorType),
    *(str, int, float, complex, bytes, np.ndarray, np.generic, np.dtype, type(None)),
)
_HERE = __name__.rpartition(".")[0]
_MOST_OBJECTS = 100_000


def _memory(tensor: Tensor) -> Array:
    """The array that owns the tensor's memory."""
    return memory_format.owner(tensor.array)


def _reached(function: Any) -> dict[int, Array]:
    """The memory of all tensors that a function finds in its globals, cells and attributes, by identity."""
    found: dict[int, Array] = {}
    seen: set[int] = set()
    stack = [function]
    while stack and len(seen) < _MOST_OBJECTS:
        value = stack.pop()
        if isinstance(value, types.FunctionType) and value.__module__.startswith(_HERE):
            stack += [cell.cell_contents for cell in value.__closure__ or ()]  # such as the function that `grad` differentiates
        if id(value) in seen or isinstance(value, _OPAQUE):
            continue
        seen.add(id(value))
        if type(value) is Tensor:
            memory = _memory(value)
            found[id(memory)] = memory
        else:
            stack += gc.get_referents(value)
    return found


class Batch:
    """What the samples of one call of vmap have written, each in the same order."""

    __slots__ = ("at", "captured", "count", "dims", "drawn", "given", "sample", "shown", "told", "whole", "written")

    def __init__(self, count: int, drawn: bool, whole: Sequence[Any], dims: Sequence[int | None]) -> None:
        self.count = count
        #: the arguments, and the dimensions of the samples in them
        self.whole, self.dims = whole, dims
        #: what the running sample is in each of them
        self.given: Sequence[Any] = ()
        #: the values whose text was asked for, text by text, and how many texts the running sample has asked for
        self.shown: list[list[Array]] = []
        self.told = 0
        #: whether each sample draws random numbers of its own
        self.drawn = drawn
        self.sample = self.at = -1
        #: what the function finds outside, which is the same for all samples
        self.captured: dict[int, Array] | None = None
        #: what the first sample has written, write by write
        self.written: list[list[Array]] = []

    def begin(self, given: Sequence[Any]) -> None:
        """The next sample runs."""
        self.sample += 1
        self.at = -1
        self.told = 0
        self.given = given

    @property
    def last(self) -> bool:
        """Whether the sample runs that prints."""
        return self.sample >= self.count - 1

    def argument(self, tensor: Tensor) -> tuple[Tensor, int] | None:
        """The argument that a tensor is the running sample of, and the dimension of the batch in it."""
        found = (k for k, own in enumerate(self.given) if own is tensor)
        k = next(found, None)
        dim = None if k is None else self.dims[k]
        return None if k is None or dim is None else (self.whole[k], dim % self.whole[k].array.ndim)

    def gathered(self, array: Array, place: int) -> Array | None:
        """The values that all samples have at this place of the function, None as long as not all have run."""
        if self.told == len(self.shown):
            self.shown.append([])
        others = self.shown[self.told]
        self.told += 1
        if not self.last:
            others.append(array.copy())
            return None
        if not self.count:
            return np.zeros((*array.shape[:place], 0, *array.shape[place:]), array.dtype)
        if len(others) != self.count - 1 or any(other.shape != array.shape for other in others):
            raise ProgramError("NotImplementedError", "printing where samples of vmap take different ways is not part of gradcli")
        limits.check_elements(array.size * self.count, array.itemsize)
        return np.stack([array, *others], place)

    def differs(self, operands: Sequence[Tensor]) -> bool:
        """Whether the first sample has written other values at this place."""
        self.at += 1
        values = [operand.array for operand in operands]
        if not self.sample:
            self.written.append([value.copy() for value in values])
            return False
        first = self.written[self.at] if self.at < len(self.written) else []
        pairs = [(a, b) for a, b in zip(first, values, strict=False) if a.shape == b.shape]
        return any(not np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)


class Running:
    """A function that vmap runs for one sample, in `state.writes`."""

    __slots__ = ("arguments", "batch", "captured", "function", "level", "new", "outer")

    def __init__(self, function: Any, args: Sequence[Any], batch: Batch) -> None:
        self.function = function
        self.outer: WriteGuard | None = state.writes
        self.level = len(state.transforms)
        self.batch = batch
        self.arguments = args
        #: the memory that the function finds outside, None until it is asked for
        self.captured = batch.captured
        #: the memory of tensors that it has made, and that depend on no sample
        self.new: dict[int, Array] = {}

    def note(self, tensor: Tensor) -> None:
        """Note a new tensor that depends on no sample."""
        if not self.batch.drawn:
            memory = _memory(tensor)
            self.new[id(memory)] = memory
        if self.outer is not None:
            self.outer.note(tensor)

    def check(self, tensor: Tensor, name: str, operands: Sequence[Any]) -> None:
        """Raise PyTorch's error for a write of `operands` to a tensor by the operation `name`."""
        self._check_batch(self.batch, tensor, name, operands, self._is_captured(id(_memory(tensor))))
        if self.outer is not None:
            self.outer.check(tensor, name, operands)

    def is_shared(self, tensor: Tensor) -> bool:
        """Whether a tensor is known to be the same for all samples of vmap."""
        return self._is_same(tensor) and (self.outer is None or self.outer.is_shared(tensor))

    def holds(self, tensor: Tensor) -> bool:
        """Whether a tensor may be another for each sample."""
        return self.batch.argument(tensor) is not None or not self._is_same(tensor)

    def _is_same(self, tensor: Tensor) -> bool:
        """Whether a tensor is known to be the same for all samples of this call; the argument as a whole is."""
        memory = id(_memory(tensor))
        return memory in self.new or any(tensor is whole for whole in self.batch.whole) or self._is_captured(memory)

    def batches(self, tensor: Tensor) -> list[Batching]:
        """The levels of vmap in which a tensor is batched, the innermost first."""
        own = []
        if self.holds(tensor):
            argument, dim = self.batch.argument(tensor) or (None, 0)
            own = [Batching(self.level, argument, dim, self.batch.gathered, batched_name)]
        return own if self.outer is None else [*own, *self.outer.batches(tensor)]

    def hides(self, tensor: Tensor) -> bool:
        """Whether vmap is the innermost level of a tensor, so that programs see nothing of its history."""
        levels, batches = tensor.property_of("levels"), self.batches(tensor)
        return bool(batches) and (not levels or batches[0].number > levels[-1].number)

    def _is_captured(self, memory: int) -> bool:
        if self.captured is None:
            leaves, _ = flatten(tuple(self.arguments))
            dims = self.batch.dims if len(leaves) == len(self.batch.dims) else [0] * len(leaves)
            tensors = [(leaf, dim) for leaf, dim in zip(leaves, dims, strict=True) if type(leaf) is Tensor]
            given = {id(_memory(leaf)) for leaf, dim in tensors if dim is not None}
            whole = {id(memory): memory for leaf, dim in tensors if dim is None for memory in [_memory(leaf)]}
            self.captured = {key: array for key, array in (_reached(self.function) | whole).items() if key not in given}
            self.batch.captured = self.captured
        return memory in self.captured

    def _check_batch(self, batch: Batch, tensor: Tensor, name: str, operands: Sequence[Any], outside: bool) -> None:
        others = [operand for operand in operands if type(operand) is Tensor]
        if outside:
            known = self.new | (self.captured or {})
            if any(id(_memory(other)) not in known for other in others):
                raise self._larger(batch, tensor, name, operands)
            if batch.count > 1:
                text = f"{name} of a tensor from outside the function within vmap is not part of gradcli"
                raise ProgramError("NotImplementedError", text)
        elif id(_memory(tensor)) in self.new and others and batch.differs(others):
            raise self._larger(batch, tensor, name, operands)

    def _larger(self, batch: Batch, tensor: Tensor, name: str, operands: Sequence[Any]) -> ProgramError:
        if name in _BROADCAST.split():
            shapes = [operand.array.shape for operand in operands if type(operand) is Tensor]
            whole = [batch.count, *np.broadcast_shapes(tensor.array.shape, *shapes)]
            return shape_error(f"output with shape {list(tensor.array.shape)} doesn't match the broadcast shape {whole}")
        if name in _ARITHMETIC.split() or (name == "masked_fill_" and type(operands[-1]) is not Tensor):
            return runtime_error(_LARGER.format("inplace arithmetic", "in a vmap"))
        if name in _RULES.split():
            return runtime_error(_LARGER.format(name, "in a vmap"))
        warnings.emit(_FALLBACK.format(name + overload(name, operands)))
        return runtime_error(_LARGER.format(f"aten::{name}", f"at level {self.level}"))
