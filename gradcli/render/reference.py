"""The reference: one function in full, or many in a table by family; names alone, CSV, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from gradcli.render import csv_text
from gradcli.render.escape import escape_lines, width
from gradcli.render.explain import shortened
from gradcli.render.folding import fold
from gradcli.render.json_text import dump
from gradcli.render.look import PLAIN, Look, highlighted
from gradcli.render.tables import GRAD_FN, NAME, Cell, Column, layout
from gradcli.results.reference import Entry

#: columns of the table: longer calls are cut, longer formulas go on in the next line
_CALL, _FORMULA = 44, 60
#: instead of a formula where PyTorch has no derivative
UNDEFINED = "not implemented: backward raises"


def reference_text(entries: Sequence[Entry], look: Look = PLAIN) -> str:
    """Each entry in full, with its example run. Lines longer than `look.columns` are folded."""
    return "\n".join(_entry(entry, look) for entry in entries)


def _entry(entry: Entry, look: Look) -> str:
    columns = look.columns or 10**6
    out = [look.paint(line, "heading") for signature in entry.signatures for line in fold(signature, columns, 4).split("\n")]
    out.append(fold(f"  {entry.doc}", columns, 0))
    out += [fold(f"  {title:<10}{text}", columns, 10) for title, text in _facts(entry)]
    for grad_fn in entry.grad_fns:
        out.append(f"  {'grad_fn':<10}{grad_fn}")
        rules = [rule for rule in entry.derivatives if rule.grad_fn == grad_fn]
        wide = max((len(rule.argument) for rule in rules), default=0)
        for rule in rules:
            out += derivative(rule.argument, rule.formula, rule.note, wide, look, indent=4)
        if not rules:
            out.append("    no derivative")
    for typed, printed in entry.example:
        lines = typed.split("\n")
        out += [f"  {look.paint('...' if i else '>>>', 'label')} {highlighted(line, look)}" for i, line in enumerate(lines)]
        out += [f"  {line}" for line in escape_lines(printed).split("\n") if line]
    return "\n".join(out) + "\n"


def derivative(argument: str, formula: str, note: str, wide: int, look: Look = PLAIN, *, indent: int = 2) -> list[str]:
    """The lines of a derivative, one for each definition of its formula; `wide` is the width of the longest argument's name."""
    columns = look.columns or 10**6
    start = f"{' ' * indent}d/d {argument:<{wide}}  "
    further = len(start) + 2 - indent
    *definitions, value = (formula or UNDEFINED).split("; ")
    rest = f"   ({note})" if note else ""
    out: list[str] = []
    for text in definitions:
        out.append(fold(start + text, columns, further))
        start, further = " " * len(start), 2
    if width(start + value + rest) <= columns:
        return [*out, start + value + look.paint(rest, "dim")]
    return [*out, fold(start + value + rest, columns, further)]


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


def reference_table(entries: Sequence[Entry], look: Look = PLAIN) -> str:
    """A table for each family, with the first signature, grad_fn and derivatives; one function's name tells more."""
    out = []
    for family, members in groupby(entries, lambda entry: entry.family):
        listed = list(members)
        rows = [row for entry in listed for row in _rows(entry, look)]
        if any(row[1] for row in rows):
            columns = [NAME, GRAD_FN, Column("derivative", "source")]
        else:
            columns, rows = [NAME, Column("what it is")], [[row[0], entry.doc] for entry, row in zip(listed, rows, strict=True)]
        out.append(look.paint(family, "heading") + "\n" + layout(columns, rows, look))
    names = len(entries)
    tail = f"  {names} {'name' if names == 1 else 'names'}; gradcli ops NAME tells all of one, with an example"
    tail = look.paint(fold(tail, look.columns or len(tail), 0), "dim")
    return "\n".join(out) + f"\n{tail}\n"


def _rows(entry: Entry, look: Look) -> list[list[Cell]]:
    """A row for each derivative, under the name of its grad_fn; one row for a function without derivatives."""
    call = _short_call(entry.signatures[0].removeprefix("torch.").replace("nn.functional.", "F."))
    if not entry.derivatives:
        return [[call, "", entry.doc if look.columns else fold(entry.doc, _FORMULA, 0)]]
    several = len({rule.argument for rule in entry.derivatives}) > 1
    rows: list[list[Cell]] = []
    names: set[str] = set()
    for rule in entry.derivatives:
        formula = f"d/d {rule.argument}: " * several + (rule.formula or UNDEFINED)
        rows.append(
            ["" if rows else call, "" if rule.grad_fn in names else rule.grad_fn, formula if look.columns else fold(formula, _FORMULA, 2)]
        )
        names.add(rule.grad_fn)
    return rows


def _short_call(call: str) -> str:
    """A call for the table: the keyword-only options of a long one are left out, then what does not fit."""
    if len(call) > _CALL and ", *, " in call:
        call = call.partition(", *, ")[0] + ", ...)"
    return shortened(call, _CALL)


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
