"""`format(value, spec)`, the specs of f-strings, and `str.format`.

The fields of `str.format` are parsed here: positions, names and `[item]` of plain containers, conversions r, s, a, and specs
with fields one level deep. Fields have no attributes, and the text that a field inserts is never parsed again. Width and
precision are checked before anything is formatted.
"""

from __future__ import annotations

import operator
import re
import sys

from gradcli import limits
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import HOST_TYPES, Ops, TorchVersion, Value, hosted, type_error, value_error
from gradcli.lang.python.reprs import ascii_text, int_text, repr_host, str_host

#: the largest width and precision of a format
MAX_WIDTH = 1000

# Python takes any Unicode decimal digit in a spec, and so does \d.
_NUMBERS = r"\.?\d+"
_ALIGNS = frozenset("<>=^")


def check_width(digits: str | int, what: str = "width") -> None:
    """Raise ValueError for a width or precision, given as a number or as its digits, above MAX_WIDTH."""
    if isinstance(digits, int):
        if digits <= MAX_WIDTH:
            return
        shown = int_text(digits)
    else:
        # there may be many leading zeros; int() gets a bounded number of digits only
        shown = digits.lstrip("0")
        if len(shown) <= 9 and int(shown or "0") <= MAX_WIDTH:
            return
    if len(shown) > 20:
        shown = shown[:20] + "..."
    raise value_error(f"{what} {shown} is too large: a format's width and precision are at most {MAX_WIDTH}")


def check_spec(spec: str) -> None:
    """Raise ValueError for a width or precision above MAX_WIDTH. A digit that is the fill character is not a width."""
    start = 2 if len(spec) > 1 and spec[1] in _ALIGNS else 0
    for match in re.compile(_NUMBERS).finditer(spec, start):
        number = match[0]
        if number[0] == ".":
            check_width(number[1:], "precision")
        else:
            check_width(number)


def format_value(ops: Ops, value: Value, spec: str) -> str:
    """`format(value, spec)`, also for the fields of f-strings."""
    kind = type(value)
    if not spec and kind in HOST_TYPES:
        return str_host(value, ops.repr_of)
    check_spec(spec)
    if kind not in HOST_TYPES:
        return ops.format_of(value, spec)
    if kind is int and not -(1 << 63) < value < 1 << 63:
        limits.check_integer(value)
    elif kind not in (str, TorchVersion, int, float, bool, complex):
        raise type_error(f"unsupported format string passed to {kind.__name__}.__format__")
    # a number has at most a few thousand characters, a string grows by the width at most
    text: str = hosted(format, value, spec)
    limits.check_string(len(text))
    return text


def converted(ops: Ops, value: Value, conversion: str) -> Value:
    """The value after `!r`, `!s` or `!a`; without a conversion the value itself."""
    if not conversion:
        return value
    if conversion == "s":
        return str_host(value, ops.repr_of) if type(value) in HOST_TYPES else ops.str_of(value)
    if conversion in ("r", "a"):
        text = repr_host(value, ops.repr_of)
        return text if conversion == "r" else ascii_text(text)
    if " " < conversion < "\x7f":
        raise value_error(f"Unknown conversion specifier {conversion}")
    raise value_error(f"Unknown conversion specifier \\x{ord(conversion):x}")


# --- str.format ---------------------------------------------------------------------------------------------


class _Template:
    """A call of `str.format`: its arguments, and whether its fields are numbered explicitly or automatically."""

    __slots__ = ("args", "kwargs", "manual", "next_auto", "ops")

    def __init__(self, ops: Ops, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
        self.ops = ops
        self.args = args
        self.kwargs = kwargs
        self.next_auto = 0
        #: whether fields are numbered explicitly; None until the first positional field
        self.manual: bool | None = None

    def expand(self, text: str, levels: int) -> str:
        """`text` with its fields filled in; `levels` is how many specs may still nest, this text included."""
        if levels == 0:
            raise value_error("Max string recursion exceeded")
        pieces: list[str] = []
        size = at = 0
        while at < len(text):
            literal, at, has_field = _literal(text, at)
            size += len(literal)
            pieces.append(literal)
            if has_field:
                name, conversion, spec, at = _field(text, at)
                value = converted(self.ops, self.lookup(name), conversion)
                if "{" in spec or "}" in spec:
                    spec = self.expand(spec, levels - 1)
                piece = format_value(self.ops, value, spec)
                size += len(piece)
                pieces.append(piece)
            limits.check_string(size)
        return "".join(pieces)

    def lookup(self, field: str) -> Value:
        """The value that a field's name stands for."""
        end = min((at for at in (field.find("."), field.find("[")) if at >= 0), default=len(field))
        name = field[:end]
        index = _integer(name)
        if not name or index is not None:
            index = self.number(index)
            if index >= len(self.args):
                raise ProgramError("IndexError", f"Replacement index {index} out of range for positional args tuple")
            value = self.args[index]
        elif name in self.kwargs:
            value = self.kwargs[name]
        else:
            raise ProgramError("KeyError", repr(name), args=(name,))
        while end < len(field):
            value, end = _item(value, field, end)
        return value

    def number(self, index: int | None) -> int:
        """The position of a numbered field: `index`, or the next one when the field is empty."""
        if self.manual is None:
            self.manual = index is not None
        if self.manual != (index is not None):
            manual, automatic = "manual field specification", "automatic field numbering"
            before, after = (manual, automatic) if self.manual else (automatic, manual)
            raise value_error(f"cannot switch from {before} to {after}")
        if index is not None:
            return index
        self.next_auto += 1
        return self.next_auto - 1


def format_string(ops: Ops, template: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> str:
    """`template.format(*args, **kwargs)`."""
    return _Template(ops, args, kwargs).expand(template, 2)


_BRACE = r"[{}]"


def _literal(text: str, at: int) -> tuple[str, int, bool]:
    """Literal text from `at`: the text, where it ends, and whether a field follows. A doubled brace ends it too."""
    match = re.compile(_BRACE).search(text, at)
    if match is None:
        return text[at:], len(text), False
    brace, after = match[0], match.end()
    if text[after : after + 1] == brace:
        return text[at:after], after + 1, False
    if brace == "}" or after == len(text):
        raise value_error(f"Single '{brace}' encountered in format string")
    return text[at : after - 1], after, True


_NAME_END = r"[{}:!\[]"


def _field(text: str, at: int) -> tuple[str, str, str, int]:
    """The field whose inside begins at `at`: name, conversion, spec (unexpanded), and where the text goes on."""
    start = at
    while True:
        match = re.compile(_NAME_END).search(text, at)
        if match is None:
            raise value_error("expected '}' before end of string")
        at = match.end()
        if match[0] == "{":
            raise value_error("unexpected '{' in field name")
        if match[0] != "[":
            break
        # Inside brackets everything up to ] belongs to the name.
        closing = text.find("]", at)
        if closing < 0:
            raise value_error("expected '}' before end of string")
        at = closing
    name = text[start : at - 1]
    if match[0] == "}":
        return name, "", "", at
    conversion = ""
    if match[0] == "!":
        if at == len(text):
            raise value_error("end of string while looking for conversion specifier")
        conversion = text[at]
        follows = text[at + 1 : at + 2]
        at += 1 + len(follows)
        if follows == "}":
            return name, conversion, "", at
        if follows not in ("", ":"):
            raise value_error("expected ':' after conversion specifier")
    end = _spec_end(text, at)
    return name, conversion, text[at:end], end + 1


def _spec_end(text: str, at: int) -> int:
    """The position of the brace that closes the field whose spec begins at `at`."""
    depth = 1
    for match in re.compile(_BRACE).finditer(text, at):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    raise value_error("unmatched '{' in format spec")


def _integer(name: str) -> int | None:
    """The number that the name of a field spells with decimal digits, or None."""
    if not name.isdecimal():
        return None
    digits = name.lstrip("0")
    if len(digits) > 19 or int(digits or "0") > sys.maxsize:
        raise value_error("Too many decimal digits in format string")
    return int(digits or "0")


def _item(value: Value, field: str, at: int) -> tuple[Value, int]:
    """One `[item]` step of a field's name at `at`: the element, and where the name goes on."""
    if field[at] == ".":
        raise value_error("format fields have no attributes; write an f-string, or pass the attribute's value to format()")
    if field[at] != "[":
        raise value_error("Only '.' or '[' may follow ']' in format field specifier")
    closing = field.find("]", at)
    if closing < 0:
        raise value_error("Missing ']' in format string")
    text = field[at + 1 : closing]
    if not text:
        raise value_error("Empty attribute in format string")
    if value is None or isinstance(value, (int, float, complex, set, frozenset)):
        raise type_error(f"'{type(value).__name__}' object is not subscriptable", type(value).__name__)
    if not isinstance(value, (list, tuple, dict, str)):
        raise type_error("format fields take [items] of lists, tuples, dicts and strings only; write an f-string")
    index = _integer(text)
    key: Value = text if index is None else index
    return hosted(operator.getitem, value, key), closing + 1
