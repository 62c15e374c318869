"""Python's built-in functions for values of any type."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gradcli import limits
from gradcli.core.calling.script_types import Scripted
from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions import catalog
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import GradcliError, ProgramError
from gradcli.lang.names import attributes, class_attributes, iteration
from gradcli.lang.python import numbers, sequences
from gradcli.lang.python.dict_views import DictView
from gradcli.lang.python.object_protocol import HOST_TYPES, Value
from gradcli.lang.values import operators, representation, special_methods, types
from gradcli.lang.values.calls import call, is_callable
from gradcli.lang.values.execution import emit, execution
from gradcli.lang.values.object_operations import OPS, deterministic_hash, format_text, index_of
from gradcli.lang.values.special_methods import Instance, special
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.types import is_instance, is_subclass
from gradcli.lang.values.user_classes import SlottedObject
from gradcli.lang.values.value_classes import MISSING, Builtin

#: print collects about this many characters before it writes
_PRINT_AT_ONCE = 1 << 16


def _print(*args: Value, sep: Value = " ", end: Value = "\n", file: Value = None, flush: Value = False) -> None:
    write = emit
    if file is not None:
        method = attributes.get_attribute(file, "write")
        write = lambda text: call(method, (text,), state.origin)  # noqa: E731
    for name, value in (("sep", sep), ("end", end)):
        if value is not None and type(value) is not str:
            raise ProgramError("TypeError", f"{name} must be None or a string, not {type_name(value)}")
    between = " " if sep is None else sep
    pieces: list[str] = []
    size = 0
    for arg in args:
        if pieces:
            pieces.append(between)
        try:
            piece = representation.str_text(arg)
        except GradcliError:
            write("".join(pieces))  # what stands before it is printed
            raise
        pieces.append(piece)
        size += len(piece) + len(between)
        if size > _PRINT_AT_ONCE:
            write("".join(pieces))
            pieces, size = [""], 0
    pieces.append("\n" if end is None else end)
    write("".join(pieces))


def _exit(code: Value = None) -> Value:
    raise types.make_error("SystemExit", (code,))


def _abs(x: Value, /) -> Value:
    if type(x) is Tensor:
        return catalog.method("abs").method(x, (), {})
    if type(x) not in (int, float, bool, complex):
        own = special(x, "__abs__")
        if own is not None:
            return own()
        raise type_error("bad operand type for abs(): '{}'", x)
    return numbers.host_abs(x)


def _round(number: Value, ndigits: Value = None) -> Value:
    if type(number) not in (int, float, bool):
        own = special(number, "__round__")
        if own is not None:
            return own() if ndigits is None else own(ndigits)
        raise ProgramError("TypeError", f"type {type_name(number)} doesn't define __round__ method")
    return numbers.host_round(number, None if ndigits is None else index_of(ndigits))


def _pow(base: Value, exp: Value, mod: Value = None) -> Value:
    if mod is None:
        return operators.BINARY["**"](base, exp)
    if not all(type(value) in HOST_TYPES for value in (base, exp, mod)):
        raise type_error("unsupported operand type(s) for ** or pow(): '{}', '{}', '{}'", base, exp, mod)
    return numbers.host_pow(base, exp, mod)


def _divmod(x: Value, y: Value, /) -> Value:
    if type(x) not in HOST_TYPES or type(y) not in HOST_TYPES:
        found = special_methods.operate("divmod", x, y)
        if found is not MISSING:
            return found
        raise type_error("unsupported operand type(s) for divmod(): '{}' and '{}'", x, y)
    return numbers.host_divmod(x, y)


# --- values and their attributes ------------------------------------------------------------------


def _attribute_name(name: Value) -> str:
    if not isinstance(name, str):
        raise type_error("attribute name must be string, not '{}'", name)
    return name


def _getattr(value: Value, name: Value, default: Value = MISSING, /) -> Value:
    if default is MISSING:
        return attributes.get_attribute(value, _attribute_name(name))
    found = _attribute_or_missing(value, name)
    return default if found is MISSING else found


#: the kinds of values that have what an operator or a loop asks for; programs cannot read these methods
_HAVING: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("__len__", "__contains__", "__iter__"), (list, tuple, str, range, Tensor, dict, set, frozenset, DictView)),
    "__getitem__": (list, tuple, str, range, Tensor, dict),
}


def has_method(value: Value, name: str) -> bool:
    """Whether a value that is no instance has a special method that operators, loops or calls ask for."""
    if name == "__call__":
        return is_callable(value)
    return isinstance(value, _HAVING.get(name, ())) or (name in _HAVING and attributes.hidden_method(value, name) is not None)


def _hasattr(value: Value, name: Value, /) -> bool:
    return _attribute_or_missing(value, name) is not MISSING or (not isinstance(value, Instance) and has_method(value, name))


def _attribute_or_missing(value: Value, name: Value) -> Value:
    """An attribute, or MISSING, also where a property or `__getattr__` of the program raises AttributeError."""
    depth = execution.depth
    try:
        return attributes.find_attribute(value, _attribute_name(name))
    except ProgramError as error:
        if error.type_name != "AttributeError":
            raise
        execution.depth = depth
        return MISSING


def _setattr(value: Value, name: Value, new: Value, /) -> None:
    attributes.set_attribute(value, _attribute_name(name), new)


def _delattr(value: Value, name: Value, /) -> None:
    attributes.delete_attribute(value, _attribute_name(name))


def _id(value: Value, /) -> int:
    return execution.addresses.of(value)


def _super(*args: Value) -> Value:
    if len(args) != 2:
        raise ProgramError("RuntimeError", "super(): no arguments")
    return class_attributes.make_super(*args)


def _vars(value: Value = MISSING, /) -> Value:
    if isinstance(value, (Tensor, Scripted)) and not isinstance(value, Instance):
        raise ProgramError("TypeError", f"vars() of a value of the type {type_name(value)} is not part of gradcli's language")
    if not isinstance(value, Instance) or isinstance(value, SlottedObject):
        raise ProgramError("TypeError", "vars() argument must have __dict__ attribute")
    found = attributes.find_attribute(value, "__dict__")
    return dict(value.fields) if found is MISSING else found


def _dir(value: Value = MISSING, /) -> list[str]:
    if value is MISSING or type(value) in HOST_TYPES:
        what = "without an argument" if value is MISSING else f"of a value of the type {type_name(value)}"
        raise ProgramError("TypeError", f"dir() {what} is not part of gradcli's language")
    from gradcli.lang.names.listed_names import listed

    return listed(value)


# --- text -----------------------------------------------------------------------------------------


def _format(value: Value, spec: Value = "", /) -> str:
    if not isinstance(spec, str):
        raise ProgramError("TypeError", f"format() argument 2 must be str, not {type_name(spec)}")
    return format_text(value, spec)


def _chr(code: Value, /) -> str:
    number = index_of(code)
    if not 0 <= number < 0x110000:
        raise ProgramError("ValueError", "chr() arg not in range(0x110000)")
    return chr(number)


def _ord(character: Value, /) -> int:
    if type(character) is not str:
        raise ProgramError("TypeError", f"ord() expected string of length 1, but {type_name(character)} found")
    if len(character) != 1:
        raise ProgramError("TypeError", f"ord() expected a character, but string of length {len(character)} found")
    return ord(character)


def _in_base(convert: Callable[[int], str]) -> Callable[[Value], str]:
    def run(number: Value, /) -> str:
        value = index_of(number)
        limits.check_integer(value)
        return convert(value)

    return run


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "print": _print,
    **dict.fromkeys(("exit", "quit"), _exit),
    **iteration.FUNCTIONS,
    "abs": _abs,
    "round": _round,
    "pow": _pow,
    "divmod": _divmod,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "delattr": _delattr,
    "isinstance": is_instance,
    "issubclass": is_subclass,
    "super": _super,
    "vars": _vars,
    "dir": _dir,
    "callable": is_callable,
    "id": _id,
    "hash": deterministic_hash,
    "repr": representation.repr_text,
    "ascii": representation.ascii_repr,
    "format": _format,
    "chr": _chr,
    "ord": _ord,
    "bin": _in_base(bin),
    "hex": _in_base(hex),
    "oct": _in_base(oct),
    "sorted": partial(sequences.sorted_list, OPS),
    "min": partial(sequences.smallest, OPS),
    "max": partial(sequences.largest, OPS),
}

FUNCTIONS: dict[str, Builtin] = {name: Builtin(name, function) for name, function in _FUNCTIONS.items()}


def _either(name: str) -> Builtin:
    """Bare `sum` and its like at the prompt: torch's when the first argument is a tensor, Python's otherwise."""
    python = FUNCTIONS[name]

    def run(*args: Value, **kwargs: Value) -> Value:
        torchs = (args and type(args[0]) is Tensor) or (not args and type(kwargs.get("input")) is Tensor)
        choices = execution.choices
        if choices is not None:
            choice = "torch" if torchs else "python"
            if choices.setdefault(state.origin, choice) != choice:
                choices[state.origin] = "both"
        if torchs:
            return catalog.function(name)(*args, **kwargs)
        return python(*args, **kwargs)

    return Builtin(name, run)


#: the functions that replace Python's in one-off expressions and at the prompt
ONE_OFF: dict[str, Builtin] = {name: _either(name) for name in ("sum", "max", "min", "abs", "all", "any", "round", "pow")}
