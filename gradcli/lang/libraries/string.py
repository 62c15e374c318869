"""`string`: constants of characters; `textwrap`: paragraphs and margins; `unicodedata`: normal forms and categories of characters."""

from __future__ import annotations

import string
import textwrap
import unicodedata
from collections.abc import Callable

from gradcli import limits
from gradcli.core.calling.type_errors import type_error
from gradcli.lang.python.object_protocol import HOST_ERRORS, Value, from_host, hosted
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


def _normalize(form: Value, text: Value, /) -> str:
    for value in (form, text):
        if type(value) is not str:
            raise type_error("normalize() argument must be str, not {}", value)
    # one character becomes at most 18
    limits.check_string(18 * len(text))
    return str(hosted(unicodedata.normalize, form, text))


def _of_character(name: str) -> Callable[..., Value]:
    function = getattr(unicodedata, name)

    def run(character: Value, /) -> Value:
        if type(character) is not str or len(character) != 1:
            raise type_error(f"{name}() argument must be a unicode character, not {{}}", character)
        return function(character)

    return run


MEMBERS: dict[str, Value] = {name: getattr(string, name) for name in _NAMES}
TEXTWRAP: dict[str, Value] = {
    name: _on_text(name, function)
    for name, function in (
        *(("dedent", textwrap.dedent), ("indent", textwrap.indent), ("fill", textwrap.fill), ("wrap", textwrap.wrap)),
        ("shorten", textwrap.shorten),
    )
}
UNICODEDATA: dict[str, Value] = {
    "normalize": Builtin("normalize", _normalize),
    **{name: Builtin(name, _of_character(name)) for name in ("category", "combining", "bidirectional")},
}
