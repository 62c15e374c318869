"""The methods of strings: `METHODS[name](ops, value, *args, **kwargs)`.

Python's own methods do the work; the functions here check the size of a result before it is made. Where CPython's search from
the right would be quadratic, the text is reversed and searched from the left.
"""

from __future__ import annotations

from collections.abc import Callable

from gradcli import limits
from gradcli.errors import ProgramError
from gradcli.lang.python import arguments
from gradcli.lang.python.formatting import format_string
from gradcli.lang.python.object_protocol import Ops, Value, hosted, hosted_call, hosted_method, type_error

Method = Callable[..., Value]

#: with more comparisons than this in the worst case, a search from the right is done on reversed text
_QUADRATIC = 1 << 22

_LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def _cased(primitive: Callable[..., Value]) -> Method:
    """A change of case. Beyond ASCII one character can become three, so the result is checked too."""

    def method(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
        limits.check_string(len(value))
        result = hosted_call(primitive, (value, *args), kwargs, ops)
        limits.check_string(len(result))
        return result

    return method


def _padded(primitive: Callable[..., Value]) -> Method:
    """A method whose first argument is the width of its result."""

    def method(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
        if args and isinstance(args[0], int):
            limits.check_string(max(len(value), args[0]))
        return hosted_call(primitive, (value, *args), kwargs, ops)

    return method


def _expandtabs(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
    size = args[0] if args else kwargs.get("tabsize", 8)
    if isinstance(size, int):
        tabs = value.count("\t")
        limits.check_string(len(value) - tabs + tabs * max(size, 0))
    return hosted_call(str.expandtabs, (value, *args), kwargs, ops)


def _replace(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
    if len(args) >= 2 and isinstance(args[0], str) and isinstance(args[1], str):
        old, new = args[0], args[1]
        if len(new) > len(old):
            count = value.count(old)
            if len(args) > 2 and isinstance(args[2], int) and args[2] >= 0:
                count = min(count, args[2])
            limits.check_string(len(value) + count * (len(new) - len(old)))
    return hosted_call(str.replace, (value, *args), kwargs, ops)


def _join(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
    parts = arguments.one("str.join", args, kwargs)
    if type(parts) not in (list, tuple, str):
        try:
            source = ops.iterate(parts)
        except ProgramError as error:
            if error.type_name != "TypeError":
                raise
            raise type_error("can only join an iterable") from None
        parts = []
        for part in source:
            limits.check_list(len(parts) + 1)
            parts.append(part)
    size = len(value) * max(len(parts) - 1, 0)
    for at, part in enumerate(parts):
        if not isinstance(part, str):
            raise type_error(f"sequence item {at}: expected str instance, {ops.type_name(part)} found")
        size += len(part)
    limits.check_string(size)
    return value.join(parts)


def _split(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
    return _pieces(str.split, ops, value, args, kwargs)


def _rsplit(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
    separator = args[0] if args else kwargs.get("sep")
    if isinstance(separator, str) and _is_long(value, separator):
        hosted_call(str.rsplit, ("", *args), kwargs, ops)  # checks the arguments
        turned = (separator[::-1], *args[1:]) if args else ()
        named = kwargs if args else {**kwargs, "sep": separator[::-1]}
        return [piece[::-1] for piece in reversed(_pieces(str.split, ops, value[::-1], turned, named))]
    return _pieces(str.rsplit, ops, value, args, kwargs)


def _pieces(primitive: Callable[..., Value], ops: Ops, value: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """split and rsplit; they make at most one piece more than a list may hold."""
    most = limits.current.list
    if most >= len(value):
        return hosted_call(primitive, (value, *args), kwargs, ops)
    hosted_call(primitive, ("", *args), kwargs, ops)  # checks the arguments
    separator = args[0] if args else kwargs.get("sep")
    count = args[1] if len(args) > 1 else kwargs.get("maxsplit", -1)
    bound = int(most) + 1
    pieces = primitive(value, separator, bound if count < 0 else min(count, bound))
    limits.check_list(len(pieces))
    return pieces


def _splitlines(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
    if len(value) > limits.current.list:
        breaks = sum(value.count(character) for character in _LINE_BREAKS) - value.count("\r\n")
        limits.check_list(breaks + (value[-1] not in _LINE_BREAKS))
    return hosted_call(str.splitlines, (value, *args), kwargs, ops)


def _is_long(value: str, part: str) -> bool:
    return 1 < len(part) <= len(value) and len(value) * len(part) > _QUADRATIC


def _rfind(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
    return _find_last(str.rfind, ops, value, args, kwargs)


def _rindex(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
    return _find_last(str.rindex, ops, value, args, kwargs)


def _find_last(primitive: Callable[..., Value], ops: Ops, value: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    if not (args and isinstance(args[0], str) and _is_long(value, args[0])):
        return hosted_call(primitive, (value, *args), kwargs, ops)
    part = args[0]
    if primitive is str.rfind:
        hosted_call(primitive, ("", *args), kwargs, ops)  # checks the arguments
    bounds = slice(*args[1:]) if len(args) > 2 else slice(args[1] if len(args) > 1 else None, None)
    start, stop, _ = hosted_call(bounds.indices, (len(value),), {}, ops)
    at = value[start:stop][::-1].find(part[::-1])
    if at >= 0:
        return stop - at - len(part)
    return hosted_call(primitive, ("", *args), kwargs, ops)


def _rpartition(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
    if len(args) == 1 and isinstance(args[0], str) and _is_long(value, args[0]):
        after, separator, before = value[::-1].partition(args[0][::-1])
        return (before[::-1], separator[::-1], after[::-1]) if separator else ("", "", value)
    return hosted_call(str.rpartition, (value, *args), kwargs, ops)


def _stripped(primitive: Callable[..., Value], ends: tuple[bool, bool]) -> Method:
    """strip, lstrip or rstrip, which strips the `ends`: Python looks through all the characters given for each one of the text."""

    def method(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
        if kwargs or len(args) != 1 or not isinstance(args[0], str) or len(args[0]) * len(value) <= _QUADRATIC:
            return hosted_call(primitive, (value, *args), kwargs, ops)
        stripped = set(args[0])
        start, stop = 0, len(value)
        while ends[0] and start < stop and value[start] in stripped:
            start += 1
        while ends[1] and start < stop and value[stop - 1] in stripped:
            stop -= 1
        return value[start:stop]

    return method


def _compared(primitive: Callable[..., Value]) -> Method:
    """startswith or endswith; with a tuple of texts, each is a step of the program."""

    def method(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
        if kwargs or not args or not isinstance(args[0], tuple):
            return hosted_call(primitive, (value, *args), kwargs, ops)
        for text in args[0]:
            limits.evaluation.tick()
            if hosted_call(primitive, (value, (text,), *args[1:]), kwargs, ops):
                return True
        return hosted_call(primitive, (value, (), *args[1:]), kwargs, ops)

    return method


def make_translation(*args: Value, **kwargs: Value) -> dict[Value, Value]:
    """`str.maketrans(table)`, `str.maketrans(old, new)`, `str.maketrans(old, new, left_out)`."""
    arguments.between("maketrans", args, kwargs, 1, 3)
    if len(args) == 1 and type(args[0]) is not dict:
        raise type_error("if you give only one argument to maketrans it must be a dict")
    if len(args) > 1 and not all(isinstance(one, str) for one in args):
        raise ProgramError("NotImplementedError", "str.maketrans takes a dict, or texts, here")
    return hosted(str.maketrans, *args)  # type: ignore[no-any-return]


def _translate(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> str:
    table = arguments.one("str.translate", args, kwargs)
    if type(table) is not dict:
        raise ProgramError("NotImplementedError", "str.translate takes a dict here, such as str.maketrans makes")
    if not all(type(new) in (str, int, type(None)) for new in table.values()):
        raise type_error("character mapping must return integer, None or str")
    longest = max((len(new) for new in table.values() if isinstance(new, str)), default=1)
    limits.check_string(len(value) * max(longest, 1))
    return hosted(str.translate, value, table)  # type: ignore[no-any-return]


def _format(ops: Ops, value: str, /, *args: Value, **kwargs: Value) -> Value:
    return format_string(ops, value, args, kwargs)


_PLAIN = (
    *("count", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower"),
    *("isnumeric", "isprintable", "isspace", "istitle", "isupper", "partition", "removeprefix", "removesuffix"),
)
_CASED = ("capitalize", "casefold", "lower", "swapcase", "title", "upper")
_PADDED = ("center", "ljust", "rjust", "zfill")

METHODS: dict[str, Method] = {
    **{name: hosted_method(vars(str)[name]) for name in _PLAIN},
    **{name: _cased(vars(str)[name]) for name in _CASED},
    **{name: _padded(vars(str)[name]) for name in _PADDED},
    "endswith": _compared(str.endswith),
    "expandtabs": _expandtabs,
    "format": _format,
    "join": _join,
    "lstrip": _stripped(str.lstrip, (True, False)),
    "replace": _replace,
    "rfind": _rfind,
    "rindex": _rindex,
    "rpartition": _rpartition,
    "rsplit": _rsplit,
    "rstrip": _stripped(str.rstrip, (False, True)),
    "split": _split,
    "splitlines": _splitlines,
    "startswith": _compared(str.startswith),
    "strip": _stripped(str.strip, (True, True)),
    "translate": _translate,
}
