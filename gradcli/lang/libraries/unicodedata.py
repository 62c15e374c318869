"""`unicodedata`: normal forms and categories of characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from gradcli import limits
from gradcli.core.calling.type_errors import type_error
from gradcli.lang.python.object_protocol import Value, hosted
from gradcli.lang.values.value_classes import Builtin


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


MEMBERS: dict[str, Value] = {
    "normalize": Builtin("normalize", _normalize),
    **{name: Builtin(name, _of_character(name)) for name in ("category", "combining", "bidirectional")},
}
