"""`string`: constants of characters."""

from __future__ import annotations

import string

from gradcli.lang.python.object_protocol import Value

_NAMES = (
    *("ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits", "hexdigits", "octdigits", "printable", "punctuation"),
    "whitespace",
)

MEMBERS: dict[str, Value] = {name: getattr(string, name) for name in _NAMES}
