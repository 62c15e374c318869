"""Entries of the reference found by a name, a pattern or a value."""

from __future__ import annotations

import re
from difflib import get_close_matches
from fnmatch import fnmatchcase

from gradcli.analysis.reference import entries
from gradcli.analysis.reference.run_examples import example_of
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.functions._index import FUNCTIONS, METHODS
from gradcli.core.functions.function import Function
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.vocabulary import library
from gradcli.errors import ProgramError
from gradcli.lang.names.builtins import ONE_OFF
from gradcli.lang.values.value_classes import BoundMethod, Builtin
from gradcli.results.reference import Entry

_SHORT = {"F.": "nn.functional.", "Tensor.": "Tensor.", "nn.": "nn.", "optim.": "optim."}
_SUFFIX = re.compile(r"[A-Za-z]\w*Backward\d*\Z")


def find(pattern: str) -> tuple[Entry, ...]:
    """The entries for a name (`softmax`, `F.softmax`, `Tensor.add_`, `MulBackward0`) or a pattern (`log*`).

    Raises ProgramError with suggestions where there are none.
    """
    found = [entry for entry in entries.all_entries() if pattern in entry.grad_fns] if _SUFFIX.match(pattern) else _named(pattern)
    if not found:
        raise ProgramError("NameError", f"there is nothing called {pattern!r}", hints=_hints(pattern))
    return tuple(entries.by_family(found))


def with_example(entry: Entry) -> Entry:
    """The entry with its example, which is run now. Raises what the example raises."""
    return entry.replace(example=example_of(entry.name))


def first(name: str) -> Entry | None:
    """The first entry for a name; None for none."""
    try:
        return find(name)[0]
    except ProgramError:
        return None


def of_value(path: str, value: object, is_own: bool) -> Entry | None:
    """The entry of a value that the prompt calls `path`; None for a value that is not torch's. `is_own`: the user bound the name."""
    if isinstance(value, BoundMethod) and type(value.owner) is Tensor:
        return first(f"Tensor.{value.name}")
    if isinstance(value, Function):
        return first(f"{value.namespace}.{value.name}")
    is_torch = isinstance(value, (Routine, ScriptType, dtypes.DType)) or (isinstance(value, Builtin) and ONE_OFF.get(value.name) is value)
    return first(path) if is_torch and not is_own else None


def is_pattern(text: str) -> bool:
    """Whether a text is a pattern: whether it has `*`, `?` or `[`."""
    return any(char in text for char in "*?[")


def _plain(pattern: str) -> str:
    """A name as it stands under `torch.`, with `F.` written out."""
    text = pattern.strip().removeprefix("torch.").removesuffix("()")
    for short, full in _SHORT.items():
        if text.startswith(short):
            return full + text[len(short) :]
    return text


def _known() -> dict[str, str]:
    """All names under `torch.`, and methods as `Tensor.NAME`, with their families, "" for those that are no functions of tensors."""
    known = dict(sorted(FUNCTIONS.items())) | {f"Tensor.{name}": family for name, family in sorted(METHODS.items())}
    return known | dict.fromkeys([*library.PLACES, *entries.constants()], "")


def _named(pattern: str) -> list[Entry]:
    known, wanted = _known(), _plain(pattern)
    if is_pattern(wanted):
        names = [name for name in known if fnmatchcase(name, wanted) or fnmatchcase(_last(name), wanted)]
    else:
        # `softmax` also finds nn.functional.softmax, `torch.softmax` does not
        names = [name for name in known if name == wanted or (f".{name}".endswith(f".{wanted}") and not pattern.startswith("torch."))]
        names = names or [name for name in known if f".{name}".lower().endswith(f".{wanted}".lower())]
    seen: set[int] = set()
    found: list[Entry] = []
    by_family: dict[str, list[str]] = {}
    for name in names:
        by_family.setdefault(known[name], []).append(name)
    for family, members in by_family.items():
        if family:
            wanted_names = {f"torch.{name}".replace("torch.Tensor.", "Tensor.") for name in members}
            found += [entry for entry in entries.of_family(family, seen) if wanted_names & _all_names(entry)]
        else:
            constants = entries.constants()
            for name in members:
                entry = entries.of_constant(name, constants[name]) if name in constants else entries.of_place(name, seen)
                found += [] if entry is None else [entry]
    return found


def _all_names(entry: Entry) -> set[str]:
    names = {entry.name, *entry.aliases}
    return names | {f"{name}_" for name in names} if entry.inplace else names


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _hints(wanted: str) -> list[str]:
    if is_pattern(wanted):
        return ["gradcli ops alone lists everything"]
    spellings: dict[str, dict[str, None]] = {}
    for name in _known():
        spellings.setdefault(_last(name).lower(), {})[_last(name)] = None
    begin = [one for key, words in spellings.items() if len(wanted) > 1 and key.startswith(_last(wanted).lower()) for one in words]
    if begin:
        more = [f"gradcli ops '{_last(wanted)}*' lists them all"] if len(begin) > 5 else []
        return [f"did you mean {', '.join(sorted(begin, key=len)[:5])}?", *more]
    close = [one for key in get_close_matches(_last(wanted).lower(), spellings, 4, 0.6) for one in spellings[key]]
    return [f"did you mean {', '.join(close[:5])}?"] if close else ["gradcli ops alone lists everything"]
