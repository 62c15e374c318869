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
from gradcli.lang.values.comparison import COMPARE, equal
from gradcli.lang.values.object_operations import format_text
from gradcli.lang.values.operators import BINARY, UNARY
from gradcli.lang.values.representation import repr_text
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED, ClassOfInstances, Instance, run
from gradcli.lang.values.user_classes import ClassMethod, NativeMethod, Property, StaticMethod, UserClass, UserObject
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import MISSING, Builtin, IteratorValue, TypeValue, register

#: kinds of attributes of an Enum's body that are no members
_NO_MEMBERS = (UserFunction, Property, StaticMethod, ClassMethod, NativeMethod, UserClass)


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


register(IntMember)


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
            value = last + 1
        last = value if type(value) is int else last
        same = next((one for one in members.values() if equal(one.fields["_value_"], value)), None)
        members[name] = same or _member(cls, name, value)
        cls.fields[name] = members[name]
    cls.traits["members"] = members


def _member(cls: UserClass, name: str, value: Value) -> Instance:
    made: Instance = cls.trait("member").new(cls, (value,))
    made.fields |= {"_name_": name, "_value_": value}
    init = cls.find("__init__")
    if init is not MISSING:
        run(init, (made, *(value if type(value) is tuple else (value,))))
    return made


def _distinct(cls: UserClass) -> list[Value]:
    return list(dict.fromkeys(cls.traits["members"].values()))


def _construct(cls: UserClass, value: Value, /, *more: Value, **options: Value) -> Value:
    if more or options:
        raise ProgramError("NotImplementedError", "Enums made by a call are not part of gradcli's language: write a class statement")
    for one in _distinct(cls):
        if equal(one.fields["_value_"], value):
            return one
    raise ProgramError("ValueError", f"{repr_text(value)} is not a valid {cls.qualified}")


def _item(cls: UserClass, name: Value) -> Value:
    found = cls.traits["members"].get(name)
    if found is None:
        raise ProgramError("KeyError", repr_text(name), args=(name,))
    return found


def _text(one: Value) -> str:
    return f"{one.cls.name}.{one.fields['_name_']}"


def _whole(symbol: str) -> Value:
    def compare(one: Value, other: Value) -> Value:
        value = other.fields.get("_value_", other) if isinstance(other, Instance) else other
        return COMPARE[symbol](one.fields["_value_"], value) if type(value) in (int, float, bool, Tensor) else NOT_IMPLEMENTED

    return compare


def _number(symbol: str, swapped: bool = False) -> Value:
    def compute(one: Value, other: Value) -> Value:
        value = other.fields.get("_value_", other) if isinstance(other, Instance) else other
        if type(value) not in (int, float, bool, complex, Tensor) and not (symbol == "*" and isinstance(value, str | list | tuple)):
            return NOT_IMPLEMENTED
        own = one.fields["_value_"]
        return BINARY[symbol](value, own) if swapped else BINARY[symbol](own, value)

    return compute


def _unary(function: Callable[[int], Value]) -> Callable[..., Value]:
    return lambda one, *args: hosted(function, one.fields["_value_"], *args)


def _hash(one: Value) -> int:
    return hash(one.fields["_value_"]) if type(one.fields["_value_"]) is int else object.__hash__(one)


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
INT_ENUM = _base(
    "IntEnum",
    **{name: NativeMethod(name, _whole(symbol)) for name, symbol in _COMPARISONS.items()},
    **{f"__{stem}__": NativeMethod(f"__{stem}__", _number(symbol)) for symbol, stem in _ARITHMETIC.items()},
    **{f"__r{stem}__": NativeMethod(f"__r{stem}__", _number(symbol, True)) for symbol, stem in _ARITHMETIC.items()},
    __hash__=NativeMethod("__hash__", _hash),
    **{f"__{stem}__": NativeMethod(f"__{stem}__", _unary(function)) for stem, function in _UNARY.items()},
)
INT_ENUM.traits["member"] = IntMember


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
    "auto": TypeValue("enum.auto", lambda value: type(value) is Auto, Auto),
    "unique": Builtin("unique", _unique),
}
