"""What `explain` and `graph` share: an expression, or a script and the name in it that is looked at."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Option

from gradcli.cli.options import Shared

if TYPE_CHECKING:
    from gradcli.cli.request import Request

Of = Annotated[str | None, Option("--of", metavar="NAME", help="EXPR (or -f FILE) is a script; look at this name of it.")]
Vector = Annotated[list[str] | None, Option("-v", "--vector", metavar="V", help="Weights v of the result, for v^T J.")]


def prepare_looking(
    words: Sequence[str], command: str, shared: Shared, of: str | None, vector: Sequence[str] | None
) -> tuple[Request, str | None, bool]:
    """The request, the weights, and whether it is a script (with --of, or a file that ends in .py), whose output goes to standard error."""
    from gradcli.cli import output
    from gradcli.cli.request import prepare
    from gradcli.errors import UsageError

    vectors = list(vector or ())
    if len(vectors) > 1:
        raise UsageError(f"{command} takes one -v")
    script = of is not None or (shared.file is None and bool(words) and words[0].endswith(".py") and os.path.isfile(words[0]))
    if script and shared.file is None:
        if not words:
            raise UsageError("--of NAME needs a script", hints=[f"try gradcli {command} script.py --of {of}"])
        shared, words = shared.replace(file=words[0]), words[1:]
    return prepare(words, command, shared, write=output.write_stderr), (vectors[0] if vectors else None), script
