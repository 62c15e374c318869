"""Lines and expressions that differ from earlier ones in numbers alone: their trees are made as an earlier one was, without a parse.

The text of a line with its numbers cut out is its pattern. When a pattern is seen often, a line of it is parsed by itself, and its nodes
become a `Template`: in which order which nodes are made, of which numbers, places and constants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import Any

from gradcli.errors import GradcliError
from gradcli.lang.syntax import nodes
from gradcli.lang.syntax.nodes import Expr, Node
from gradcli.source import Source

#: a pattern has a template when it is seen so often
_OFTEN = 8
#: at most so many patterns are counted or have templates
_MOST = 512
#: after `_MISSES` texts in a row without a template, only one in `_SELDOM` is looked at
_MISSES, _SELDOM = 512, 16

#: decimal numbers of few digits that touch no name, no digit and no dot; any other is part of the pattern
_NUMBER = re.compile(r"(?<![\w.])((?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,15})?(?:[eE][+-]?[0-9]{1,3})?)(?![\w.])", re.ASCII)
#: `match` and `case` are keywords by what stands around their line
_SOFT = re.compile(r"match\b|case\b")

#: what the lines consist of; nodes are made of their source, the two ends of their place, and the values of their slots
_NODES = frozenset(
    {
        *(nodes.Assign, nodes.Attribute, nodes.AugAssign, nodes.Binary, nodes.BoolOp, nodes.Call, nodes.Compare, nodes.Conditional),
        *(nodes.Constant, nodes.ExprStmt, nodes.Keyword, nodes.ListExpr, nodes.Name, nodes.Slice, nodes.Starred, nodes.Subscript),
        *(nodes.TupleExpr, nodes.Unary),
    }
)
#: slots that hold places in the text
_PLACES = frozenset(("ends", "name_start"))

#: what a step takes: the source, a number, a constant, a place, or the result of an earlier step
_Key = tuple[str, Any]
_SOURCE: _Key = ("source", None)


class Templates:
    """The patterns that were seen, of one start symbol. `parse` gives the nodes of a text by itself."""

    #: longer lines have none; no more characters than the bound on nesting cannot be nested too deeply
    LONGEST = 128
    #: the most digits of a whole number
    DIGITS = 15

    def __init__(self, parse: Callable[[Source], Any]) -> None:
        self._parse = parse
        #: how often a pattern was seen, or its template; None where it can have none
        self._known: dict[tuple[str, ...], int | Template | None] = {}
        #: for the value of each statement that makes up a line, the template that it was made by, and the numbers of the line
        self.values: dict[Expr, tuple[Template, list[float]]] = {}
        #: how many texts had no template since the last one that had
        self._misses = 0

    def made(self, source: Source, start: int, end: int) -> Any:
        """The nodes of a part of the source's text; None where no template fits."""
        self._misses += 1
        if end - start > self.LONGEST or (self._misses > _MISSES and self._misses % _SELDOM):
            return None
        parts = _NUMBER.split(source.text[start:end])
        pattern = tuple(parts[::2])
        known = self._known.pop(pattern, 0)
        if known == _OFTEN:
            known = self._template(parts)
        elif type(known) is int:
            if not known and len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            known += 1
        self._known[pattern] = known
        if type(known) is not Template:
            return None
        self._misses = 0
        literals = parts[1::2]
        numbers: list[float] = [int(number) if number.isdigit() else float(number) for number in literals]
        made = known.made(source, start, literals, numbers)
        if known.value is not None:
            self.values[made[0].value] = known, numbers
        return made

    def _template(self, parts: list[str]) -> Template | None:
        if _SOFT.match(parts[0]):
            return None
        try:
            return Template(self._parse(Source("", "".join(parts))), parts)
        except (GradcliError, LookupError):
            return None


class Template:
    """How the nodes of one pattern are made."""

    def __init__(self, sample: Any, parts: list[str]) -> None:
        """`sample` is what the parser gave for the text of `parts`, which are its pieces and between them its numbers.

        Raises LookupError where a number is no constant of its own, and for nodes of other types than `_NODES`.
        """
        statement = sample[0] if type(sample) is list and len(sample) == 1 else None
        #: the value of the sample, where it is one statement that has one
        self.value: Expr | None = getattr(statement, "value", None)
        #: how long the numbers of the sample are, and between which places they stand
        self._sizes = [len(number) for number in parts[1::2]]
        ends = list(accumulate(map(len, parts)))
        self.spans = list(zip(ends[:-1:2], ends[1::2], strict=True))
        #: for each place the index of the number that ends last before it, counted from 1, and the place in the sample
        self._places: dict[tuple[int, int], None] = {}
        self._constants: list[Any] = []
        self._numbers: set[int] = set()
        steps: list[tuple[type, list[_Key]]] = []
        self._add(sample, "", steps)
        if len(self._numbers) < len(self._sizes):
            raise LookupError
        keys: list[_Key] = [_SOURCE, *[("number", i) for i in range(len(self._sizes))]]
        keys += [("constant", i) for i in range(len(self._constants))]
        keys += [("place", place) for place in self._places]
        keys += [("step", i) for i in range(len(steps))]
        index = {key: i for i, key in enumerate(keys)}
        #: types of nodes, tuples and lists, each with what picks its parts: from the source, numbers, constants, places and earlier results
        self._steps = [(kind, _picking([index[key] for key in wanted])) for kind, wanted in steps]

    def _add(self, value: Any, slot: str, steps: list[tuple[type, list[_Key]]]) -> _Key:
        """Add the steps that make the value of a slot; the key of their result."""
        kind = type(value)
        if kind in _NODES:
            wanted = [_SOURCE, self._place(value.start), self._place(value.end)]
            if kind is nodes.Constant and (value.start, value.end) in self.spans:
                number = self.spans.index((value.start, value.end))
                self._numbers.add(number)
                wanted.append(("number", number))
            else:
                wanted += [self._add(getattr(value, name), name, steps) for name in kind.__slots__]
        elif isinstance(value, Node):
            raise LookupError
        elif slot in _PLACES and kind is int:
            return self._place(value)
        elif kind is list or (kind is tuple and (slot in _PLACES or any(isinstance(item, Node) for item in value))):
            wanted = [self._add(item, slot, steps) for item in value]
        else:
            self._constants.append(value)
            return ("constant", len(self._constants) - 1)
        steps.append((kind, wanted))
        return ("step", len(steps) - 1)

    def _place(self, place: int) -> _Key:
        key = (sum(end <= place for _, end in self.spans), place)
        self._places[key] = None
        return ("place", key)

    def made(self, source: Source, start: int, literals: list[str], numbers: list[float]) -> Any:
        """The nodes of a text that begins at `start`, with these numbers, of which `literals` are the texts."""
        values: list[Any] = [source, *numbers, *self._constants]
        starts = [start]
        for literal, size in zip(literals, self._sizes, strict=True):
            start += len(literal) - size
            starts.append(start)
        values += [starts[number] + place for number, place in self._places]
        add = values.append
        for kind, picked in self._steps:
            add(kind(picked(values)) if kind is tuple or kind is list else kind(*picked(values)))
        return values[-1]


def _picking(places: list[int]) -> Callable[[list[Any]], Sequence[Any]]:
    """A function that picks the values at some places."""
    first, *more = places or [0]
    if more:
        return itemgetter(first, *more)
    return itemgetter(slice(first, first + len(places)))
