"""The names of operations, for completion: read from the text of the indexes, since importing these loads numpy."""

from __future__ import annotations

import pkgutil
import re

#: the modules with tables from places to the names there, and what stands before the names of each table
_TABLES = (
    ("core/functions/_index.py", {"_FUNCTIONS": "", "_METHODS": "Tensor."}),
    ("core/vocabulary/_index.py", {"NAMES_OF": ""}),
    ("core/vocabulary/library.py", {"_CONSTANTS": ""}),
)
_SHORT = {"F.": "nn.functional."}


def operations() -> list[str]:
    """All names under `torch.`, and methods as `Tensor.NAME`."""
    found: dict[str, None] = {}
    for place, tables in _TABLES:
        text = (pkgutil.get_data("gradcli", place) or b"").decode()
        for table, prefix in tables.items():
            body = re.search(rf"(?ms)^{table} = {{$(.*?)^}}", text)
            strings = re.findall(r'"([^"]*)"(:?)', body[1] if body else "")
            found.update((prefix + name, None) for names, is_key in strings if not is_key for name in names.split())
    return list(found)


def known_to_ops(typed: str) -> list[str]:
    """The names that `gradcli ops` knows and that begin with `typed`, spelled as it begins: with or without `torch.` and `F.`."""
    names = operations()
    if typed.startswith("torch."):
        return sorted(f"torch.{name}" for name in names if f"torch.{name}".startswith(typed) and not name.startswith("Tensor."))
    for short, full in _SHORT.items():
        if typed.startswith(short):
            return sorted(short + name[len(full) :] for name in names if name.startswith(full + typed[len(short) :]))
    whole = {name for name in names if name.startswith(typed)}
    # `softmin` finds nn.functional.softmin too
    last = {name.rpartition(".")[2] for name in names} if typed else set()
    return sorted(whole | {name for name in last if name.startswith(typed)})


def methods(typed: str) -> list[str]:
    """The methods of a tensor that begin with what stands behind the first dot of `typed`, `x.s` for example, with what stands before."""
    owner, dot, start = typed.partition(".")
    if not dot or owner in ("torch", "F", *(name.partition(".")[0] for name in operations() if "." in name)):
        return []
    found = (name.removeprefix("Tensor.") for name in operations() if name.startswith(f"Tensor.{start}") and not name.endswith("_"))
    return sorted(f"{owner}.{name}" for name in found)


def in_expressions(typed: str) -> list[str]:
    """The functions that an expression may call and that begin with `typed`."""
    prefix, full = ("F.", "nn.functional.") if typed.startswith("F.") else ("", "")
    found = (prefix + name[len(full) :] for name in operations() if name.startswith(full) and not name.startswith("Tensor."))
    return sorted(name for name in found if name.startswith(typed) and name.count(".") <= typed.count(".") and not name.endswith("_"))
