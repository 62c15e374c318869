"""`gradcli ops`: the reference."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gradcli.cli.options import Shared

EXAMPLES = """\
gradcli ops softmax
gradcli ops 'log*'
gradcli ops MulBackward0
gradcli ops optim.Adam
gradcli ops --names"""

HELP = """What is supported: signatures, grad_fn, derivatives, what is chosen where there is none, an example that is run now.

A NAME is told in full (softmax, F.softmax, Tensor.add_, nn.Linear, a grad_fn); a PATTERN with * or ?, or nothing, gives a table by family.
"""

FORMATS = ("table", "plain", "json", "csv")
WITHOUT = ("file", "dtype", "seed", "precision")


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="[NAME|PATTERN]...", hidden=True)] = None,
    *,
    names: Annotated[bool, typer.Option("--names", help="Only the names, one a line; short for --format plain.")] = False,
    shared: Shared,
) -> int:
    """Look up and print."""
    from gradcli import limits
    from gradcli.analysis.reference import entries, lookup
    from gradcli.cli import output
    from gradcli.errors import UsageError
    from gradcli.render import reference as render
    from gradcli.render.look import PLAIN

    if names and (shared.json or shared.format not in (None, "plain")):
        raise UsageError("--names is a format of its own: it goes without --format")
    chosen = "plain" if names else shared.chosen_format("table", FORMATS)
    if shared.file is not None:
        raise UsageError("ops takes names, and no file")
    limits.use(limits.with_options(shared.limit or [], untrusted=shared.untrusted))
    patterns = words or []
    found = [entry for pattern in patterns for entry in lookup.find(pattern)] if patterns else entries.all_entries()
    in_full = bool(patterns) and not any(map(lookup.is_pattern, patterns))
    listed = list({entry.name: entry for entry in found}.values())
    if chosen == "json" or (chosen == "table" and in_full):
        listed = list(map(lookup.with_example, listed))
    if chosen == "table":
        draw = render.reference_text if in_full else render.reference_table
        text = draw(listed, PLAIN if shared.path is not None else output.look_of(sys.stdout, shared.color))
    else:
        renderers = {"plain": render.reference_plain, "json": render.reference_json, "csv": render.reference_csv}
        text = renderers[chosen](listed)
    if shared.path is None:
        output.page_stdout(text, shared.color)
    else:
        output.write_file(shared.path, text.encode())
    return 0
