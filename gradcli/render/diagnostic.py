"""An error as people read it: message, source line, carets under the exact span, labels, hints, chain of calls.

    AttributeError: module 'torch' has no attribute 'sinn'
      torch.sinn(x)
            ^^^^ did you mean sin, sinh, sinc?

Advice that begins with "try " is set as a block of its own, the word once and the commands below each other.
"""

from __future__ import annotations

import json

from gradcli.errors import GradcliError, Label
from gradcli.render.advice import advice
from gradcli.render.escape import escape, escape_lines, width
from gradcli.render.look import PLAIN, Look, highlighted
from gradcli.source import Span

_INDENT = "  "
_MAX_CALLS = 8
#: longer remarks do not stand beside the carets
_SHORT = 72
#: so much of a source line is shown at most
_COLUMNS = 100
#: names of this form are given to text from the command line itself, which needs no place
_PLACELESS = "<expression>"


def diagnostic(error: GradcliError, look: Look = PLAIN) -> str:
    """The whole report, ending with a line end; source lines are cut to the width of a terminal, to 100 columns elsewhere."""
    head, *more = escape_lines(error.message).split("\n")
    out = [f"{look.paint(error.kind + ':', 'error')} {head}", *more]
    beside, below = _sort_hints(error)
    if error.span is not None:
        out += _excerpts(error.span, error.labels, beside, look)
    elif beside:
        below = [beside, *below]
    out += _hints(below, look)
    if error.span is not None:
        out += _calls(error, look)
    return "\n".join(line.rstrip() for line in out) + "\n"


def _columns(look: Look) -> int:
    return _COLUMNS if look.columns is None else min(max(look.columns - len(_INDENT) - 6, 20), _COLUMNS)


def warning(category: str, message: str, span: Span | None, look: Look = PLAIN) -> str:
    """A warning as Python prints it: for text of a file with its place and the source line, else in one line."""
    text = f"{look.paint(f'{category}:', 'warning')} {escape_lines(message)}\n"
    if span is None or span.source.name == _PLACELESS:
        return text
    number, _ = span.source.position(span.start)
    line = escape(span.source.line(number).strip())
    return f"{look.paint(f'{escape(span.source.name)}:{number}:', 'dim')} {text}" + (f"  {highlighted(line, look)}\n" if line else "")


def error_json(error: GradcliError) -> str:
    """The error as one line of JSON."""
    return json.dumps({"gradcli": 1, "ok": False, "error": error_object(error)}) + "\n"


def error_object(error: GradcliError) -> dict[str, object]:
    """The error as JSON has it: kind, message, span, exit code, hints where there are any."""
    content: dict[str, object] = {"kind": error.kind, "message": error.message, "span": _span_json(error.span), "exit": error.exit_code}
    if hints := error.hints or advice(error):
        content["hints"] = hints
    return content


def _span_json(span: Span | None) -> dict[str, object] | None:
    if span is None:
        return None
    line, column = span.source.position(span.start)
    return {"source": span.source.name, "start": span.start, "end": span.end, "line": line, "column": column, "text": span.text}


def _sort_hints(error: GradcliError) -> tuple[str, list[str]]:
    """The short remark that stands beside the carets, and what goes below."""
    on_span = [label.text for label in error.labels if label.span == error.span]
    hints = error.hints or advice(error)
    if on_span:
        return on_span[0], hints
    if hints and not hints[0].startswith("try ") and "\n" not in hints[0] and len(hints[0]) <= _SHORT:
        return hints[0], hints[1:]
    return "", hints


def _hints(hints: list[str], look: Look) -> list[str]:
    out = []
    first = True
    for hint in hints:
        text = escape_lines(hint)
        if text.startswith("try "):
            lead = "try   " if first else "      "
            first = False
            text = look.paint(lead, "dim") + text.removeprefix("try ")
        out += [_INDENT + line for line in text.split("\n")]
    return out


def _excerpts(span: Span, labels: list[Label], beside: str, look: Look) -> list[str]:
    out = []
    if place := _place(span):
        out.append(_INDENT + look.paint(place, "dim"))
    window = _Window(span, _columns(look))
    out.append(_INDENT + highlighted(window.line, look))
    out.append(_INDENT + look.paint(window.under(span, "^"), "caret") + (f" {escape(beside)}" if beside else ""))
    number = window.number
    for label in labels:
        if label.span == span:
            continue
        if label.span.source == span.source and label.span.source.position(label.span.start)[0] == number:
            shown = window
        else:
            shown = _Window(label.span, _columns(look))
            out.append(_INDENT + look.paint(_place(label.span) or f"line {shown.number}", "dim"))
            out.append(_INDENT + highlighted(shown.line, look))
        out.append(_INDENT + look.paint(shown.under(label.span, "-"), "label") + f" {escape(label.text)}")
    return out


def _place(span: Span) -> str:
    source = span.source
    line, _ = source.position(span.start)
    several = "\n" in source.text.rstrip("\n") or source.name == "<stdin>"
    if source.name == _PLACELESS:
        return f"line {line}" if several else ""
    name = escape(source.name).removeprefix("<").removesuffix(">")
    return f"{name}:{line}" if several or name == source.name else name


def _calls(error: GradcliError, look: Look) -> list[str]:
    """The calls that led here, innermost first, as they are of most use."""
    out = []
    columns = _columns(look)
    for span, name in list(reversed(error.calls))[:_MAX_CALLS]:
        line, _ = span.source.position(span.start)
        text = " ".join(escape(span.text).split())
        if len(text) > columns - 30:
            text = text[: columns - 33] + "..."
        out.append(_INDENT + look.paint(f"in {escape(name)}, called on line {line}:", "dim") + f" {highlighted(text, look)}")
    if len(error.calls) > _MAX_CALLS:
        out.append(f"{_INDENT}... and {len(error.calls) - _MAX_CALLS} more calls")
    return out


class _Window:
    """One source line made printable, cut around a span, with the way from offsets to columns."""

    def __init__(self, span: Span, columns: int) -> None:
        source = span.source
        self.number, column = source.position(span.start)
        raw = source.line(self.number)
        self._line_start = span.start - (column - 1)
        first, last = self._bounds(span, raw, columns)
        self._first, self._last = first, last
        lead = "..." if raw[:first].strip() else ""
        pieces = [self._piece(char) for char in raw[first:last]]
        at = len(lead)
        self._columns = []
        for piece in pieces:
            self._columns.append(at)
            at += width(piece)
        self._columns.append(at)
        self.line = lead + "".join(pieces) + ("..." if last < len(raw) else "")

    @staticmethod
    def _piece(char: str) -> str:
        return "    " if char == "\t" else escape(char)

    def _bounds(self, span: Span, raw: str, columns: int) -> tuple[int, int]:
        """Which part of the line to show: all when it fits, else what surrounds the start of the span."""
        leading = len(raw) - len(raw.lstrip())
        begin = span.start - self._line_start
        if len(raw) - leading <= columns:
            return min(leading, begin), len(raw)
        marked = min(span.end - span.start, columns // 2)
        first = max(0, min(begin - (columns - marked) // 2, len(raw) - columns))
        return first, min(len(raw), first + columns)

    def under(self, span: Span, mark: str) -> str:
        """Blanks and marks to stand under `span`, to the end of the shown line at most; one mark at least."""
        start = min(max(span.start - self._line_start, self._first), self._last) - self._first
        end = min(max(span.end - self._line_start, self._first), self._last) - self._first
        left = self._columns[start]
        return " " * left + mark * max(1, self._columns[end] - left)
