"""`inspect`: the parameters of functions and classes, and what kind of value something is."""

from __future__ import annotations

from gradcli.core.calling.declared_arguments import REQUIRED, DeclaredConstructor
from gradcli.core.calling.mappings import Pieces
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Scripted, ScriptType
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.calls import is_callable
from gradcli.lang.values.representation import repr_text
from gradcli.lang.values.user_classes import BoundUserMethod, UserClass
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import MISSING, Builtin, TypeValue


class Empty(Scripted):
    """The default of a parameter that has none."""

    __slots__ = ()

    SCRIPT_NAME = "_empty"


EMPTY = Empty()


class Parameter(Scripted):
    """A parameter by name, with its default."""

    __slots__ = ("__weakref__", "default", "name", "stars")

    SCRIPT_NAME = "Parameter"
    SCRIPT_ATTRIBUTES = Attributes.read("name default") | {"empty": lambda one: EMPTY}

    def __init__(self, name: str, default: Value = EMPTY, stars: str = "") -> None:
        self.name = name
        self.default = default
        #: what stands before the name of one that takes the further arguments
        self.stars = stars

    def __str__(self) -> str:
        return f"{self.stars}{self.name}" if self.default is EMPTY else f"{self.name}={repr_text(self.default)}"

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return (f'<Parameter "{self}">',)


class Signature(Scripted):
    """`signature(f)`: the parameters in order."""

    __slots__ = ("__weakref__", "annotated", "keywords_from", "parameters")

    SCRIPT_NAME = "Signature"
    SCRIPT_ATTRIBUTES = {"parameters": lambda one: dict(one.parameters)}

    def __init__(self, parameters: dict[str, Parameter], keywords_from: int | None = None, annotated: bool = False) -> None:
        self.parameters = parameters
        #: whether Python's text has types, which are not kept here
        self.annotated = annotated
        #: where a bare `*` stands
        self.keywords_from = keywords_from

    def __str__(self) -> str:
        if self.annotated:
            raise ProgramError("NotImplementedError", "the signatures of torch's own functions and classes have no text here")
        texts = list(map(str, self.parameters.values()))
        if self.keywords_from is not None:
            texts.insert(self.keywords_from, "*")
        return f"({', '.join(texts)})"

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return (f"<Signature {self}>",)


def _of_function(function: UserFunction) -> dict[str, Parameter]:
    code = function.code
    defaults = dict(zip(code.positional[len(code.positional) - len(function.defaults) :], function.defaults, strict=True))
    defaults |= function.keyword_defaults
    stars = {code.star: "*", code.double_star: "**"}
    names = (*code.positional, *((code.star,) if code.star else ()), *code.keyword_only, *((code.double_star,) if code.double_star else ()))
    return {name: Parameter(name, defaults.get(name, EMPTY), stars.get(name, "")) for name in names}


def _signature(obj: Value, /) -> Signature:
    bound = 0
    if type(obj) is UserClass:
        obj, bound = obj.find("__init__"), 1
        if obj is MISSING:
            return Signature({})
    elif type(obj) is BoundUserMethod:
        obj, bound = obj.function, 1
    if type(obj) is UserFunction:
        code = obj.code
        bare = len(code.positional) - bound if code.keyword_only and not code.star else None
        return Signature(dict(list(_of_function(obj).items())[bound:]), bare)
    construct = obj.construct if type(obj) is ScriptType else obj
    if isinstance(construct, DeclaredConstructor):
        return Signature({k: Parameter(k, EMPTY if v is REQUIRED else v) for k, v in construct.arguments.items()}, None, True)
    if isinstance(construct, Routine):
        names = (*construct.positional[type(obj) is ScriptType :], *construct.keyword_only)
        return Signature({name: Parameter(name) for name in names}, None, True)
    if not is_callable(obj):
        raise type_error("'{}' object is not a callable object", obj)
    raise ProgramError("ValueError", "no signature found for this function")


def _is_class(value: Value, /) -> bool:
    return type(value) in (UserClass, ScriptType, TypeValue)


MEMBERS: dict[str, Value] = {
    "signature": Builtin("signature", _signature),
    "isclass": Builtin("isclass", _is_class),
    "isfunction": Builtin("isfunction", lambda value, /: type(value) is UserFunction),
    "ismethod": Builtin("ismethod", lambda value, /: type(value) is BoundUserMethod),
}
