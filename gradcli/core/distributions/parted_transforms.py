"""Transforms of tensors by parts: each part along a dimension has a transform of its own."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.script_types import Attributes, sequence_of
from gradcli.core.calling.type_errors import no_attribute, not_ordered, type_error
from gradcli.core.distributions import constraints
from gradcli.core.distributions.functions import f, sum_last
from gradcli.core.distributions.transforms import Transform
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


class Parted(Transform, known=False):
    """What `CatTransform` and `StackTransform` share."""

    SCRIPT_ATTRIBUTES = Transform.SCRIPT_ATTRIBUTES | Attributes.read("transforms")
    COMPARED = staticmethod(lambda transform: [id(transform)])
    transforms: list[Transform]
    dim: int
    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def keep(self, given: dict[str, Any]) -> None:
        self.transforms = list(sequence_of(given.pop("tseq")))
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ProgramError("AssertionError", "All elements of tseq must be Transform instances")
        if type(given["dim"]) is not int:
            raise not_ordered("<=", 0, given["dim"])
        super().keep(given)
        self.cache_parts()

    def cache_parts(self) -> None:
        if self.cache_size:
            self.transforms = [t.with_cache() for t in self.transforms]

    @property
    def size(self) -> tuple[int, str]:
        """The elements along `dim`, and what PyTorch's error calls that number."""
        raise NotImplementedError

    def parts(self, whole: Tensor, name: str, called: str) -> list[Tensor]:
        """The parts that each transform takes. AssertionError where there is no such dimension in `called`, or a size does not fit."""
        if type(whole) is not Tensor:
            raise no_attribute(whole, "dim")
        if not -whole.dim() <= self.dim < whole.dim():
            raise ProgramError("AssertionError", f"dim {self.dim} out of range for {called} with {whole.dim()} dimensions")
        count, text = self.size
        if whole.shape[self.dim] != count:
            raise ProgramError("AssertionError", f"{name}.size({self.dim}) = {whole.shape[self.dim]} must equal {text} {count}")
        return self.cut(whole)

    def cut(self, whole: Tensor) -> list[Tensor]:
        """The parts of a tensor that has the right size."""
        raise NotImplementedError

    def joined(self, parts: list[Tensor]) -> Tensor:
        """The whole of such parts."""
        raise NotImplementedError

    def forward(self, x: Any) -> Tensor:
        parts = self.parts(x, "x", "tensor")
        return self.joined([t(part) for t, part in zip(self.transforms, parts, strict=True)])

    def backward(self, y: Any) -> Tensor:
        parts = self.parts(y, "y", "tensor")
        return self.joined([t.invert(part) for t, part in zip(self.transforms, parts, strict=True)])

    def determinants(self, x: Any, y: Any) -> list[Tensor]:
        """The logarithms of the determinants, for each part."""
        pairs = zip(self.transforms, self.parts(x, "x", "x"), self.parts(y, "y", "y"), strict=True)
        return [t.log_abs_det_jacobian(before, after) for t, before, after in pairs]


class CatTransform(Parted):
    """Parts of given lengths along a dimension, which are put together by `cat`."""

    ARGUMENTS = {"tseq": REQUIRED, "dim": 0, "lengths": None, "cache_size": 0}
    SCRIPT_ATTRIBUTES = Parted.SCRIPT_ATTRIBUTES | Attributes.read("length")
    lengths: list[int]
    domain = property(lambda self: constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths))
    codomain = property(lambda self: constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths))
    length = property(lambda self: sum(self.lengths))
    size = property(lambda self: (self.length, "length"))

    def keep(self, given: dict[str, Any]) -> None:
        lengths = given.pop("lengths")
        super().keep(given)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(sequence_of(lengths))
        if len(self.lengths) != len(self.transforms):
            text = f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            raise ProgramError("AssertionError", text)
        for length in self.lengths:
            if type(length) is not int:
                raise type_error("unsupported operand type(s) for +: 'int' and '{}'", length)

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    def cut(self, whole: Tensor) -> list[Tensor]:
        starts = [sum(self.lengths[:k]) for k in range(len(self.lengths))]
        return [f.narrow(whole, self.dim, start, length) for start, length in zip(starts, self.lengths, strict=True)]

    def joined(self, parts: list[Tensor]) -> Tensor:
        made: Tensor = f.cat(parts, dim=self.dim)
        return made

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        events = self.event_dim
        found = [sum_last(one, events - t.event_dim) for one, t in zip(self.determinants(x, y), self.transforms, strict=True)]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + events
        made: Tensor = f.cat(found, dim=dim) if dim < 0 else sum(found[1:], 0 + found[0])
        return made


class StackTransform(Parted):
    """One transform for each index along a dimension; what they give is put together by `stack`."""

    ARGUMENTS = {"tseq": REQUIRED, "dim": 0, "cache_size": 0}
    domain = property(lambda self: constraints.stack([t.domain for t in self.transforms], self.dim))
    codomain = property(lambda self: constraints.stack([t.codomain for t in self.transforms], self.dim))
    size = property(lambda self: (len(self.transforms), "len(transforms)"))

    def cut(self, whole: Tensor) -> list[Tensor]:
        return [f.select(whole, self.dim, k) for k in range(len(self.transforms))]

    def joined(self, parts: list[Tensor]) -> Tensor:
        made: Tensor = f.stack(parts, dim=self.dim)
        return made

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return self.joined(self.determinants(x, y))
