"""Views whose numbers are others than their base's: real parts of complex numbers, pairs of real ones as complex ones, conjugates.

Where a view lies does not say what it has of its base, so that it knows the steps from the base to itself.
"""

from __future__ import annotations

from typing import Any

from gradcli.core.graph import strided
from gradcli.core.graph.record import Op
from gradcli.core.kernels import Array
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error

Steps = tuple[tuple[Any, Array], ...]


class Recast(Op):
    """A view of other numbers. Its views, and views of its views, are made of the base by the same steps again."""

    __slots__ = ()

    def _mark_view(self, out: Tensor, source: Tensor, creation: str = "default") -> None:
        super()._mark_view(out, source, creation)
        assert out.view is not None
        before: Steps = () if source.view is None else source.view.steps or ((None, source.array),)
        out.view.steps = (*before, (self, out.array))


def replayed(whole: Tensor, base: Array, steps: Steps) -> Tensor:
    """What the steps from `base` to its view make of `whole`, which lies as the base does."""
    for op, array in steps:
        if op is not None:
            whole = op(whole)
        else:
            part, own = strided.geometry(array, base), strided.own_geometry(base)
            if part[2] < 0 or part[2] + strided.extent(*part[:2]) > strided.extent(*own[:2]):
                raise runtime_error("a view of other numbers than those of its base, and beyond the base, is not part of gradcli")
            seen = Tensor(strided.seen(whole.array, part), whole.dtype)
            strided.record_part(seen, whole, part, own)
            whole = seen
        base = array
    return whole


class Part:
    """How a view lies within its base: by its place there, or by the steps that make it."""

    __slots__ = ("base", "dtype", "place", "steps", "whole")

    def __init__(self, view: Tensor, base: Tensor) -> None:
        assert view.view is not None
        self.steps: Steps = view.view.steps
        self.base = base.array if self.steps else None
        self.whole = strided.own_geometry(base.array)
        self.place = self.whole if self.steps else strided.geometry(view.array, base.array)
        self.dtype = base.dtype

    def blank(self) -> tuple[Tensor, Tensor]:
        """Zeros laid out as the base, and the view of them."""
        whole, part = strided.blank_tensors(self.place, self.whole, self.dtype)
        if self.base is not None:
            return whole, replayed(whole, self.base, self.steps)
        strided.record_part(part, whole, self.place, self.whole)
        return whole, part
