"""Nested tuples, lists and dicts of tensors, taken apart into leaves and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gradcli import limits
from gradcli.core.calling.mappings import OrderedDict
from gradcli.core.calling.named_tuples import NamedResult
from gradcli.core.tensor.tensor import Size

_CONTAINERS = (tuple, list, dict, Size)


def _is_container(kind: type) -> bool:
    return kind in _CONTAINERS or issubclass(kind, (NamedResult, OrderedDict))


class Spec:
    """The shape of a nest: the container's type, the keys of a dict, and the children; a leaf has no type."""

    __slots__ = ("children", "keys", "leaves", "type")

    def __init__(self, type_: type | None, keys: tuple[Any, ...] = (), children: tuple[Spec, ...] = ()) -> None:
        self.type = type_
        self.keys = keys
        self.children = children
        self.leaves: int = 1 if type_ is None else sum(c.leaves for c in children)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spec):
            return NotImplemented
        return self.type is other.type and self.keys == other.keys and self.children == other.children

    def __hash__(self) -> int:
        return hash((self.type, len(self.children)))

    def listing(self, indent: int = 0) -> str:
        """`TreeSpec(tuple, None, [*, ...])`: how PyTorch writes it in errors."""
        if self.type is None:
            return "*"
        indent += 2
        parts = [child.listing(indent) for child in self.children]
        context = list(self.keys) if self.keys else None
        between = ",\n" + " " * indent
        return f"TreeSpec({self.type.__name__}, {context}, [{between.join(parts)}])"

    def outline(self) -> str:
        """`(*, [*, *])`: PyTorch's other way."""
        if self.type is None:
            return "*"
        parts = [child.outline() for child in self.children]
        if self.type is dict:
            return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(self.keys, parts, strict=True)) + "}"
        if self.type is list:
            return f"[{', '.join(parts)}]"
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


LEAF = Spec(None)


def flatten(value: Any) -> tuple[list[Any], Spec]:
    """The leaves in order, and the shape they came in."""
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves)


def _flatten(value: Any, leaves: list[Any]) -> Spec:
    kind: type = tuple if type(value) is Size else type(value)
    if not _is_container(kind):
        leaves.append(value)
        return LEAF
    limits.evaluation.tick()
    if kind is dict or issubclass(kind, OrderedDict):
        table = value if kind is dict else value.table
        known = dict if kind is dict else OrderedDict
        return Spec(known, tuple(table), tuple(_flatten(v, leaves) for v in table.values()))
    return Spec(kind, (), tuple(_flatten(v, leaves) for v in value))


def rebuild(spec: Spec, leaves: Iterable[Any]) -> Any:
    """The nest of this shape with these leaves."""
    return _rebuild(spec, iter(leaves))


def _rebuild(spec: Spec, leaves: Iterator[Any]) -> Any:
    if spec.type is None:
        return next(leaves)
    parts = [_rebuild(child, leaves) for child in spec.children]
    if spec.type in (dict, OrderedDict):
        return spec.type(dict(zip(spec.keys, parts, strict=True)))
    if spec.type is list:
        return parts
    return tuple(parts) if spec.type is Size else spec.type(parts)  # as in PyTorch, a size comes back as a tuple


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """The same nest with `function` applied to every leaf."""
    leaves, spec = flatten(value)
    return rebuild(spec, [function(leaf) for leaf in leaves])


def spread(value: Any, spec: Spec) -> list[Any] | None:
    """One value for each leaf of `spec`: a nest that fits it, where a leaf stands for all below; None if it does not fit."""
    if not _is_container(type(value)):
        return [value] * spec.leaves
    _, own = flatten(value)
    if own.type is not spec.type or own.keys != spec.keys or len(own.children) != len(spec.children):
        return None
    result: list[Any] = []
    parts = value.values() if type(value) is dict else value.table.values() if isinstance(value, OrderedDict) else value
    for part, child in zip(parts, spec.children, strict=True):
        below = spread(part, child)
        if below is None:
            return None
        result += below
    return result
