"""Python's built-in functions for values of any type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from gradcli import limits
from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions import catalog
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.names import attributes, class_attributes
from gradcli.lang.python import numbers, sequences
from gradcli.lang.python.dict_views import DictView
from gradcli.lang.python.dicts_and_sets import range_length
from gradcli.lang.python.object_protocol import HOST_TYPES, Value
from gradcli.lang.values import generators, operators, representation, special_methods
from gradcli.lang.values.calls import call, is_callable
from gradcli.lang.values.comparison import equal
from gradcli.lang.values.execution import emit, execution
from gradcli.lang.values.object_operations import OPS, deterministic_hash, format_text, index_of, iterate, stepping
from gradcli.lang.values.special_methods import Instance, length_from, special, truth
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.types import is_instance, is_subclass
from gradcli.lang.values.value_classes import MISSING, Builtin, IteratorValue

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
        piece = representation.str_text(arg)
        pieces.append(piece)
        size += len(piece) + len(between)
        if size > _PRINT_AT_ONCE:
            write("".join(pieces))
            pieces, size = [""], 0
    pieces.append("\n" if end is None else end)
    write("".join(pieces))


def length(value: Value, /) -> int:
    """`len(value)`."""
    if type(value) is Tensor:
        if value.array.ndim == 0:
            raise ProgramError("TypeError", "len() of a 0-d tensor")
        return int(value.array.shape[0])
    if type(value) is range:
        size = range_length(value)
        if size >= 1 << 63:
            raise ProgramError("OverflowError", "Python int too large to convert to C ssize_t")
        return size
    if isinstance(value, str | list | tuple | dict | set | DictView):
        return len(value)
    own = special(value, "__len__")
    if own is not None:
        return length_from(own())
    method = attributes.hidden_method(value, "__len__")
    if method is None:
        raise type_error("object of type '{}' has no len()", value)
    return int(method(value))


def _sum(iterable: Value, /, start: Value = 0) -> Value:
    if type(start) is str:
        raise ProgramError("TypeError", "sum() can't sum strings [use ''.join(seq) instead]")
    place = state.origin
    total = start
    add = operators.BINARY["+"]
    for item in stepping(iterable):
        state.origin = place
        total = add(total, item)
    return total


def _any(iterable: Value, /) -> bool:
    return any(truth(item) for item in stepping(iterable))


def _all(iterable: Value, /) -> bool:
    return all(truth(item) for item in stepping(iterable))


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


# --- iterators ------------------------------------------------------------------------------------


def _enumerate(iterable: Value, start: Value = 0) -> IteratorValue:
    return IteratorValue("enumerate", enumerate(iterate(iterable), index_of(start)), (iterable,))


def _zip(*iterables: Value, strict: Value = False) -> IteratorValue:
    sources = [iterate(iterable) for iterable in iterables]
    host = _zip_strict(sources) if truth(strict) else zip(*sources, strict=False)
    return IteratorValue("zip", host, iterables)


def _zip_strict(sources: list[Iterator[Value]]) -> Iterator[Value]:
    while sources:
        items: list[Value] = []
        for at, source in enumerate(sources):
            item = next(source, MISSING)
            if item is MISSING and at > 0:
                raise _uneven(at, "shorter")
            if item is MISSING:
                for later in range(1, len(sources)):
                    if next(sources[later], MISSING) is not MISSING:
                        raise _uneven(later, "longer")
                return
            items.append(item)
        yield tuple(items)


def _uneven(at: int, how: str) -> ProgramError:
    before = "argument 1" if at == 1 else f"arguments 1-{at}"
    return ProgramError("ValueError", f"zip() argument {at + 1} is {how} than {before}")


def _map(function: Value, *iterables: Value) -> IteratorValue:
    if not iterables:
        raise ProgramError("TypeError", "map() must have at least two arguments.")
    place = state.origin
    sources = [iterate(iterable) for iterable in iterables]
    return IteratorValue("map", (call(function, args, place) for args in zip(*sources, strict=False)), iterables)


def _filter(function: Value, iterable: Value, /) -> IteratorValue:
    place = state.origin
    source = iterate(iterable)
    if function is None:
        return IteratorValue("filter", (item for item in source if truth(item)), (iterable,))
    host = (item for item in source if truth(call(function, (item,), place)))
    return IteratorValue("filter", host, (iterable,))


def _by_place(value: Value) -> Callable[[int], Value] | None:
    """What gives the item at a place, where a value of a class has `__getitem__` and `__len__` and is no mapping; else None."""
    item_at = special(value, "__getitem__")
    if item_at is not None and special(value, "__len__") is not None:
        return item_at
    own_item = attributes.hidden_method(value, "__getitem__")
    if own_item is None or not attributes.hidden_method(value, "__len__") or attributes.hidden_method(value, "keys"):
        return None
    return lambda at: own_item(value, at)


def as_sequence(value: Value) -> list[Value] | None:
    """The items of a value of a class with `__getitem__` and `__len__`, such as a deque; None for other values."""
    item_at = None if type(value) in HOST_TYPES else _by_place(value)
    if item_at is None:
        return None
    size = length(value)
    limits.check_list(size)
    return [item_at(at) for at in range(size)]


def _reversed(sequence: Value, /) -> Value:
    kind = type(sequence)
    if kind is Tensor:
        return catalog.function("flip")(sequence, (0,)) if sequence.array.ndim else sequence
    if isinstance(sequence, list | tuple | str | range):
        name = "list_reverseiterator" if kind is list else "range_iterator" if kind is range else "reversed"
        return IteratorValue(name, iter(reversed(sequence)))
    if isinstance(sequence, dict | DictView):
        return IteratorValue("dict_reversekeyiterator", iter(list(iterate(sequence))[::-1]))
    own = special(sequence, "__reversed__")
    if own is not None:
        return own()
    method = attributes.hidden_method(sequence, "__reversed__")
    if method is not None:
        return IteratorValue("list_reverseiterator", method(sequence))
    item_at = _by_place(sequence)
    if item_at is not None:
        return IteratorValue("reversed", (item_at(at) for at in reversed(range(length(sequence)))))
    raise type_error("'{}' object is not reversible", sequence)


_ITERATOR_NAMES = {
    list: "list_iterator",
    tuple: "tuple_iterator",
    str: "str_ascii_iterator",
    range: "range_iterator",
    dict: "dict_keyiterator",
    set: "set_iterator",
    Tensor: "tuple_iterator",
}


def _calls_until(function: Value, sentinel: Value) -> Iterator[Value]:
    while True:
        found = call(function, (), state.origin)
        if equal(found, sentinel):
            return
        yield found


def _iter(iterable: Value, /, *sentinel: Value) -> Value:
    if sentinel:
        if len(sentinel) > 1:
            raise ProgramError("TypeError", f"iter expected at most 2 arguments, got {1 + len(sentinel)}")
        if not is_callable(iterable):
            raise ProgramError("TypeError", "iter(v, w): v must be callable")
        return IteratorValue("callable_iterator", _calls_until(iterable, sentinel[0]), (iterable,))
    if type(iterable) is IteratorValue:
        return iterable
    begin = special(iterable, "__iter__")
    if begin is not None:
        found = begin()
        if type(found) is not IteratorValue and special(found, "__next__") is None:
            raise type_error("iter() returned non-iterator of type '{}'", found)
        return found
    return IteratorValue(_ITERATOR_NAMES.get(type(iterable), "iterator"), iterate(iterable))


def _next(iterator: Value, default: Value = MISSING, /) -> Value:
    if type(iterator) is IteratorValue:
        return generators.advance(iterator, default)
    elif special(iterator, "__next__") is not None:
        return _next_of_instance(iterator, default)
    elif attributes.hidden_method(iterator, "__next__") is not None:
        item = next(iterate(iterator), default)
    else:
        raise type_error("'{}' object is not an iterator", iterator)
    if item is MISSING:
        raise ProgramError("StopIteration", "", args=())
    return item


def _next_of_instance(iterator: Value, default: Value) -> Value:
    advance = special(iterator, "__next__")
    assert advance is not None
    try:
        return advance()
    except ProgramError as error:
        if default is MISSING or error.type_name != "StopIteration":
            raise
        return default


# --- values and their attributes ------------------------------------------------------------------


def _attribute_name(name: Value) -> str:
    if type(name) is not str:
        raise type_error("attribute name must be string, not '{}'", name)
    return name


def _getattr(value: Value, name: Value, default: Value = MISSING, /) -> Value:
    if default is MISSING:
        return attributes.get_attribute(value, _attribute_name(name))
    found = _attribute_or_missing(value, name)
    return default if found is MISSING else found


#: the kinds of values that have what an operator or a loop asks for; programs cannot read these methods
_HAVING: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("__len__", "__contains__", "__iter__"), (list, tuple, str, range, Tensor, dict, set, DictView)),
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
    if not isinstance(value, Instance):
        raise ProgramError("TypeError", "vars() argument must have __dict__ attribute")
    found = attributes.find_attribute(value, "__dict__")
    return dict(value.fields) if found is MISSING else found


def _dir(value: Value = MISSING, /) -> list[str]:
    if value is MISSING or type(value) in HOST_TYPES:
        what = "without an argument" if value is MISSING else f"of a value of the type {type_name(value)}"
        raise ProgramError("TypeError", f"dir() {what} is not part of gradcli's language")
    return sorted(attributes.names_of(value))


# --- text -----------------------------------------------------------------------------------------


def _format(value: Value, spec: Value = "", /) -> str:
    if type(spec) is not str:
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
    "len": length,
    "sum": _sum,
    "any": _any,
    "all": _all,
    "abs": _abs,
    "round": _round,
    "pow": _pow,
    "divmod": _divmod,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "filter": _filter,
    "reversed": _reversed,
    "iter": _iter,
    "next": _next,
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
