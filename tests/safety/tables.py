"""The attribute tables as a text, for review: `python -m tests.safety.tables` writes tables.txt beside this file.

A line is a type of value, what can be done (read, set, call), and the names.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from gradcli.core.calling.named_tuples import NamedResult
from gradcli.core.functions._index import METHODS
from gradcli.core.vocabulary import library
from gradcli.lang.names import attributes, bare_names, builtins, graph_attributes, importable_modules, tensor_attributes
from gradcli.lang.python import sequences
from gradcli.session import preload

TARGET = Path(__file__).with_name("tables.txt")

_DECLARED = ("SCRIPT_ATTRIBUTES", "SCRIPT_SETTERS", "SCRIPT_METHODS", "SCRIPT_STATIC", "SCRIPT_CLASS")
_VERBS = dict(zip(_DECLARED, ("read", "set", "call", "call of the type", "read of the type"), strict=True))


def declaring() -> list[type]:
    """Every class of the package whose instances are values with tables of their own."""
    waiting: list[type] = [object]
    found: set[type] = set()
    while waiting:
        kind = waiting.pop()
        new = set(type.__subclasses__(kind)) - found
        found |= new
        waiting += new
    # the class of modules that have a `forward` of their own reads and calls what theirs does
    found = {kind for kind in found if not getattr(kind, "OWN_FORWARD", False)}
    # a named tuple declares its fields only, and is made when first used
    found = {kind for kind in found if not issubclass(kind, NamedResult)} | {NamedResult}
    ours = [kind for kind in found if str(kind.__module__).startswith("gradcli.")]
    return sorted(
        (kind for kind in ours if any(name in vars(kind) for name in _DECLARED)), key=lambda kind: (kind.__module__, kind.__name__)
    )


def _lines(title: str, verb: str, held: Iterable[str]) -> Iterator[str]:
    text = " ".join(sorted(held))
    if text:
        yield from textwrap.wrap(text, 120, initial_indent=f"{title}: {verb} ", subsequent_indent="    ", break_long_words=False)


def text() -> str:
    """All tables."""
    preload.preload()
    out = ["# What a script can reach. Made by `python -m tests.safety.tables`; every change here is to be reviewed.", ""]
    out += _lines("bare names", "read", bare_names.PYTHON)
    out += _lines("bare names in one-offs", "read", builtins.ONE_OFF)
    out += _lines("prebound modules", "read", importable_modules.PREBOUND)
    for module in library.MODULES:
        out += _lines(f"torch.{module}" if module else "torch", "read", library.members(module))
    out += _lines("math", "read", importable_modules.MATH.members)
    out += _lines("numpy", "read", importable_modules.NUMPY.names())
    for name in sorted(importable_modules.LIBRARIES):
        found = importable_modules.module(name)
        assert found is not None
        out += _lines(name, "read", found.names())
    for kind, table in sorted(attributes.GETTERS.items(), key=lambda item: item[0].__name__):
        out += _lines(kind.__name__, "read", table)
    out += _lines("Tensor", "set", tensor_attributes.SETTERS)
    out += _lines("Tensor", "call", {*METHODS, *tensor_attributes.METHODS})
    for kind, table in sorted(sequences.METHODS.items(), key=lambda item: item[0].__name__):
        out += _lines(kind.__name__, "call", table)
    for kind, methods in sorted(attributes._OWN_METHODS.items(), key=lambda item: item[0].__name__):
        out += _lines(kind.__name__, "call", methods)
    out += _lines("graph.Node", "read", [*graph_attributes._GETTERS, "name", "_raw_saved_*", "_saved_*"])
    out += _lines("graph.AccumulateGrad", "read", ["variable"])
    for kind in declaring():
        for table_name, verb in _VERBS.items():
            if table_name in vars(kind):
                out += _lines(f"{kind.__module__.removeprefix('gradcli.core.')}.{kind.__name__}", verb, vars(kind)[table_name])
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
