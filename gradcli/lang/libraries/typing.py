"""`typing`: names for annotations, which nothing reads; and `abc`: abstract base classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted
from gradcli.errors import ProgramError
from gradcli.lang.classes.creation import AbstractMethod, make_class
from gradcli.lang.libraries import collections
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values import types
from gradcli.lang.values.aliases import shown
from gradcli.lang.values.representation import str_text
from gradcli.lang.values.user_classes import NativeMethod, Property, UserClass, bind
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import Builtin


class Annotation(Scripted):
    """A type for annotations, such as `List[int]`; `origin` is the type that it stands for, where it can be called."""

    __slots__ = ("__weakref__", "origin", "text")

    SCRIPT_NAME = "_GenericAlias"

    def __init__(self, text: str, origin: Value = None) -> None:
        self.text = text
        self.origin = origin

    def __repr__(self) -> str:
        return self.text

    def __getitem__(self, arguments: Value) -> Annotation:
        return Annotation(f"{self.text}[{shown(arguments)}]", self.origin)

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        if self.origin is not None:
            return self.origin(*args, **kwargs)
        return args[0] if args else None

    SCRIPT_METHODS = {"__getitem__": Routine(__getitem__, "__getitem__")}


def _type_variable(name: Value, *bounds: Value, **more: Value) -> Annotation:
    return Annotation(f"~{str_text(name)}")


_GENERIC = make_class("Generic", "Generic", (), {}, {}, {})
_GENERIC.traits["__getitem__"] = lambda cls, arguments: cls


def _named_tuple(cls: UserClass) -> Value:
    """The type of named tuples that a class derived from NamedTuple becomes: the annotated names of its body are the fields."""
    members: dict[str, Callable[[Value], Value]] = {}
    for name, found in cls.fields.items():
        if name in cls.annotations or name == "__doc__":
            continue
        if type(found) not in (UserFunction, Property) or name.startswith("_"):
            raise ProgramError("TypeError", f"a class derived from NamedTuple has fields, methods and properties here, and no {name}")
        members[name] = partial(bind, found, cls=cls)
    defaults: dict[str, Value] = {}
    for name in cls.annotations:
        if name in cls.fields:
            defaults[name] = cls.fields[name]
        elif defaults:
            text = f"Non-default namedtuple field {name} cannot follow default field{'s' * (len(defaults) > 1)} {', '.join(defaults)}"
            raise ProgramError("TypeError", text)
    return collections.make_named_tuple(cls.name, collections.checked_fields([*cls.annotations], False), tuple(defaults.values()), members)


_NAMED_TUPLE = make_class("NamedTuple", "NamedTuple", (), {}, {}, {})
_NAMED_TUPLE.traits["instead"] = _named_tuple
#: a class derived from TypedDict is a name for dict
_TYPED_DICT = make_class(
    "TypedDict", "TypedDict", (), {"__init_subclass__": NativeMethod("__init_subclass__", lambda cls, **k: None)}, {}, {}
)
_TYPED_DICT.traits["construct"] = lambda cls, *args, **items: types.DICT(*args, **items)
_NAMES = (
    *("Any", "Callable", "ClassVar", "Collection", "Deque", "DefaultDict", "Dict", "Final", "FrozenSet", "Generator", "Hashable"),
    *("Iterable", "Iterator", "List", "Literal", "Mapping", "MutableMapping", "NoReturn", "Optional", "OrderedDict", "Self"),
    *("Sequence", "Set", "Sized", "Text", "Tuple", "Type", "Union", "AbstractSet", "Awaitable", "Concatenate"),
    *("Container", "ContextManager", "ItemsView", "KeysView", "LiteralString", "Match", "MutableSequence", "MutableSet", "Never"),
    *("NotRequired", "Pattern", "Required", "Reversible", "SupportsAbs", "SupportsFloat", "SupportsIndex", "SupportsInt", "TypeAlias"),
    *("TypeGuard", "Unpack", "ValuesView", "AsyncGenerator", "AsyncIterable", "AsyncIterator", "BinaryIO", "ByteString", "ChainMap"),
    *("Coroutine", "Counter", "IO", "MappingView", "SupportsBytes", "SupportsComplex", "SupportsRound", "TextIO"),
)

#: those that make what the class of `collections` makes
_CALLED = {"Counter": "Counter", "DefaultDict": "defaultdict", "Deque": "deque", "OrderedDict": "OrderedDict"}

MEMBERS: dict[str, Value] = {
    **{name: Annotation(f"typing.{name}", collections.MEMBERS.get(_CALLED.get(name, ""))) for name in _NAMES},
    "Generic": _GENERIC,
    "Protocol": _GENERIC,
    "NamedTuple": _NAMED_TUPLE,
    "TypedDict": _TYPED_DICT,
    "TypeVar": Builtin("TypeVar", _type_variable),
    "AnyStr": Annotation("~AnyStr"),
    "Annotated": Annotation("<class 'typing.Annotated'>"),
    "ParamSpec": Builtin("ParamSpec", _type_variable),
    "TypeVarTuple": Builtin("TypeVarTuple", lambda name: Annotation(str_text(name))),
    "runtime_checkable": Builtin("runtime_checkable", lambda cls: cls),
    "NewType": Builtin("NewType", lambda name, kind: kind),
    "cast": Builtin("cast", lambda kind, value: value),
    "overload": Builtin("overload", lambda function: function),
    "final": Builtin("final", lambda function: function),
    "no_type_check": Builtin("no_type_check", lambda function: function),
    "TYPE_CHECKING": False,
}

#: `class A(ABC)` and `class A(metaclass=ABCMeta)` mean the same here: every class may have abstract methods
_ABC = make_class("ABC", "ABC", (), {}, {}, {})
ABSTRACT: dict[str, Value] = {"ABC": _ABC, "ABCMeta": _ABC, "abstractmethod": Builtin("abstractmethod", AbstractMethod)}
