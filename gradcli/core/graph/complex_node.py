"""Nodes whose output is complex: their rules get the conjugates of the values that they read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.graph.conjugate import conj_copy
from gradcli.core.graph.op_node import ATTR, ATTRS, DATA, OpNode
from gradcli.core.tensor.tensor import Tensor


def conjugate(value: Any) -> Any:
    """The conjugate of a tensor, an array or a number; other values, and real ones, as they are."""
    if type(value) is Tensor:
        return conj_copy(value) if value.dtype.is_complex else value
    if isinstance(value, (np.ndarray, np.generic)):
        return np.conjugate(value) if value.dtype.kind == "c" else value
    if type(value) is complex:
        return value.conjugate()
    if type(value) in (tuple, list):
        return type(value)(map(conjugate, value))
    return value


class ComplexNode(OpNode):
    """A node with a complex output, of a record whose rules are those of a holomorphic function."""

    __slots__ = ()

    def _kept(self, traced: bool) -> Sequence[Any]:
        return [conjugate(value) for value in super()._kept(traced)]

    def _outs(self, traced: bool) -> list[Any]:
        return [conjugate(value) for value in super()._outs(traced)]

    def argument(self, need: tuple[int, int], first: Any, traced: bool, kept: Sequence[Any], outs: list[Any] | None) -> Any:
        kind = need[0]
        found = super().argument(need, first, traced, kept, outs)
        return conjugate(found) if kind in (ATTR, DATA, ATTRS) else found
