"""Makes the manual page from the help: `python tools/make_man.py` writes gradcli.1.

`--check` writes nothing and exits with 1 where the page is not what the help says now.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "gradcli.1"


def help_of(*words: str) -> str:
    """What `gradcli WORDS --help` prints."""
    environ = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "80"}
    command = [sys.executable, "-m", "gradcli", *words, "--help"]
    return subprocess.run(command, env=environ, text=True, capture_output=True, check=True).stdout


def literal(text: str) -> str:
    """Lines that roff prints as they are."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return ".nf\n" + "\n".join(f"\\&{line}" for line in escaped.rstrip().splitlines()) + "\n.fi\n"


def page() -> str:
    """The manual page, in roff."""
    whole = help_of()
    commands = re.findall(r"^  (\w+) {2,}\S", whole.partition("Commands:")[2], re.M)
    parts = [
        '.TH GRADCLI 1 "" "gradcli" "User Commands"\n',
        ".SH NAME\ngradcli \\- PyTorch's gradients at the shell prompt, without PyTorch\n",
        ".SH SYNOPSIS\n.B gradcli\n[OPTIONS] COMMAND [ARGS]...\n",
        ".SH DESCRIPTION\n" + literal(whole),
        *(f".SH {name.upper()}\n{literal(help_of(name))}" for name in commands),
    ]
    return "".join(parts)


def main() -> int:
    """Write or check the page; the exit code."""
    made = page()
    if "--check" in sys.argv[1:]:
        return int(made != TARGET.read_text(encoding="utf-8"))
    TARGET.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
