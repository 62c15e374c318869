"""A source line with marks under a part of it, cut to the width of the terminal."""

from __future__ import annotations

from gradcli.render.drawing.folding import fold_prose
from gradcli.render.escape import escape, width
from gradcli.render.look import Look
from gradcli.source import Span


class Excerpt:
    """One source line, printable and cut around a span. It knows the column of each character."""

    def __init__(self, span: Span, columns: int) -> None:
        source = span.source
        self.number, column = source.position(span.start)
        raw = source.line(self.number)
        self._line_start = span.start - (column - 1)
        first, last = self._bounds(span, raw, columns)
        self._first, self._last = first, last
        lead = "..." if raw[:first].strip() else ""
        pieces = [self._printable(char) for char in raw[first:last]]
        at = len(lead)
        self._columns = []
        for piece in pieces:
            self._columns.append(at)
            at += width(piece)
        self._columns.append(at)
        self.line = lead + "".join(pieces) + ("..." if last < len(raw) else "")

    @staticmethod
    def _printable(char: str) -> str:
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
        """Blanks and then marks for the line below: at least one mark, and none beyond the end of the line."""
        start = min(max(span.start - self._line_start, self._first), self._last) - self._first
        end = min(max(span.end - self._line_start, self._first), self._last) - self._first
        left = self._columns[start]
        return " " * left + mark * max(1, self._columns[end] - left)


def marked(marks: str, role: str, remark: str, look: Look, lead: str, gap: str = " ") -> list[str]:
    """The line of `marks` after `lead`, with `remark`, which is printable, behind the marks; below them where it has no room."""
    line = lead + look.paint(marks, role)
    if not remark or look.columns is None or width(lead + marks + gap + remark) <= look.columns:
        return [line + (gap + remark if remark else "")]
    indent = lead[: len(lead) - len(lead.lstrip())]
    return [line, *fold_prose(f"{indent}  {remark}", look.columns).split("\n")]
