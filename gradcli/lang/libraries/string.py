"""`string`: constants of characters; `textwrap`: paragraphs and margins of texts."""

from __future__ import annotations

import string
import textwrap
from collections.abc import Callable

from gradcli import limits
from gradcli.core.calling.type_errors import type_error
from gradcli.lang.python.object_protocol import HOST_ERRORS, Value, from_host
from gradcli.lang.values.value_classes import Builtin

_NAMES = (
    *("ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits", "hexdigits", "octdigits", "printable", "punctuation"),
    "whitespace",
)
#: characters of a prefix of lines
_WIDEST = 1000


def _on_text(name: str, function: Callable[..., Value]) -> Builtin:
    def run(text: Value, *args: Value, **options: Value) -> Value:
        if type(text) is not str:
            raise type_error(f"{name}() takes a text, not {{}}", text)
        given = [*args, *options.values()]
        if any(type(value) not in (str, int, bool) or (type(value) is str and len(value) > _WIDEST) for value in given):
            raise type_error(f"{name}() takes numbers and short texts for options, not {{}}", given)
        # each character can become a line with a prefix
        limits.check_string((len(text) + 1) * (1 + sum(len(value) for value in given if type(value) is str)))
        try:
            return function(text, *args, **options)
        except HOST_ERRORS as error:
            raise from_host(error) from None

    return Builtin(name, run)


MEMBERS: dict[str, Value] = {name: getattr(string, name) for name in _NAMES}
TEXTWRAP: dict[str, Value] = {
    name: _on_text(name, function)
    for name, function in (
        *(("dedent", textwrap.dedent), ("indent", textwrap.indent), ("fill", textwrap.fill), ("wrap", textwrap.wrap)),
        ("shorten", textwrap.shorten),
    )
}
