"""Text in the colours of its role, and labels with text beside them, as rich draws them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gradcli.render.escape import width
from gradcli.render.look import Look

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

#: the gap between columns, and before the first one
GAP = 2
#: values that stand out
NONFINITE = r"\b(?:nan|inf)\b"
#: the styles of the words of a verdict
_VERDICTS = ((r"\bok\b", "gradient"), (r"[\d,]+ wrong", "nonfinite"), (r"[\d,]+ at a\s+kink", "warning"))


def styled(text: str, role: str, look: Look) -> Text:
    """`text`, whose lines are kept, in the style of `role`; "source" means syntax colours. Numbers nan and inf have their own style."""
    from rich.text import Text

    found = Text(no_wrap=True, overflow="ignore")
    if not look.colour:
        return found.append(text)
    if role == "source":
        from gradcli.render.highlight import roles

        return found.append_tokens((piece, style or None) for piece, style in roles(text, steps=True))
    # a style of a span does not extend to the blanks that rich adds at the end
    found.append(text, "" if role in ("value", "number", "verdict") else "dim" if text == "-" else role)
    if role in ("value", "gradient", "number"):
        found.highlight_regex(NONFINITE, "nonfinite")
    if role == "verdict":
        for words, style in _VERDICTS:
            found.highlight_regex(words, style)
    return found


def widest(texts: Iterable[str]) -> int:
    """The width of the widest line of `texts`."""
    return max((width(line) for text in texts for line in text.split("\n")), default=0)


def fields(rows: Sequence[tuple[str, Text]], indent: int, lead: int, look: Look) -> Table:
    """Two columns: labels, `lead` columns wide and `indent` columns from the left, and the texts beside them."""
    from rich.table import Table

    # rich takes much longer to draw padding than columns
    grid = Table.grid(padding=0)
    for wide in (indent, lead + GAP, widest(text.plain for _, text in rows)):
        grid.add_column(width=wide)
    for label, text in rows:
        grid.add_row("", styled(label, "dim", look), text)
    return grid
