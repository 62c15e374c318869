"""`np.r_`, `np.c_`, `np.mgrid` and `np.ogrid`: arrays made by subscripts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted
from gradcli.errors import ProgramError
from gradcli.lang.arrays.conversion import operand
from gradcli.lang.arrays.running import check_size, run, type_error
from gradcli.lang.arrays.values import wrap
from gradcli.lang.python.object_protocol import Value


def _bound(value: Value) -> Any:
    """A bound of a slice: None or a number, of at most 64 bits where it is an integer."""
    made = None if value is None else operand(value)
    if isinstance(made, np.generic):
        made = made.item()
    if made is not None and not isinstance(made, (int, float)):
        raise type_error("the bounds of a slice must be numbers here")
    return made


def _length(start: float, stop: float, step: complex) -> int:
    """The number of elements from `start` on, `stop` not included; an imaginary step is that number."""
    if isinstance(step, complex):
        return int(min(abs(step), 2.0**62))
    if not step or not all(map(math.isfinite, (start, stop, step))):
        raise ProgramError("ValueError", "the bounds and the step of a slice must be finite here, and the step not 0")
    return max(0, math.ceil(min((stop - start) / step, 2.0**62)))


def _item(item: Value) -> tuple[Any, int]:
    """A part of a subscript for numpy, and how many elements it gives."""
    if type(item) is slice:
        start, stop, step = _bound(item.start), _bound(item.stop), item.step if type(item.step) is complex else _bound(item.step)
        if stop is None:
            raise type_error("a slice needs an end here")
        return slice(start, stop, step), _length(start or 0, stop, 1 if step is None else step)
    made = operand(item)
    return made, np.size(made)


class IndexTrick(Scripted):
    """An object of numpy's whose subscripts make arrays: `joins` its parts, or makes a grid of them."""

    __slots__ = ("__weakref__", "host", "joins")

    SCRIPT_NAME = "IndexExpression"

    def __init__(self, host: Any, joins: bool) -> None:
        self.host = host
        self.joins = joins

    def __getitem__(self, key: Value) -> Value:
        given: Sequence[Value] = key if type(key) is tuple else (key,)
        items = [_item(item) for item in given]
        sizes = [size for _, size in items]
        check_size(sum(sizes) if self.joins else math.prod(sizes) * len(sizes))
        wanted = tuple(item for item, _ in items)
        return wrap(run(lambda: self.host[wanted if type(key) is tuple else wanted[0]]))

    SCRIPT_METHODS = {"__getitem__": Routine(__getitem__, "__getitem__")}


MEMBERS: dict[str, Value] = {
    "r_": IndexTrick(np.r_, True),
    "c_": IndexTrick(np.c_, True),
    "mgrid": IndexTrick(np.mgrid, False),
    "ogrid": IndexTrick(np.ogrid, False),
}
