"""The reference: one function in full, or many in a table by family; names alone, CSV, JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby

from gradcli.render import csv_text
from gradcli.render.colour import paint
from gradcli.render.escape import escape_lines, width
from gradcli.render.explain import shortened
from gradcli.render.json_text import dump
from gradcli.render.tables import folded, layout
from gradcli.results.reference import Entry

#: columns of the table: longer calls are cut, longer formulas go on in the next line
_CALL, _FORMULA = 44, 60
#: instead of a formula where PyTorch has no derivative
UNDEFINED = "not implemented: backward raises"


def reference_text(entries: Sequence[Entry], *, colour: bool = False, columns: int | None = None) -> str:
    """Each entry in full, with its example run. Lines longer than `columns` are folded."""
    return "\n".join(_entry(entry, colour, columns or 10**6) for entry in entries)


def _entry(entry: Entry, colour: bool, columns: int) -> str:
    out = [paint(line, "heading", colour) for signature in entry.signatures for line in folded(signature, columns, 4)]
    out += folded(f"  {entry.doc}", columns, 2)
    out += [line for title, text in _facts(entry) for line in folded(f"  {title:<10}{text}", columns, 12)]
    for grad_fn in entry.grad_fns:
        out.append(f"  {'grad_fn':<10}{grad_fn}")
        rules = [rule for rule in entry.derivatives if rule.grad_fn == grad_fn]
        wide = max((len(rule.argument) for rule in rules), default=0)
        for rule in rules:
            out += derivative(rule.argument, rule.formula, rule.note, wide, columns=columns, colour=colour, indent=4)
        if not rules:
            out.append("    no derivative")
    for typed, printed in entry.example:
        lines = typed.split("\n")
        out += [paint(f"  {'...' if i else '>>>'} {line}", "label", colour) for i, line in enumerate(lines)]
        out += [f"  {line}" for line in escape_lines(printed).split("\n") if line]
    return "\n".join(out) + "\n"


def derivative(
    argument: str, formula: str, note: str, wide: int, *, columns: int = 10**6, colour: bool = False, indent: int = 2
) -> list[str]:
    """The lines of a derivative, one for each definition of its formula; `wide` is the width of the longest argument's name."""
    start = f"{' ' * indent}d/d {argument:<{wide}}  "
    *definitions, value = (formula or UNDEFINED).split("; ")
    rest = f"   ({note})" if note else ""
    out: list[str] = []
    for text in definitions:
        out += folded(start + text, columns, len(start) + 2)
        start = " " * len(start)
    if width(start + value + rest) <= columns:
        return [*out, start + value + paint(rest, "dim", colour)]
    return [*out, *folded(start + value + rest, columns, len(start) + 2)]


def _facts(entry: Entry) -> list[tuple[str, str]]:
    found = [("family", entry.family)]
    if entry.aliases:
        found.append(("also", ", ".join(entry.aliases)))
    last = entry.name.rpartition(".")[2]
    forms = ([f"{last}_ writes in place"] if entry.inplace else []) + (["takes out="] if entry.takes_out else [])
    if forms:
        found.append(("forms", ", ".join(forms)))
    if not entry.grad_fns and entry.kind in ("function", "method"):
        found.append(("gradient", "none of its own: other operations make it up, or there is none"))
    return found


def reference_table(entries: Sequence[Entry], *, colour: bool = False, columns: int | None = None) -> str:
    """A table for each family, with the first signature, grad_fn and derivatives; one function's name tells more."""
    out = []
    for family, members in groupby(entries, lambda entry: entry.family):
        rows = [_row(entry, columns) for entry in members]
        if any(row[1] for row in rows):
            headings = ["name", "grad_fn", "derivative"]
        else:
            headings, rows = ["name", "what it is"], [[row[0], row[3]] for row in rows]
        table = layout(headings, [row[: len(headings)] for row in rows], colour=colour, columns=columns)
        out.append(paint(family, "heading", colour) + "\n" + table)
    names = len(entries)
    tail = paint(f"  {names} {'name' if names == 1 else 'names'}; gradcli ops NAME tells all of one, with an example", "dim", colour)
    return "\n".join(out) + f"\n{tail}\n"


def _row(entry: Entry, columns: int | None) -> list[str]:
    # what a terminal has left for the formula beside the call and the name of the grad_fn
    longest = _CALL if columns is None else min(_CALL, columns // 3)
    formula = _FORMULA if columns is None else max(20, min(_FORMULA, columns - longest - 28))
    call = _short_call(entry.signatures[0].removeprefix("torch.").replace("nn.functional.", "F."), longest)
    if not entry.derivatives:
        return [call, "", "\n".join(textwrap.wrap(entry.doc, formula)), entry.doc]
    several = len({rule.argument for rule in entry.derivatives}) > 1
    lines: list[str] = []
    names: list[str] = []
    for rule in entry.derivatives:
        head = f"d/d {rule.argument}: " if several else ""
        parts = textwrap.wrap(head + (rule.formula or UNDEFINED), formula, subsequent_indent="  ", break_long_words=False)
        names += [rule.grad_fn if rule.grad_fn not in names else ""] + [""] * (len(parts) - 1)
        lines += parts
    return [call, "\n".join(names), "\n".join(lines), entry.doc]


def _short_call(call: str, longest: int) -> str:
    """A call for the table: of what is long, the keyword-only options go first."""
    if len(call) > longest and ", *, " in call:
        call = call.partition(", *, ")[0] + ", ...)"
    return shortened(call, longest)


def reference_plain(entries: Sequence[Entry]) -> str:
    """The names, one a line."""
    return "".join(f"{entry.name}\n" for entry in entries)


def reference_csv(entries: Sequence[Entry]) -> str:
    """One row for each derivative; one without for what has none."""
    rows: list[list[str]] = []
    for entry in entries:
        start = [entry.name, entry.family, entry.kind, entry.signatures[0], entry.doc]
        rows += [[*start, one.grad_fn, one.argument, one.formula, one.note] for one in entry.derivatives] or [[*start, "", "", "", ""]]
    return csv_text.write(["name", "family", "kind", "signature", "doc", "grad_fn", "argument", "formula", "note"], rows)


def reference_json(entries: Sequence[Entry]) -> str:
    """Everything, examples too."""
    return dump({"gradcli": 1, "ok": True, "operations": [_content(entry) for entry in entries]})


def _content(entry: Entry) -> dict[str, object]:
    return {
        "name": entry.name,
        "family": entry.family,
        "kind": entry.kind,
        "signatures": list(entry.signatures),
        "doc": entry.doc,
        "grad_fn": list(entry.grad_fns),
        "derivatives": [
            {"grad_fn": one.grad_fn, "argument": one.argument, "formula": one.formula, "note": one.note} for one in entry.derivatives
        ],
        "aliases": list(entry.aliases),
        "method": entry.is_method,
        "inplace": entry.inplace,
        "out": entry.takes_out,
        "example": [{"input": typed, "output": printed} for typed, printed in entry.example],
    }
