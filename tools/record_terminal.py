"""Makes the picture of the README: `python tools/record_terminal.py` writes docs/terminal.svg.

The commands run as on a terminal with colours, and rich draws what they print. `--check` writes nothing and exits with 1 where the
picture is not what they print now.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "terminal.svg"
WIDTH = 108
COMMANDS = (
    "gradcli grad 'mean((x+2)*(x+2)*2)' x='[-1.2301, 0.5498, -1.7590]'",
    "gradcli explain 'sigmoid(w*x + b)' w=2 x=1 b=-1",
    "gradcli grad '2x² + sin x' x=0.5",
)


def picture() -> str:
    """The SVG text. It has no font of its own: the reader's monospaced font is used."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False)
    environ = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": str(WIDTH), "TERM": "xterm-256color", "FORCE_COLOR": "1"}
    environ.pop("NO_COLOR", None)
    for line in COMMANDS:
        console.print(Text(f"$ {line}", style="bold"))
        command = [sys.executable, "-m", *shlex.split(line)]
        done = subprocess.run(command, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        console.print(Text.from_ansi(done.stdout.rstrip()))
        console.print()
    svg = console.export_svg(title="gradcli", unique_id="gradcli")
    # rich names a font to be loaded from elsewhere; nothing is loaded from elsewhere
    return re.sub(r"\s*@font-face \{[^}]*\}", "", svg)


def main() -> int:
    """Write or check the picture; the exit code."""
    made = picture()
    if "--check" in sys.argv[1:]:
        return int(made != TARGET.read_text(encoding="utf-8"))
    TARGET.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
