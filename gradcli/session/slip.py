"""An expression that ended with an error, as the rules for repairs see it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gradcli.analysis.operands import walk
from gradcli.errors import ProgramError, Repair
from gradcli.lang.syntax import nodes
from gradcli.source import Source, Span


class Slip:
    """An error with the expression, the node where it is, and the variables."""

    def __init__(self, error: ProgramError, tree: nodes.Expr, variables: Mapping[str, object]) -> None:
        self.error = error
        self.tree = tree
        self.variables = variables
        self.source = tree.source
        self.text = tree.source.text
        span = error.span
        assert span is not None
        self.span = span
        self.every = walk(tree)
        self.at = [node for node in self.every if (node.start, node.end) == (span.start, span.end)]
        self.step = next(self._steps(span), None)

    def _steps(self, span: Span) -> Iterator[tuple[str, str, str]]:
        """Left operand, operator with the blanks around it, and right operand of the step of a chain at the span."""
        for node in self.every:
            if isinstance(node, nodes.Binary):
                ends = node.ends
            elif isinstance(node, nodes.Compare):
                ends = tuple(one.end for one in node.rest)
            else:
                continue
            for k, end in enumerate(ends):
                if (node.start, end) == (span.start, span.end):
                    start = ends[k - 1] if k else self._closed(node.first.end)
                    op = self.text.find(node.ops[k], start)
                    if op >= 0:
                        left, after = self.text[node.start : op], self.text[op + len(node.ops[k]) : end]
                        joint = left[len(left.rstrip()) :] + node.ops[k] + after[: len(after) - len(after.lstrip())]
                        yield left.rstrip(), joint, after.strip()

    def _closed(self, end: int) -> int:
        found = re.compile(r"[\s)]*").match(self.text, end)
        return found.end() if found else end

    def changed(self, node: nodes.Node | Span, text: str, **more: Any) -> Repair:
        """The expression with `text` in the place of `node`."""
        new = self.text[: node.start] + text + self.text[node.end :]
        return Repair(all_of(self.source), new, **more)

    def calls(self) -> Iterator[nodes.Call]:
        """The call at the place of the error."""
        return (node for node in self.at if isinstance(node, nodes.Call))

    def text_of(self, node: nodes.Node) -> str:
        """The text of a node."""
        return self.text[node.start : node.end]


def all_of(source: Source) -> Span:
    """The place of the whole text."""
    return Span(source, 0, len(source.text))


def floats(text: str) -> str:
    """The text with a point behind each integer."""
    return re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"\1.", text)
