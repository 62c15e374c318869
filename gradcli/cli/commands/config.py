"""`gradcli config`: the settings of the prompt, and where they are kept."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcli.cli.options import Shared

EXAMPLES = """\
gradcli config
gradcli config --path
gradcli config > config.toml      # a file to begin with"""

HELP = """The settings of the prompt: the file they come from, and their values.

The file is TOML. Its keys are precision, dtype, format, color, keys ("emacs" or "vi") and history (how many inputs are remembered).
It is for the prompt alone: no other command and no script answers differently because of it. The prompt after run -i takes color, keys
and history from it, but not precision and dtype, which would change what the scripts print. Options of the command line win.
The file is in the user's directory for configuration, or in $GRADCLI_CONFIG_DIR.
"""

FORMATS = ("plain",)
WITHOUT = ("file", "dtype", "seed", "json", "precision", "output", "untrusted", "limit", "quiet", "color", "no_color")


def command(
    words: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    *,
    only_path: Annotated[bool, typer.Option("--path", help="Only where the file is.")] = False,
    shared: Shared,
) -> int:
    """Read and show."""
    from gradcli.cli import output
    from gradcli.errors import UsageError
    from gradcli.repl import config

    if words:
        raise UsageError(f"unexpected argument {words[0]!r}", hints=["config shows the settings; the file is changed with an editor"])
    text = f"{config.path()}\n" if only_path else config.load().text()
    output.write_stdout(text)
    return 0
