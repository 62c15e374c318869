"""Consoles of rich, made as a `Look` says. No other module makes one."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO

from gradcli.render.look import STYLES, Look

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

#: the columns and rows of what is no terminal
UNBOUNDED = 10**6


def draw(renderable: RenderableType, look: Look, columns: int) -> str:
    """The lines of `renderable`, laid out for `columns`, without blanks at their ends."""
    file = TextIOWrapper(BytesIO(), "utf-8" if look.unicode else "ascii", "backslashreplace", "")
    console = open_console(file, look, columns)
    console.print(renderable, crop=False)
    file.seek(0)
    return "\n".join(line.rstrip(" ") for line in file.read().split("\n"))


def open_console(file: TextIO, look: Look, columns: int | None = None) -> Console:
    """A console that writes to `file`, which is a terminal unless `columns` are given.

    It takes nothing from the environment, and strings are no markup.
    """
    from rich.console import Console
    from rich.theme import Theme

    return Console(
        file=file,
        width=columns,
        height=None if columns is None else look.rows or UNBOUNDED,
        color_system="standard" if look.colour else None,
        force_terminal=look.colour or columns is None,
        force_interactive=columns is None,
        force_jupyter=False,
        legacy_windows=False,
        no_color=False,
        theme=Theme(STYLES),
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
