"""`dataclasses`: classes whose `__init__`, repr and comparisons follow from annotated names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradcli.core.calling.script_types import Attributes, Scripted
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.classes.creation import host_class
from gradcli.lang.libraries.typing import Annotation
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.comparison import COMPARE
from gradcli.lang.values.execution import tick
from gradcli.lang.values.object_operations import deterministic_hash
from gradcli.lang.values.representation import repr_text
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED, Instance, run
from gradcli.lang.values.types import exception_type
from gradcli.lang.values.user_classes import NativeMethod, UserClass, write_plainly
from gradcli.lang.values.user_functions import Code, UserFunction
from gradcli.lang.values.value_classes import MISSING, Builtin

#: the trait of a class that has its fields
FIELDS = "dataclass fields"
#: the default of a parameter that stands for calling the factory
_FROM_FACTORY = "<factory>"


class Field(Scripted):
    """A field: its name, and what `field(...)` says about it."""

    __slots__ = ("__weakref__", "compare", "default", "factory", "init", "keyword", "name", "passed_on", "repr")

    SCRIPT_NAME = "Field"
    SCRIPT_ATTRIBUTES = Attributes.read("name default init repr compare")

    def __init__(self, default: Value, factory: Value, init: bool, repr: bool, compare: bool, keyword: bool) -> None:
        self.name = ""
        self.default = default
        self.factory = factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.keyword = keyword
        #: whether it is no field but an argument for `__post_init__`, as InitVar declares it
        self.passed_on = False


def _field(
    *,
    default: Value = MISSING,
    default_factory: Value = MISSING,
    init: Value = True,
    repr: Value = True,
    hash: Value = None,
    compare: Value = True,
    metadata: Value = None,
    kw_only: Value = False,
) -> Field:
    if default is not MISSING and default_factory is not MISSING:
        raise ProgramError("ValueError", "cannot specify both default and default_factory")
    return Field(default, default_factory, bool(init), bool(repr), bool(compare), bool(kw_only))


def _dataclass(cls: Value = None, /, **options: Value) -> Value:
    known = ("init", "repr", "eq", "order", "unsafe_hash", "frozen", "match_args", "kw_only", "slots", "weakref_slot")
    for name in options:
        if name not in known:
            raise ProgramError("TypeError", f"dataclass() got an unexpected keyword argument '{name}'")
    if cls is None:
        return Builtin("wrap", lambda given: _made(given, options))
    return _made(cls, options)


def _made(cls: Value, options: dict[str, Value]) -> UserClass:
    if type(cls) is not UserClass:
        raise type_error("dataclass() takes a class of the program, not '{}'", cls)
    fields = _collect(cls, bool(options.get("kw_only")))
    cls.traits[FIELDS] = fields
    methods: dict[str, Value] = {}
    if options.get("init", True):
        methods["__init__"] = _init(cls, list(fields.values()))
    if options.get("repr", True):
        methods["__repr__"] = NativeMethod("__repr__", _repr)
    if options.get("eq", True):
        methods["__eq__"] = NativeMethod("__eq__", _comparing("=="))
    if options.get("order"):
        methods |= {f"__{name}__": NativeMethod(f"__{name}__", _comparing(symbol)) for name, symbol in _ORDER.items()}
    if options.get("unsafe_hash") or (options.get("frozen") and options.get("eq", True)):
        methods["__hash__"] = NativeMethod("__hash__", lambda one: deterministic_hash(_compared(one)))
    if options.get("match_args", True):
        methods["__match_args__"] = tuple(name for name, one in fields.items() if one.init and not one.keyword)
    if options.get("frozen"):
        methods["__setattr__"] = NativeMethod("__setattr__", lambda one, name, value: _refuse("assign to", name))
        methods["__delattr__"] = NativeMethod("__delattr__", lambda one, name: _refuse("delete", name))
    for name, method in methods.items():
        cls.fields.setdefault(name, method)
    if options.get("slots"):
        if "__slots__" in cls.fields:
            raise ProgramError("TypeError", f"{cls.name} already specifies __slots__")
        cls.fields["__slots__"] = tuple(fields)
        cls.host = host_class(cls)
    return cls


_ORDER = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _collect(cls: UserClass, keyword: bool) -> dict[str, Field]:
    """The fields of the class and of its bases, in order. Raises ValueError for a default that instances would share."""
    cls.check_open("__init__")
    fields: dict[str, Field] = {}
    for base in reversed(cls.mro[1:]):
        if type(base) is UserClass:
            fields |= base.traits.get(FIELDS, {})
    for name, annotation in cls.annotations.items():
        if annotation == "KW_ONLY" or annotation.endswith(".KW_ONLY"):
            keyword = True
            continue
        if annotation.removeprefix("typing.").startswith("ClassVar"):
            continue
        given = cls.fields.get(name, MISSING)
        one = given if type(given) is Field else Field(given, MISSING, True, True, True, False)
        if type(one.default) in (list, dict, set):
            kind = type(one.default).__name__
            text = f"mutable default <class '{kind}'> for field {name} is not allowed: use default_factory"
            raise ProgramError("ValueError", text)
        one.name = name
        one.passed_on = annotation.rpartition("dataclasses.")[2].startswith("InitVar")
        one.keyword = one.keyword or keyword
        if one.default is not MISSING:
            cls.fields[name] = one.default
        elif type(given) is Field:
            del cls.fields[name]
        fields[name] = one
    return fields


def _init(cls: UserClass, fields: list[Field]) -> UserFunction:
    """`__init__`: a function like that of a `def`, so that wrong calls give Python's errors."""
    taken = [one for one in fields if one.init]
    positional = [one for one in taken if not one.keyword]
    named = [one for one in taken if one.keyword]
    has_default = [one.default is not MISSING or one.factory is not MISSING for one in positional]
    for one, given, before in zip(positional[1:], has_default[1:], has_default, strict=False):
        if before and not given:
            raise ProgramError("TypeError", f"non-default argument '{one.name}' follows default argument")
    code = Code("__init__", ("self", *(one.name for one in positional)), tuple([one.name for one in named]), None, None)
    code.qualified = f"{cls.qualified}.__init__"
    order = [*positional, *named]
    unset = [one for one in fields if not one.init]

    def body(frame: Value) -> None:
        instance = frame[1]
        values = dict(zip([one.name for one in order], frame[2:], strict=True))
        for one in fields:
            if one in unset and one.default is MISSING and one.factory is MISSING:
                continue
            value = values.get(one.name, one.default if one.factory is MISSING else _FROM_FACTORY)
            if one.passed_on:
                continue
            write_plainly(instance, one.name, run(one.factory, ()) if value is _FROM_FACTORY else value)
        after = instance.cls.find("__post_init__")
        if after is not MISSING:
            run(after, (instance, *[values[one.name] for one in fields if one.passed_on]))

    code.run = body
    defaults = [_default(one) for one in positional if one.default is not MISSING or one.factory is not MISSING]
    keyword_defaults = {one.name: _default(one) for one in named if one.default is not MISSING or one.factory is not MISSING}
    return UserFunction(code, {}, tuple(defaults), keyword_defaults, ())


def _default(one: Field) -> Value:
    return _FROM_FACTORY if one.factory is not MISSING else one.default


def _values(instance: Instance, names: Iterable[Field]) -> tuple[Value, ...]:
    return tuple([instance.read(one.name) if one.name in instance.fields else instance.cls.find(one.name) for one in names])


def _fields_of(value: Value) -> dict[str, Field]:
    cls = value.cls if isinstance(value, Instance) else value
    found: Value = cls.trait(FIELDS) if type(cls) is UserClass else MISSING
    if found is MISSING:
        raise ProgramError("TypeError", "must be called with a dataclass type or instance")
    return {name: one for name, one in found.items() if not one.passed_on}


def _compared(instance: Instance) -> tuple[Value, ...]:
    return _values(instance, [one for one in _fields_of(instance).values() if one.compare])


#: by identity, the instances whose repr is under way: one that holds itself is shown as `...`
_being_shown: set[int] = set()


def _repr(instance: Instance) -> str:
    if id(instance) in _being_shown:
        return "..."
    shown = [one for one in _fields_of(instance).values() if one.repr]
    pairs = zip(shown, _values(instance, shown), strict=True)
    _being_shown.add(id(instance))
    try:
        return f"{instance.cls.qualified}({', '.join(f'{one.name}={repr_text(value)}' for one, value in pairs)})"
    finally:
        _being_shown.discard(id(instance))


def _comparing(symbol: str) -> Callable[[Value, Value], Value]:
    def compare(one: Value, other: Value) -> Value:
        if not isinstance(other, Instance) or other.cls is not one.cls:
            return NOT_IMPLEMENTED
        return COMPARE[symbol](_compared(one), _compared(other))

    return compare


def _refuse(what: str, name: Value) -> None:
    raise ProgramError("FrozenInstanceError", f"cannot {what} field {repr_text(name)}")


def _asdict(instance: Value, *, dict_factory: Value = None) -> Value:
    return _plain(instance, True)


def _astuple(instance: Value) -> Value:
    return _plain(instance, False)


def _plain(value: Value, as_dict: bool) -> Value:
    tick()  # what is shared is copied at every place
    if isinstance(value, Instance) and _is_dataclass(value):
        fields = _fields_of(value)
        items = [_plain(item, as_dict) for item in _values(value, fields.values())]
        return dict(zip(fields, items, strict=True)) if as_dict else tuple(items)
    if type(value) is list:
        return [_plain(item, as_dict) for item in value]
    if type(value) is tuple:
        return tuple([_plain(item, as_dict) for item in value])
    if type(value) is dict:
        return {key: _plain(item, as_dict) for key, item in value.items()}
    return value


def _is_dataclass(value: Value) -> bool:
    cls: Value = value.cls if isinstance(value, Instance) else value
    return type(cls) is UserClass and cls.trait(FIELDS) is not MISSING


def _replace(instance: Value, /, **changes: Value) -> Value:
    fields = [one for one in _fields_of(instance).values() if one.init]
    values = dict(zip([one.name for one in fields], _values(instance, fields), strict=True))
    return instance.cls(**values | changes)


MEMBERS: dict[str, Value] = {
    "dataclass": Builtin("dataclass", _dataclass),
    "field": Builtin("field", _field),
    "fields": Builtin("fields", lambda value: tuple(_fields_of(value).values())),
    "asdict": Builtin("asdict", _asdict),
    "astuple": Builtin("astuple", _astuple),
    "replace": Builtin("replace", _replace),
    "is_dataclass": Builtin("is_dataclass", _is_dataclass),
    "KW_ONLY": Annotation("KW_ONLY"),
    "InitVar": Annotation("dataclasses.InitVar"),
    "FrozenInstanceError": exception_type("FrozenInstanceError"),
}
