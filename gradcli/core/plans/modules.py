"""Modules whose calls have plans: what a call depends on besides its arguments, and whether that still is what it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from operator import is_
from typing import Any, Protocol

from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor

_PLAIN = frozenset((int, float, bool, str, type(None)))
#: fields that all modules have; the others are settings
_COMMON = frozenset(
    ("training", "fields", "own_parameters", "own_buffers", "unsaved", "children_by_name", "before", "after", "backward_hooks")
)
#: modules with more submodules are left to the ordinary way
_MOST = 64


class PureModule(Protocol):
    """A module whose `forward` only computes: from tensors, its parameters, its settings, and its submodules in order."""

    PURE: bool
    STEPS: int
    own_parameters: dict[str, Tensor | None]
    own_buffers: dict[str, Tensor | None]
    children_by_name: dict[str, Any]
    before: object
    after: object
    backward_hooks: object


class Known:
    """What the call of a module was seen to depend on."""

    __slots__ = ("_found", "_views", "module", "parameters", "steps", "structure")

    def __init__(self, module: PureModule, parameters: list[Tensor], structure: tuple[object, ...], views: list[Iterable[object]]) -> None:
        self.module = module
        #: the steps that a call counts
        self.steps: int = sum(part[0].STEPS for part in structure if isinstance(part[0], type))  # type: ignore[index, attr-defined]
        #: the parameters, in the order of the submodules
        self.parameters = parameters
        #: classes and settings of the module and its submodules; one object for equal ones
        self.structure = _one_object(structure)
        #: views of the tables of the module and its submodules, and what is in them
        self._views = views
        self._found = [*chain.from_iterable(views)]

    def holds(self) -> bool:
        """Whether module, submodules, parameters, settings and hooks are the same objects as they were."""
        return state.module_hooks is None and all(map(is_, chain.from_iterable(self._views), self._found))


def known(module: Any) -> Known | None:
    """What a call of a module depends on; None where it can have no plan: one that draws random numbers, has hooks or buffers."""
    parameters: dict[int, Tensor] = {}
    views: list[Iterable[object]] = []
    if state.module_hooks is not None:
        return None
    try:
        structure = tuple(_parts(module, parameters, views))
    except _UnknownError:
        return None
    return Known(module, [*parameters.values()], structure, views)


class _UnknownError(Exception):
    """The module may do anything."""


def _parts(module: Any, parameters: dict[int, Tensor], views: list[Iterable[object]]) -> Iterator[object]:
    """Class, settings and the numbers of the parameters of a module, and of its submodules after it."""
    pending: list[PureModule] = [module]
    while pending:
        one = pending.pop()
        kind = type(one)
        if not getattr(kind, "PURE", False) or one.before or one.after or one.backward_hooks or len(views) > 5 * _MOST:
            raise _UnknownError
        if type(one.own_parameters) is not dict or any(buffer is not None for buffer in one.own_buffers.values()):
            raise _UnknownError
        children = [*one.children_by_name.values()]
        views += (one.children_by_name.values(), one.own_parameters.keys(), one.own_parameters.values())
        views += (one.own_buffers.values(), vars(one).values())
        settings = [(name, value) for name, value in vars(one).items() if name not in _COMMON]
        if not all(type(value) in _PLAIN for _, value in settings):
            raise _UnknownError
        yield kind, len(children), repr(settings)
        for name, parameter in one.own_parameters.items():
            if parameter is not None:
                parameters[id(parameter)] = parameter
            yield name, None if parameter is None else [*parameters].index(id(parameter))
        pending += reversed(children)


@lru_cache(256)
def _one_object(structure: object) -> object:
    return structure
