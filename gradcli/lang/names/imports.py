"""The `import` statements. They bind modules and functions that are built in; no file is loaded."""

from __future__ import annotations

import difflib

from gradcli.core.vocabulary import library
from gradcli.errors import ProgramError
from gradcli.lang.names import bare_names, importable_modules, left_out
from gradcli.lang.names.attributes import suggest
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.value_classes import MISSING, Namespace

#: names of Python that `from torch import *` rebinds to torch's functions
REBOUND = ("abs", "all", "any", "bool", "float", "int", "max", "min", "pow", "range", "round", "sum")


_HAS = "gradcli has torch, math, numpy and parts of Python's standard library; nothing else can be imported"


def _find(dotted: str) -> Namespace:
    found = importable_modules.module(dotted)
    if found is not None:
        return found
    parent, _, last = dotted.removeprefix("torch.").rpartition(".")
    if dotted.startswith("torch.") and left_out.is_left_out(parent, last):
        raise ProgramError("ModuleNotFoundError", left_out.text(parent, last))
    known = [*importable_modules.TOP, *importable_modules.LIBRARIES, *(f"torch.{place}" for place in library.MODULES if place)]
    close = difflib.get_close_matches(dotted, known, 1, 0.8)
    hints = [f"did you mean {close[0]}?"] if close else [_HAS]
    raise ProgramError("ModuleNotFoundError", f"No module named '{dotted}'", hints=hints)


def module(dotted: str, whole: bool) -> Namespace:
    """The module that `import a.b` binds: `a`, or if an alias is given (`whole`) `a.b`. Raises ModuleNotFoundError."""
    found = _find(dotted)
    return found if whole else _find(dotted.partition(".")[0])


def member(dotted: str, name: str) -> Value:
    """The value that `from dotted import name` binds. Raises ImportError."""
    place = _find(dotted)
    found = place.get(name)
    if found is MISSING:
        known = left_out.of_module(dotted, name)
        if known is not None:
            raise ProgramError("ImportError", known)
        raise ProgramError("ImportError", f"cannot import name '{name}' from '{dotted}'", hints=suggest(name, place.names()))
    return found


def star(dotted: str, variables: dict[str, Value]) -> None:
    """`from dotted import *`. Torch's functions have bare names anyway, so of torch only the names are bound that are hidden."""
    place = _find(dotted)
    if place is importable_modules.TORCH:
        for name in library.members(""):
            hidden = name in variables or name in bare_names.NOT_BARE or name in REBOUND
            if hidden and name not in library.MODULES and (name in REBOUND or not bare_names.is_python(name)):
                found = place.get(name)
                if found is not MISSING:
                    variables[name] = found
        return
    for name in place.names():
        found = MISSING if name.startswith("_") else place.get(name)
        if found is not MISSING and type(found) is not Namespace:
            variables[name] = found
