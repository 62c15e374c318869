"""`enum`: classes whose members are constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling.script_types import Scripted
from gradcli.core.calling.type_errors import type_error
from gradcli.core.kernels import Array
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.classes.creation import make_class
from gradcli.lang.python.object_protocol import Value, hosted
from gradcli.lang.python.strings import METHODS as TEXT_METHODS
from gradcli.lang.values import types
from gradcli.lang.values.comparison import COMPARE, equal
from gradcli.lang.values.object_operations import OPS, collect, deterministic_hash, format_text, index_of
from gradcli.lang.values.operators import BINARY, UNARY, contains
from gradcli.lang.values.representation import repr_text, str_text
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED, ClassOfInstances, Instance, run
from gradcli.lang.values.subscripts import getitem
from gradcli.lang.values.user_classes import ClassMethod, NativeMethod, Property, StaticMethod, UserClass, UserObject
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import MISSING, Builtin, IteratorValue, TypeValue, register

#: kinds of attributes of an Enum's body that are no members
_NO_MEMBERS = (UserFunction, Property, StaticMethod, ClassMethod, NativeMethod, UserClass)

#: by the type before Enum among the bases of a class, the base that stands for both
_MIXED: dict[Value, UserClass] = {}


class Auto(Scripted):
    """`auto()`: the value is the next whole number."""

    __slots__ = ()

    SCRIPT_NAME = "auto"
    SCRIPT_ATTRIBUTES: dict[str, Value] = {}


class IntMember(int, Instance):
    """A member of an IntEnum, which is a Python int too."""

    @classmethod
    def new(cls, user_class: ClassOfInstances, args: tuple[Value, ...]) -> Instance:
        made: Any = hosted(cls, args[0])
        made.cls, made.fields = user_class, {}
        return made  # type: ignore[no-any-return]

    def number(self) -> int:
        return int(self)

    def as_array(self) -> Array:
        return np.asarray(int(self))


class StrMember(str, Instance):
    """A member of a StrEnum, which is a Python str too."""

    @classmethod
    def new(cls, user_class: ClassOfInstances, args: tuple[Value, ...]) -> Instance:
        made: Any = hosted(cls, args[0] if type(args[0]) is str else str_text(args[0]))
        made.cls, made.fields = user_class, {}
        return made  # type: ignore[no-any-return]


register(IntMember, StrMember)


def _prepare(cls: UserClass) -> None:
    """Turn the constants of the body into members. Raises TypeError for an Enum that is derived from one with members."""
    for base in cls.mro[1:]:
        if type(base) is UserClass and base.traits.get("members"):
            raise ProgramError("TypeError", f"<enum '{cls.name}'> cannot extend <enum '{base.name}'>")
    members: dict[str, Value] = {}
    last = 0
    for name, value in list(cls.fields.items()):
        if name.startswith("_") or isinstance(value, _NO_MEMBERS):
            continue
        if type(value) is Auto:
            value = name.lower() if cls.trait("auto") == "name" else last + 1
        last = value if type(value) is int else last
        same = next((one for one in members.values() if equal(one.fields["_value_"], value)), None)
        members[name] = same or _member(cls, name, value)
        cls.fields[name] = members[name]
    cls.traits["members"] = members


def _member(cls: UserClass, name: str, value: Value) -> Instance:
    if cls.trait("auto") == "name" and type(value) is not str:
        raise ProgramError("TypeError", f"{repr_text(value)} is not a string")
    made: Instance = cls.trait("member").new(cls, (value,))
    made.fields |= {"_name_": name, "_value_": str(made) if isinstance(made, str) else value}
    init = cls.find("__init__")
    if init is not MISSING:
        run(init, (made, *(value if type(value) is tuple else (value,))))
    return made


def _distinct(cls: UserClass) -> list[Value]:
    return list(dict.fromkeys(cls.traits["members"].values()))


def _construct(cls: UserClass, value: Value, /, *more: Value, **options: Value) -> Value:
    if more or options:
        return _called(cls, value, *more, **options)
    for one in _distinct(cls):
        if equal(one.fields["_value_"], value):
            return one
    raise ProgramError("ValueError", f"{repr_text(value)} is not a valid {cls.qualified}")


def _called(cls: UserClass, value: Value, /, names: Value = (), *, start: Value = 1, **options: Value) -> Value:
    """`Enum(value, names)`: the class `value`, whose names count from `start` unless they come with values."""
    if options or cls.traits.get("members"):
        raise ProgramError("NotImplementedError", "Enums made by such a call are not part of gradcli's language: write a class statement")
    if type(value) is not str:
        raise type_error("the name of an Enum is a str, not '{}'", value)
    given = names.replace(",", " ").split() if type(names) is str else collect(names)
    fields: dict[str, Value] = {}
    for at, one in enumerate(given):
        if type(one) is str:
            name = one
            found = names[one] if type(names) is dict else Auto() if cls.trait("auto") == "name" else index_of(start) + at
        elif type(one) in (tuple, list) and len(one) == 2 and type(one[0]) is str:
            name, found = one
        else:
            raise type_error("the names of an Enum are texts, or pairs of a text and a value, not '{}'", one)
        if name in fields:
            raise ProgramError("TypeError", f"'{name}' already defined as {repr_text(fields[name])}")
        fields[name] = found
    return make_class(value, value, (cls,), fields, {}, {})


def _item(cls: UserClass, name: Value) -> Value:
    found = cls.traits["members"].get(name)
    if found is None:
        raise ProgramError("KeyError", repr_text(name), args=(name,))
    return found


def _text(one: Value) -> str:
    return f"{one.cls.name}.{one.fields['_name_']}"


def _bare(other: Value) -> Value:
    """The value of a member, and what is no member itself."""
    return other.fields.get("_value_", other) if isinstance(other, Instance) else other


def _whole(symbol: str) -> Value:
    def compare(one: Value, other: Value) -> Value:
        value = _bare(other)
        return COMPARE[symbol](one.fields["_value_"], value) if type(value) in (int, float, bool, Tensor) else NOT_IMPLEMENTED

    return compare


def _number(symbol: str, swapped: bool = False) -> Value:
    def compute(one: Value, other: Value) -> Value:
        value = _bare(other)
        if type(value) not in (int, float, bool, complex, Tensor) and not (symbol == "*" and isinstance(value, str | list | tuple)):
            return NOT_IMPLEMENTED
        own = one.fields["_value_"]
        return BINARY[symbol](value, own) if swapped else BINARY[symbol](own, value)

    return compute


def _unary(function: Callable[[int], Value]) -> Callable[..., Value]:
    return lambda one, *args: hosted(function, one.fields["_value_"], *args)


def _comparing_texts(symbol: str) -> Value:
    def compare(one: Value, other: Value) -> Value:
        value = _bare(other)
        return COMPARE[symbol](one.fields["_value_"], value) if type(value) is str else NOT_IMPLEMENTED

    return compare


def _on_text(function: Callable[..., Value]) -> Callable[..., Value]:
    """`function` of the text of a member, and of the other operand."""
    return lambda one, *args: function(one.fields["_value_"], *map(_bare, args))


def _text_method(name: str) -> NativeMethod:
    return NativeMethod(name, lambda one, *args, **options: TEXT_METHODS[name](OPS, one.fields["_value_"], *args, **options))


def _hash(one: Value) -> int:
    return hash(one.fields["_value_"]) if type(one.fields["_value_"]) is int else object.__hash__(one)


def _check_write(cls: UserClass, name: str, how: str) -> None:
    """Raises AttributeError for a member, which stays what it is."""
    if name in cls.traits["members"]:
        text = f"cannot reassign member '{name}'" if how == "assign" else f"'{cls.name}' cannot delete member '{name}'."
        raise ProgramError("AttributeError", text)


def _mixed(bases: tuple[Value, ...]) -> tuple[Value, ...]:
    """The bases of a class, but for an Enum with str or int before it, whose members are such too, the base that stands for both."""
    both = tuple(_MIXED[base] for base in bases if type(base) is TypeValue and base in _MIXED)
    return bases if len(both) != 1 else tuple(base for base in bases if type(base) is not TypeValue and base is not ENUM) + both


def _constant(name: str) -> Property:
    def refuse(one: Value, value: Value) -> Value:
        raise ProgramError("AttributeError", f"<enum 'Enum'> cannot set attribute '{name}'")

    return Property(NativeMethod(name, lambda one: one.fields[f"_{name}_"]), NativeMethod(name, refuse))


_COMPARISONS = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=", "__eq__": "=="}
_FIELDS: dict[str, Value] = {
    "name": _constant("name"),
    "value": _constant("value"),
    "__repr__": NativeMethod("__repr__", lambda one: f"<{_text(one)}: {repr_text(one.fields['_value_'])}>"),
    "__str__": NativeMethod("__str__", _text),
    "__format__": NativeMethod("__format__", lambda one, spec: format_text(str_text(one), spec)),
}
_TRAITS: dict[str, Value] = {
    "prepare": _prepare,
    "construct": _construct,
    "member": UserObject,
    "class repr": lambda cls: f"<enum '{cls.name}'>",
    "__iter__": lambda cls: IteratorValue("generator", iter(_distinct(cls))),
    "__len__": lambda cls: len(_distinct(cls)),
    "__getitem__": _item,
    "__contains__": lambda cls, one: one in _distinct(cls),
    "attributes": {"__members__": lambda cls: dict(cls.traits["members"])},
    "check write": _check_write,
    "mixed": _mixed,
}


def _base(name: str, *bases: Value, **fields: Value) -> UserClass:
    made = make_class(name, name, bases, {**_FIELDS, **fields}, {}, {})
    made.traits |= {**_TRAITS, "members": {}}
    return made


_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow"}
_ARITHMETIC |= {"&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift"}
_UNARY: dict[str, Callable[..., Value]] = {
    "neg": UNARY["-"],
    "pos": UNARY["+"],
    "invert": UNARY["~"],
    "abs": abs,
    "round": round,
    "float": float,
}
_UNARY |= {"int": int, "index": int, "bool": bool, "format": format_text, "str": repr_text}

ENUM = _base("Enum")
_NUMBERS = {
    **{name: NativeMethod(name, _whole(symbol)) for name, symbol in _COMPARISONS.items()},
    **{f"__{stem}__": NativeMethod(f"__{stem}__", _number(symbol)) for symbol, stem in _ARITHMETIC.items()},
    **{f"__r{stem}__": NativeMethod(f"__r{stem}__", _number(symbol, True)) for symbol, stem in _ARITHMETIC.items()},
    "__hash__": NativeMethod("__hash__", _hash),
    **{f"__{stem}__": NativeMethod(f"__{stem}__", _unary(function)) for stem, function in _UNARY.items()},
}
_TEXT_OPERATIONS: dict[str, Callable[..., Value]] = {
    "__add__": BINARY["+"],
    "__radd__": lambda own, other: BINARY["+"](other, own),
    "__mul__": BINARY["*"],
    "__rmul__": BINARY["*"],
    "__mod__": BINARY["%"],
    "__getitem__": getitem,
    "__len__": len,
    "__contains__": lambda own, item: contains(item, own),
    "__iter__": lambda own: IteratorValue("str_ascii_iterator", iter(own)),
    "__hash__": deterministic_hash,
}
_TEXTS = {
    **{name: NativeMethod(name, _comparing_texts(symbol)) for name, symbol in _COMPARISONS.items()},
    **{name: NativeMethod(name, _on_text(function)) for name, function in _TEXT_OPERATIONS.items()},
    **{name: _text_method(name) for name in TEXT_METHODS},
}
_AS_VALUE = {
    "__str__": NativeMethod("__str__", lambda one: str_text(one.fields["_value_"])),
    "__format__": NativeMethod("__format__", lambda one, spec: format_text(one.fields["_value_"], spec)),
}

INT_ENUM = _base("IntEnum", **_NUMBERS)
STR_ENUM = _base("StrEnum", **{**_TEXTS, **_AS_VALUE})
STR_ENUM.traits["auto"] = "name"
_MIXED[types.INT] = _base("Enum", ENUM, **{**_NUMBERS, "__str__": _FIELDS["__str__"], "__format__": _FIELDS["__format__"]})
_MIXED[types.STR] = _base("Enum", ENUM, **_TEXTS)
for _enum, _kind in ((INT_ENUM, IntMember), (_MIXED[types.INT], IntMember), (STR_ENUM, StrMember), (_MIXED[types.STR], StrMember)):
    _enum.traits["member"] = _kind


def _unique(cls: Value) -> Value:
    if type(cls) is not UserClass or cls.trait("members") is MISSING:
        raise type_error("unique() takes an Enum, not '{}'", cls)
    twice = [f"{name} -> {one.fields['_name_']}" for name, one in cls.traits["members"].items() if one.fields["_name_"] != name]
    if twice:
        raise ProgramError("ValueError", f"duplicate values found in <enum '{cls.name}'>: {', '.join(twice)}")
    return cls


MEMBERS: dict[str, Value] = {
    "Enum": ENUM,
    "IntEnum": INT_ENUM,
    "StrEnum": STR_ENUM,
    "auto": TypeValue("enum.auto", lambda value: type(value) is Auto, Auto),
    "unique": Builtin("unique", _unique),
}
