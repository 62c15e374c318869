"""`template % values`: %s %r %a %c %d %i %u %x %o %e %f %g %%, with flags, width, precision, `*` and mapping keys."""

from __future__ import annotations

import operator
import re

from gradcli import limits
from gradcli.errors import ProgramError
from gradcli.lang.python.dict_views import table_of
from gradcli.lang.python.formatting import check_width, converted
from gradcli.lang.python.object_protocol import HOST_TYPES, Ops, Value, hosted, key_error, type_error, value_error

# flags, width, precision, length modifier; every part is optional, so this always matches. As in Python, digits are ASCII.
_SPEC = r"([-+ #0]*)(\*|[0-9]*)(?:(\.)(\*|[0-9]*))?[hlL]?"
_PARENTHESES = r"[()]"


class _Values:
    """The right operand: the items of a tuple in order, or one value; `%(key)s` reads the items of a dict."""

    __slots__ = ("ops", "pending", "right")

    def __init__(self, ops: Ops, right: Value) -> None:
        self.ops = ops
        table = table_of(right)
        self.right = right if table is None else table
        self.pending = iter(right if isinstance(right, tuple) else (right,))

    def next(self) -> Value:
        for value in self.pending:
            return value
        raise type_error("not enough arguments for format string")

    def choose(self, key: str) -> None:
        """Make the item of a dict the only value that is left, as Python does. Raises KeyError, TypeError."""
        if type(self.right) is dict:
            if key not in self.right:
                raise key_error(self.ops, key)
            self.pending = iter((self.right[key],))
        else:
            raise type_error(f"{type(self.right).__name__} indices must be integers or slices, not str")

    def check_used(self) -> None:
        """Raise TypeError if a value is left. As in Python, a list, range or dict may be unused."""
        if type(self.right) not in (list, dict, range):
            for _ in self.pending:
                raise type_error("not all arguments converted during string formatting")


def percent_format(ops: Ops, template: str, right: Value) -> str:
    """`template % right`."""
    values = _Values(ops, right)
    pieces: list[str] = []
    size = at = 0
    while True:
        percent = template.find("%", at)
        piece = template[at:] if percent < 0 else template[at:percent]
        size += len(piece)
        pieces.append(piece)
        if percent < 0:
            break
        piece, at = _conversion(ops, template, percent + 1, values)
        size += len(piece)
        limits.check_string(size)
        pieces.append(piece)
    values.check_used()
    limits.check_string(size)
    return "".join(pieces)


def _conversion(ops: Ops, template: str, at: int, values: _Values) -> tuple[str, int]:
    """The text of the conversion that begins after the `%`, and where the template goes on."""
    if template[at : at + 1] == "%":
        return "%", at + 1
    if template[at : at + 1] == "(":
        if type(values.right) not in (dict, list, range):
            raise type_error("format requires a mapping")
        end = _key_end(template, at)
        values.choose(template[at + 1 : end])
        at = end + 1
    match = re.compile(_SPEC).match(template, at)
    assert match is not None  # every part of the pattern is optional
    flags, width, point, precision = match.groups()
    if width == "*":
        width = _size(values.next(), "width")
        if width[0] == "-":
            flags, width = flags + "-", width[1:]
    check_width(width)
    if precision == "*":
        precision = _size(values.next(), "precision")
        precision = "0" if precision[0] == "-" else precision
    check_width(precision or "", "precision")
    at = match.end()
    if at == len(template):
        raise value_error("incomplete format")
    spec = "%" + "".join(sorted(set(flags))) + width + (f".{precision}" if point else "")
    return _formatted(ops, spec, template[at], values.next(), at), at + 1


def _key_end(template: str, at: int) -> int:
    """The position of the parenthesis that closes the key opened at `at`."""
    depth = 0
    for match in re.compile(_PARENTHESES).finditer(template, at):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.start()
    raise value_error("incomplete format key")


def _size(value: Value, what: str) -> str:
    """The digits of a width or precision given by `*`."""
    if type(value) not in (int, bool):
        raise type_error("* wants int")
    check_width(abs(int(value)), what)
    return str(int(value))


def _formatted(ops: Ops, spec: str, code: str, value: Value, at: int) -> str:
    """The text of one value. Python's own `%` formats it, with a spec made here and a plain number or string."""
    if code in "sra":
        text = converted(ops, value, code)
        limits.check_string(len(text))
        return (spec + "s") % (text,)
    if code not in "diuoxXeEfFgGc":
        raise value_error(f"unsupported format character {_shown(code)} (0x{ord(code):x}) at index {at}")
    if type(value) not in HOST_TYPES:
        value = _number(ops, code, value)
    if type(value) in (int, float) and code in "diu":
        # A float's integer part has at most 309 digits.
        limits.check_integer(value if type(value) is int else 1)
    elif type(value) is int and code in "oxX":
        limits.check_integer(value)
    return hosted(operator.mod, spec + code, (value,))  # type: ignore[no-any-return]


def _shown(code: str) -> str:
    """The character as CPython's message shows it: a question mark for all but printable ASCII."""
    return f"'{code}'" if " " <= code < "\x7f" else "'?'"


def _number(ops: Ops, code: str, value: Value) -> Value:
    """The number in a value that is not a host value. Raises TypeError with the text of this conversion."""
    whole = code in "oxXc"  # these ask for an index, which only integers are
    try:
        number = ops.to_number(value)
    except ProgramError as error:
        if not whole and (error.type_name != "TypeError" or code in "eEfFgG"):
            raise
        number = None
    if number is None or (whole and type(number) not in (int, bool)):
        wanted = {"c": "%c requires int or char"}.get(code)
        what = "an integer" if whole else "a real number"
        raise type_error(wanted or f"%{code} format: {what} is required, not {ops.type_name(value)}")
    return number
