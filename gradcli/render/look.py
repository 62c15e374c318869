"""How output is drawn: its width and height, its colours and its encoding."""

from __future__ import annotations

from gradcli.plain import Plain

#: The styles of gradcli's output by role, as rich writes them. They use the terminal's own sixteen colours, of which these are
#: readable on light and on dark backgrounds; blue is too dark for most dark ones.
STYLES = {
    "error": "bold red",
    "caret": "red",
    "label": "cyan",
    "heading": "bold",
    "dim": "dim",
    "warning": "yellow",
    "name": "bold cyan",
    "grad_fn": "magenta",
    "gradient": "green",
    "zero": "dim",
    "nonfinite": "bold red",
    "keyword": "bright_blue",
    "command": "bold cyan",
    "number": "magenta",
    "string": "green",
    "comment": "dim",
    "function": "cyan",
    "namespace": "yellow",
}


class Look(Plain):
    """What a terminal, a pipe or a file can show.

    `columns` and `rows` are the size of a terminal, None for everything else, where tables are as wide and as high as they need.
    `colour` is whether escape codes may be written. Box characters are written where `encoding` is UTF-8, ASCII elsewhere.
    """

    columns: int | None = None
    rows: int | None = None
    colour: bool = False
    encoding: str = "utf-8"

    @property
    def unicode(self) -> bool:
        """Whether box characters can be written."""
        return self.encoding.lower().replace("_", "-") in ("utf-8", "utf8")

    def paint(self, text: str, role: str) -> str:
        """`text` with the escape codes of `role`, which is a key of `STYLES` or a style in rich's notation."""
        if not self.colour or not text:
            return text
        from rich.color import ColorSystem
        from rich.style import Style

        return Style.parse(STYLES.get(role, role)).render(text, color_system=ColorSystem.EIGHT_BIT)


#: The look of pipes and files: uncoloured, as wide as needed.
PLAIN = Look()


def highlighted(text: str, look: Look) -> str:
    """Source text, which is printable, in the colours of the language."""
    if not look.colour:
        return text
    from gradcli.render.highlight import roles

    return "".join(look.paint(piece, role) if role else piece for piece, role in roles(text))
