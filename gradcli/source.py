"""Source text, and positions and ranges in it."""

from __future__ import annotations

from bisect import bisect_right


class Source:
    """A piece of program text and the name that messages show: `<expression>`, a file's path, `<prompt 3>`."""

    # plain classes here and in the syntax tree: a dataclass costs a millisecond of every start
    __slots__ = ("name", "text", "_starts")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts: list[int] = []

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Source) and (self.name, self.text) == (other.name, other.text))

    def __hash__(self) -> int:
        return hash((self.name, self.text))

    def line_starts(self) -> list[int]:
        """The offsets of the first characters of the lines; computed on first use."""
        if not self._starts:
            starts = [0]
            find = self.text.find
            at = find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = find("\n", at + 1)
            self._starts = starts
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of `offset`, both counted from 1."""
        starts = self.line_starts()
        line = bisect_right(starts, offset) - 1
        return line + 1, offset - starts[line] + 1

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), without its line end."""
        starts = self.line_starts()
        begin = starts[number - 1]
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[begin:end].rstrip("\r")


class Span:
    """The half-open range [start, end) of a source's text."""

    __slots__ = ("source", "start", "end")

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.start = start
        self.end = end

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and (self.source, self.start, self.end) == (other.source, other.start, other.end)

    def __hash__(self) -> int:
        return hash((self.source, self.start, self.end))

    def __repr__(self) -> str:
        return f"Span({self.source.name!r}, {self.start}, {self.end})"

    @property
    def text(self) -> str:
        """The text the span covers."""
        return self.source.text[self.start : self.end]
