"""The reference: one function in full, or many in a table by family; names alone, CSV, JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gradcli.render import csv_text
from gradcli.render.drawing.console import UNBOUNDED, draw
from gradcli.render.drawing.fields import GAP, fields, styled
from gradcli.render.drawing.folding import fold, fold_prose
from gradcli.render.escape import escape, escape_lines, width
from gradcli.render.json_text import dump
from gradcli.render.look import PLAIN, Look
from gradcli.render.tables import GRAD_FN, NAME, Cell, Column, Sentence, layout
from gradcli.results.reference import Entry

if TYPE_CHECKING:
    from rich.console import RenderableType

#: columns of the table: longer calls are cut, longer formulas go on in the next line
_CALL, _FORMULA = 44, 60
#: instead of a formula where PyTorch has no derivative
UNDEFINED = "not implemented: backward raises"
#: the width of labels
_LABEL = 8


def reference_text(entries: Sequence[Entry], look: Look = PLAIN) -> str:
    """Each entry in full, with its example run. Lines longer than `look.columns` are folded."""
    from rich.console import Group

    return "\n".join(draw(Group(*_entry(entry, look)), look, look.columns or UNBOUNDED) for entry in entries)


def _entry(entry: Entry, look: Look) -> Iterator[RenderableType]:
    columns = look.columns or UNBOUNDED
    for signature in entry.signatures:
        yield styled(fold(signature, columns, 4), "heading", look)
    yield styled(fold_prose(f"  {entry.doc}", columns), "", look)
    yield _labelled(_facts(entry), look)
    for grad_fn in entry.grad_fns:
        yield _labelled([("grad_fn", grad_fn, "grad_fn")], look)
        if rules := [rule for rule in entry.derivatives if rule.grad_fn == grad_fn]:
            yield derivatives([(rule.argument, rule.formula, rule.note) for rule in rules], 4, look)
        else:
            yield styled("    no derivative", "dim", look)
    yield from example(entry.example, look)


def _labelled(facts: Sequence[tuple[str, str, str]], look: Look) -> RenderableType:
    """Labels and texts beside them. A fact is a label, a text and the role of the text."""
    room = (look.columns or UNBOUNDED) - 2 - _LABEL - GAP
    return fields([(label, styled(fold(text, room, 0), role, look)) for label, text, role in facts], 2, _LABEL, look)


def derivatives(rules: Sequence[tuple[str, str, str]], indent: int, look: Look) -> RenderableType:
    """A row for each rule, which is an argument, a formula and a note. Definitions at the start of a formula have their own lines."""
    lead = max(len(argument) for argument, _, _ in rules) + len("d/d ")
    room = (look.columns or UNBOUNDED) - indent - lead - GAP
    rows = []
    for argument, formula, note in rules:
        lines = [fold(text, room, 2) for text in (formula or UNDEFINED).split("; ")]
        text = styled("\n".join(lines), "source" if formula else "dim", look)
        if note:
            beside = width(lines[-1].split("\n")[-1]) + width(note) + 5 <= room
            text.append("   " if beside else "\n").append(fold(f"({note})", room, 1), "dim" if look.colour else "")
        rows.append((f"d/d {argument}", text))
    return fields(rows, indent, lead, look)


def example(steps: Sequence[tuple[str, str]], look: Look) -> Iterator[RenderableType]:
    """What is typed, after `>>>` in the colours of the language, and what is printed; both folded where they are long."""
    for typed, printed in steps:
        folded = "\n".join(fold(line, (look.columns or UNBOUNDED) - 6, 4) for line in typed.split("\n"))
        for i, line in enumerate(folded.split("\n")):
            yield styled("  ... " if i else "  >>> ", "label", look).append_text(styled(escape(line), "source", look))
        for line in filter(None, escape_lines(printed).split("\n")):
            yield styled(fold(f"  {line}", look.columns or UNBOUNDED), "value", look)


def _facts(entry: Entry) -> list[tuple[str, str, str]]:
    found = [("family", entry.family, "")]
    if entry.aliases:
        found.append(("also", ", ".join(entry.aliases), "function"))
    last = entry.name.rpartition(".")[2]
    forms = ([f"{last}_ writes in place"] if entry.inplace else []) + (["takes out="] if entry.takes_out else [])
    if forms:
        found.append(("forms", ", ".join(forms), ""))
    if not entry.grad_fns and entry.kind in ("function", "method"):
        found.append(("gradient", "none of its own: other operations make it up, or there is none", "dim"))
    return found


def reference_table(entries: Sequence[Entry], look: Look = PLAIN) -> str:
    """A table for each family: the call, grad_fn and derivatives, or what it is where no member has a derivative."""
    out = []
    for family, members in groupby(entries, lambda entry: entry.family):
        listed = list(members)
        rows = [row for entry in listed for row in _rows(entry, look)]
        if any(row[1] for row in rows):
            columns = [NAME, GRAD_FN, Column("derivative", "source")]
        else:
            columns, rows = [NAME, Column("what it is")], [[row[0], Sentence(entry.doc)] for entry, row in zip(listed, rows, strict=True)]
        out.append(look.paint(family, "heading") + "\n" + layout(columns, rows, look))
    names = len(entries)
    tail = f"  {names} {'name' if names == 1 else 'names'}; gradcli ops NAME tells all of one, with an example"
    tail = look.paint(fold_prose(tail, look.columns or len(tail)), "dim")
    return "\n".join(out) + f"\n{tail}\n"


def _rows(entry: Entry, look: Look) -> list[list[Cell]]:
    """A row for each derivative, under the name of its grad_fn; one row for a function without derivatives."""
    call = _short_call(entry.signatures[0].removeprefix("torch.").replace("nn.functional.", "F."))
    if not entry.derivatives:
        return [[call, "", Sentence(entry.doc if look.columns else fold_prose(entry.doc, _FORMULA))]]
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
    """A call for the table. Long ones lose their keyword-only arguments, longer ones all arguments."""
    call = call.replace(", *, out=None)", ")")
    if len(call) > _CALL and ", *, " in call:
        call = call.partition(", *, ")[0] + ", ...)"
    return call if len(call) <= _CALL else f"{call.partition('(')[0]}(...)"


def reference_plain(entries: Sequence[Entry]) -> str:
    """The names, one a line."""
    return "".join(f"{entry.name}\n" for entry in entries)


def reference_csv(entries: Sequence[Entry]) -> str:
    """One row for each derivative, and one for each entry without derivatives."""
    rows: list[list[str]] = []
    for entry in entries:
        start = [entry.name, entry.family, entry.kind, entry.signatures[0], entry.doc]
        rows += [[*start, one.grad_fn, one.argument, one.formula, one.note] for one in entry.derivatives] or [[*start, "", "", "", ""]]
    return csv_text.write(["name", "family", "kind", "signature", "doc", "grad_fn", "argument", "formula", "note"], rows)


def reference_json(entries: Sequence[Entry]) -> str:
    """All entries with their examples, as one line of JSON."""
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
