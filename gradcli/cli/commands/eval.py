"""`gradcli eval`: the value of an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradcli.cli.options import Shared

if TYPE_CHECKING:
    from gradcli.results.values import Evaluation
    from gradcli.session.session import Text

EXAMPLES = """\
gradcli eval '(x+2)*2' x=1,2,3
gradcli eval 'randn(4,4)' --seed 6
gradcli eval '-x*2' x=@data.csv:height --format plain
gradcli eval 'softmax(logits, dim=0)' logits:=1.,2.,3."""

HELP = """The value of an expression, as PyTorch prints it.

NAME=VALUE makes a float tensor that requires grad; NAME:=EXPR is PyTorch's own reading. Values are numbers, lists (1,2,3 or
[[1,2],[3,4]]), expressions (randn(3)), ranges (-3..3, 0..1:11) and files (@data.csv, @data.csv:column, @d.json, @w.npy, @f.npz:name, @-).
"""

FORMATS = ("table", "repr", "plain", "json", "csv", "npy")

#: the text that values other than tensors need, by format
_TEXTS: dict[str, Text] = {"repr": "repr", "table": "repr", "plain": "str"}


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR [NAME=VALUE]...", hidden=True)] = None,
    *,
    shared: Shared,
) -> int:
    """Evaluate and print."""
    from gradcli.cli.request import prepare

    chosen = shared.chosen_format("repr", FORMATS)
    request = prepare(words or [], "eval", shared)
    result = request.session.evaluate(request.expression, _TEXTS.get(chosen, ""))
    if chosen == "table":
        from gradcli.render import tables

        return request.finish(tables.evaluation_table(result, request.look), safe=True)
    if chosen == "json":
        from gradcli.render.json_text import evaluation_json as draw
    elif chosen == "npy":
        return request.finish_bytes(_npy(result))
    elif chosen == "csv":
        from gradcli.render.csv_text import evaluation_csv as draw
    else:
        from gradcli.render import plain

        draw = plain.evaluation_repr if chosen == "repr" else plain.evaluation_plain
    return request.finish(draw(result), safe=False)


def _npy(result: Evaluation) -> bytes:
    """The numbers as an npy file. Raises UsageError for a value that `@FILE.npy` could not read back."""
    from gradcli.errors import UsageError
    from gradcli.results.values import npy

    content = npy(result.value)
    if content is None:
        raise UsageError("an npy file holds real numbers or booleans, which this value is not", hints=["--format json writes any value"])
    return content
