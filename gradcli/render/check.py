"""The verdict of a check: a table of inputs, then every element that is wrong or at a kink, then where a nan began."""

from __future__ import annotations

import csv
import io
import math

from gradcli.render.drawing.console import UNBOUNDED
from gradcli.render.drawing.excerpt import Excerpt, marked
from gradcli.render.drawing.folding import fold_prose
from gradcli.render.escape import escape, width
from gradcli.render.json_text import dump
from gradcli.render.look import PLAIN, Look, highlighted
from gradcli.render.tables import NAME, SHAPE, Cell, Column, layout
from gradcli.results.checks import CheckResult, Comparison, InputCheck, Origin
from gradcli.source import Source, Span

#: how many elements of an input are listed at most
_MOST = 10
_COLUMNS = (
    NAME.replace(heading="input"),
    SHAPE,
    *(Column("compared"), Column("worst absolute", "number"), Column("worst relative", "number"), Column("at")),
    *(Column("analytic", "number"), Column("numeric", "number"), Column("verdict", "verdict")),
)


def check_text(result: CheckResult, look: Look = PLAIN) -> str:
    """The verdict as text."""
    rows = [_row(one) for one in result.inputs]
    table = layout(_COLUMNS, rows, look)
    lines: list[str] = []
    for one in result.inputs:
        lines += _elements(one, one.wrong, look)
        lines += _elements(one, one.kinks, look)
    for origin in result.origins:
        lines += _origin(origin, look)
    for note in (*result.notes, f"({result.conditions})"):
        lines += fold_prose(f"  {escape(note)}", look.columns or UNBOUNDED, 2).split("\n")
    return table + "".join(f"{line}\n" for line in lines)


def _row(one: InputCheck) -> list[Cell]:
    worst = one.worst
    numbers = ["-", "-", "-"] if worst is None else [place(one.name, worst), number(worst.analytic), number(worst.numeric)]
    return [one.name, str(one.shape), f"{one.checked:,}", f"{one.absolute:.2g}", f"{one.relative:.2g}", *numbers, _verdict(one)]


def _verdict(one: InputCheck) -> str:
    words = [] if one.wrong or one.kinks else ["ok"]
    if one.wrong:
        words.append(f"{len(one.wrong):,} wrong")
    if one.kinks:
        words.append(f"{len(one.kinks):,} at a kink")
    return ", ".join(words)


def place(name: str, one: Comparison) -> str:
    """`x[0, 1]`, with `out[2] by ` before it where there are several outputs."""
    element = f"{name}[{', '.join(map(str, one.at))}]" if one.at else name
    return escape(element if one.output is None else f"out[{', '.join(map(str, one.output))}] by {element}")


def number(value: float) -> str:
    """A number with four digits after the point, scientific where PyTorch writes it so."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.4f}" if 1e-4 <= abs(value) < 1e6 or value == 0 else f"{value:.4e}"


def _elements(one: InputCheck, found: tuple[Comparison, ...], look: Look) -> list[str]:
    lines = []
    before = ""
    for element in found[:_MOST]:
        numbers = f"  analytic {number(element.analytic)}  numeric {number(element.numeric)}"
        # a terminal is narrow: there a long remark is printed once
        remark = "as above" if look.columns is not None and element.remark == before and len(before) > 40 else element.remark
        before = element.remark
        head, *more = marked(place(one.name, element), "name", escape(remark), look, "  ", f"{numbers}  ")
        lines += [head if numbers in head else head + numbers, *more]
    if len(found) > _MOST:
        lines.append(f"  ... and {len(found) - _MOST:,} more elements of {escape(one.name)}")
    return lines


def _origin(origin: Origin, look: Look) -> list[str]:
    """The operation that made the first nan or inf, with carets under its text, which begins a new line where the terminal is narrow."""
    lead = f"  {origin.what} first made by {escape(origin.grad_fn)}"
    if not origin.line:
        return fold_prose(f"{lead}: {escape(origin.remark)}", look.columns or UNBOUNDED, 2).split("\n")
    lead += f" at {escape(origin.place)}" if origin.place else " at"
    span = Span(Source("", origin.line), origin.first, origin.last)
    room = (look.columns or UNBOUNDED) - 4
    excerpt = Excerpt(span, max(room - 6, 20))
    carets, remark = excerpt.under(span, "^"), escape(origin.remark)
    beside = f"{lead}  "
    line = highlighted(excerpt.line, look)
    if max(width(excerpt.line), width(f"{carets}  {remark}")) + width(beside) - 4 <= room:
        return [beside + line, *marked(carets, "caret", remark, look, " " * width(beside), "  ")]
    return [lead, f"    {line}", *marked(carets, "caret", remark, look, "    ", "  ")]


def check_json(result: CheckResult) -> str:
    """One line: the inputs with their elements that are wrong or at a kink, and the origins."""
    content = {
        "gradcli": 1,
        "ok": True,
        "passed": result.passed,
        "expression": result.expression,
        "inputs": {one.name: _input(one) for one in result.inputs},
        "origins": [
            {"what": o.what, "grad_fn": o.grad_fn, "place": o.place, "text": o.line[o.first : o.last], "remark": o.remark}
            for o in result.origins
        ],
        "conditions": result.conditions,
        "notes": list(result.notes),
    }
    return dump(content)


def _input(one: InputCheck) -> dict[str, object]:
    return {
        "shape": list(one.shape),
        "compared": one.checked,
        "absolute": one.absolute,
        "relative": one.relative,
        "worst": None if one.worst is None else _comparison(one.worst),
        "wrong": [_comparison(element) for element in one.wrong],
        "kinks": [_comparison(element) for element in one.kinks],
    }


def _comparison(one: Comparison) -> dict[str, object]:
    return {
        "index": list(one.at),
        "output": None if one.output is None else list(one.output),
        "analytic": one.analytic,
        "numeric": one.numeric,
        "remark": one.remark or None,
    }


def check_csv(result: CheckResult) -> str:
    """`name,index,output,analytic,numeric,verdict,remark`: the worst element of each input, and all that are wrong or at a kink."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "index", "output", "analytic", "numeric", "verdict", "remark"])
    for one in result.inputs:
        listed = [(element, "wrong") for element in one.wrong] + [(element, "kink") for element in one.kinks]
        if one.worst is not None and one.worst not in one.wrong:
            listed.insert(0, (one.worst, "ok"))
        for element, verdict in listed:
            output = "" if element.output is None else " ".join(map(str, element.output))
            index = " ".join(map(str, element.at))
            writer.writerow([one.name, index, output, element.analytic, element.numeric, verdict, element.remark])
    return out.getvalue()
