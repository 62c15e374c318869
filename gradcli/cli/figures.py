"""Where the figures of programs go: into the terminal, or with `--plots DIR` into files."""

from __future__ import annotations

import os
import sys

from gradcli.cli import output
from gradcli.errors import UsageError
from gradcli.results.figures import Picture

_FORMATS = ("png", "svg", "pdf")


class Figures:
    """Draws figures: text for the output, or with a folder files that are numbered, or named as the program names them."""

    def __init__(self, folder: str | None, colour: str | None) -> None:
        self._folder = folder
        self._colour = colour
        self._count = 0

    def __call__(self, picture: object, name: str | None) -> str:
        """Draw a figure; what is to be printed. Raises UsageError where matplotlib is missing, or a file cannot be written."""
        assert isinstance(picture, Picture)
        if self._folder is None:
            if name is not None:
                output.warn(f"savefig: {name} is not written; --plots DIR is where figures go")
                return ""
            from gradcli.render.look import Look
            from gradcli.render.pictures.figure_terminal import figure_text

            # what programs print has no colours
            look = output.look_of(sys.stdout, self._colour)
            return figure_text(picture, Look(look.columns, look.rows, False, look.encoding))
        from gradcli.render.pictures.figure_file import figure_file

        self._count += 1
        # only the last part of a name is used, so that nothing is written outside of the folder
        file = os.path.basename((name or "").replace("\\", "/")) or f"figure{self._count}.png"
        stem, ending = os.path.splitext(file)
        format = ending[1:].lower() if ending[1:].lower() in _FORMATS else "png"
        stem = "".join(char if char.isalnum() or char in "-_. " else "_" for char in stem) or "figure"
        try:
            content = figure_file(picture, format)
        except ImportError:
            text = "figures in files are drawn by matplotlib, which is not installed"
            raise UsageError(text, hints=["pip install 'gradcli[plot]'"]) from None
        os.makedirs(self._folder, exist_ok=True)
        output.write_file(os.path.join(self._folder, f"{stem.lstrip('.') or 'figure'}.{format}"), content)
        return ""
