"""Watching the ordinary way evaluate an expression: which records ran, on what, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gradcli.core.calling import warnings
from gradcli.core.graph.record import Op
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor


class Ran(NamedTuple):
    """One operation."""

    op: Op
    inputs: Sequence[Any]
    attrs: tuple[Any, ...]
    outs: Sequence[Tensor]
    #: where the operation stands in the program
    origin: Any


class Write(NamedTuple):
    """One write in place."""

    tensor: Tensor
    #: how many operations had run before it
    after: int
    #: the operation that wrote, None where the result of the last operation was written
    op: Op | None


class Watching:
    """Stands where a level of forward mode stands, since every operation tells that what it did."""

    __slots__ = ("functional", "paused", "ran", "refused", "writes")

    def __init__(self) -> None:
        self.functional = False
        self.paused = False
        self.ran: list[Ran] = []
        self.writes: list[Write] = []
        #: whether something happened that a plan would not repeat
        self.refused = False

    def tangent_of(self, value: Any) -> None:
        """No tensor has a tangent."""

    def alias(self, tensor: Tensor, made: Tensor) -> None:
        """No tensor has a tangent."""

    def set_part(self, part: Tensor, base: Tensor, place: Any) -> None:
        """No tensor has a tangent."""

    def with_tangent(self, tensor: Tensor, operands: Sequence[Any], compute: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
        """`compute` itself."""
        return compute

    def push(self, op: Any, inputs: Sequence[Any], attrs: tuple[Any, ...], outs: Sequence[Tensor]) -> None:
        """Note an operation."""
        self.ran.append(Ran(op, inputs, attrs, outs, state.origin))

    def write(self, tensor: Tensor, tangent: Tensor | None) -> None:
        """Note that the result of the last operation was written to a tensor."""
        self.writes.append(Write(tensor, len(self.ran), None))

    def written(self, tensor: Tensor, op: Op, more: Sequence[Any], attrs: tuple[Any, ...]) -> None:
        """Note that an operation which needs no old values wrote to a tensor."""
        self.writes.append(Write(tensor, len(self.ran), op))

    def refuse(self, *_: Any) -> None:
        """Note what a plan would not repeat."""
        self.refused = True

    set_tangent = reshape = refuse


class _Given(set[str]):
    """The warnings that are given once, and whether one of them was asked for."""

    asked = False

    def __contains__(self, key: object) -> bool:
        self.asked = True
        return super().__contains__(key)


def may_watch() -> bool:
    """Whether nothing is in force that plans do without."""
    return not (state.observed or state.dual is not None or state.anomaly or state.inference or state.mapped)


def watch(evaluate: Callable[[], Any]) -> tuple[Any, list[Ran] | None]:
    """The value of an expression, evaluated in the ordinary way, and its operations; None for these where no plan can be made of them."""
    value, watching = watch_writes(evaluate)
    return value, None if watching is None or watching.writes else watching.ran


def watch_writes(evaluate: Callable[[], Any]) -> tuple[Any, Watching | None]:
    """As `watch`, for statements that may write in place."""
    watching = Watching()
    sink = warnings.sink

    def warn(category: str, message: str, inside: str) -> None:
        watching.refused = True
        sink(category, message, inside)

    given = _Given(warnings.given)
    before = warnings.set_given(given)
    floating = [dtype for dtype in dtypes.ALL if dtype.is_plain]
    warnings.set_sink(warn)
    state.dual = watching
    for dtype in floating:
        dtype.is_plain = False  # the shortened ways for small tensors tell nothing
    try:
        value = evaluate()
    finally:
        for dtype in floating:
            dtype.is_plain = True
        state.dual = None
        warnings.set_sink(sink)
        warnings.set_given(before)
        before |= given
    for ran in watching.ran:
        for out in ran.outs:
            for node in () if out.node is None else (out.node, *[to for to, _ in out.node.edges if to is not None]):
                node.plain = node.dtype.is_plain and node.outputs is None and node.hooks is None and node.retained is None
    return value, None if watching.refused or given.asked else watching
