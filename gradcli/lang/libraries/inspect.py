"""`inspect`: the parameters of functions and classes, and what kind of value something is."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED, DeclaredConstructor
from gradcli.core.calling.mappings import Pieces
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Scripted, ScriptType, script_type
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.libraries.system import FUTURE
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.calls import Decorated, is_callable
from gradcli.lang.values.representation import repr_text
from gradcli.lang.values.user_classes import BoundUserMethod, UserClass
from gradcli.lang.values.user_functions import UserFunction, arguments_of, default_of
from gradcli.lang.values.value_classes import MISSING, Builtin, IteratorValue, Namespace, TypeValue


class Empty(Scripted):
    """The default of a parameter that has none."""

    __slots__ = ()

    SCRIPT_NAME = "_empty"


EMPTY = Empty()


class Kind(Scripted):
    """A kind of parameters, such as `Parameter.KEYWORD_ONLY`."""

    __slots__ = ("__weakref__", "name", "value")

    SCRIPT_NAME = "_ParameterKind"
    SCRIPT_ATTRIBUTES = Attributes.read("name value")

    def __init__(self, value: int, name: str) -> None:
        self.name = name
        self.value = value

    def __str__(self) -> str:
        return self.name

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return (f"<_ParameterKind.{self.name}: {self.value}>",)


KINDS = {
    name: Kind(value, name)
    for value, name in enumerate(("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD"))
}
_STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}

#: annotations that are shown as they are written: types of Python by name, those of typing, tensors, and what is made of these
_PLAIN = (
    "int float str bool complex list dict tuple set object type None Any Callable Dict Iterable Iterator List Optional Sequence Set Tuple"
)
_SHOWN_AS_WRITTEN = re.compile(rf"(?:(?:{'|'.join(_PLAIN.split())}|torch\.Tensor|\.\.\.)\b|[\[\], |]|\.\.\.)+")


def _shown(annotation: str) -> str:
    """An annotation as a signature shows it. NotImplementedError for others than those of plain types: annotations are not evaluated."""
    if re.fullmatch(r"'[^'\\]*'|\"[^'\"\\]*\"", annotation):
        return f"'{annotation[1:-1]}'"
    if not _SHOWN_AS_WRITTEN.fullmatch(annotation):
        raise ProgramError("NotImplementedError", f"the text of a signature with the annotation {annotation} is not part of gradcli")
    return re.sub(r" *(\[|\]) *", r"\1", re.sub(r" *([,|]) *", lambda m: ", " if m[1] == "," else " | ", annotation))


class Parameter(Scripted):
    """A parameter by name, with its kind, its default and the text of its annotation."""

    __slots__ = ("__weakref__", "annotation", "default", "kind", "name")

    SCRIPT_NAME = "Parameter"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES = {
        **Attributes.read("name default kind"),
        "empty": lambda one: EMPTY,
        **{name: partial(lambda kind, one: kind, kind) for name, kind in KINDS.items()},
        "annotation": lambda one: _evaluated(one.annotation),
    }
    SCRIPT_STATIC: Any = {"empty": EMPTY, **KINDS}

    def __init__(self, name: str, default: Value = EMPTY, kind: str = "POSITIONAL_OR_KEYWORD", annotation: str = "") -> None:
        self.name = name
        self.default = default
        self.kind = KINDS[kind]
        self.annotation = annotation

    def __str__(self) -> str:
        text = _STARS.get(self.kind.name, "") + self.name
        if self.annotation:
            text += f": {_shown(self.annotation)}"
        if self.default is EMPTY:
            return text
        equals = " = " if self.annotation else "="
        return f"{text}{equals}{repr_text(self.default)}"

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return (f'<Parameter "{self}">',)


def _evaluated(annotation: str) -> Value:
    """What an annotation stands for, where that is nothing or a text. Raises NotImplementedError."""
    if annotation and annotation[0] not in "\"'":
        raise ProgramError("NotImplementedError", f"annotations are not evaluated here: {annotation}")
    return annotation[1:-1] if annotation else EMPTY


class BoundArguments(Scripted):
    """`Signature.bind(...)`: arguments by parameter."""

    __slots__ = ("__weakref__", "arguments", "parameters")

    SCRIPT_NAME = "BoundArguments"

    def __init__(self, parameters: dict[str, Parameter], arguments: dict[str, Value]) -> None:
        self.parameters = parameters
        self.arguments = arguments

    def _args(self) -> tuple[Value, ...]:
        found: list[Value] = []
        for name, parameter in self.parameters.items():
            kind = parameter.kind.name
            if kind in ("KEYWORD_ONLY", "VAR_KEYWORD") or name not in self.arguments:
                break
            found += self.arguments[name] if kind == "VAR_POSITIONAL" else (self.arguments[name],)
        return tuple(found)

    def _kwargs(self) -> dict[str, Value]:
        found: dict[str, Value] = {}
        by_name = False
        for name, parameter in self.parameters.items():
            kind = parameter.kind.name
            by_name = by_name or kind in ("KEYWORD_ONLY", "VAR_KEYWORD") or (name not in self.arguments and kind != "VAR_POSITIONAL")
            if by_name and name in self.arguments:
                found |= self.arguments[name] if kind == "VAR_KEYWORD" else {name: self.arguments[name]}
        return found

    def apply_defaults(self) -> None:
        """Set what was not given to its default."""
        empty: dict[str, Callable[[], Value]] = {"VAR_POSITIONAL": tuple, "VAR_KEYWORD": dict}
        filled: dict[str, Value] = {}
        for name, parameter in self.parameters.items():
            if name in self.arguments:
                filled[name] = self.arguments[name]
            elif parameter.default is not EMPTY:
                filled[name] = parameter.default
            elif parameter.kind.name in empty:
                filled[name] = empty[parameter.kind.name]()
        self.arguments = filled

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return (f"<BoundArguments ({', '.join(f'{name}={repr_text(value)}' for name, value in self.arguments.items())})>",)

    SCRIPT_ATTRIBUTES = {"arguments": lambda one: one.arguments, "args": lambda one: one._args(), "kwargs": lambda one: one._kwargs()}
    SCRIPT_METHODS = {"apply_defaults": Routine(apply_defaults)}


class Signature(Scripted):
    """`signature(f)`: the parameters in order."""

    __slots__ = ("__weakref__", "function", "parameters", "returns", "textless")

    SCRIPT_NAME = "Signature"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES = {
        "parameters": lambda one: dict(one.parameters),
        "empty": lambda one: EMPTY,
        "return_annotation": lambda one: _evaluated(one.returns),
    }
    SCRIPT_STATIC: Any = {"empty": EMPTY}

    def __init__(
        self, parameters: dict[str, Parameter], function: tuple[UserFunction, int] | None = None, returns: str = "", textless: bool = False
    ) -> None:
        self.parameters = parameters
        #: the function of the program, and how many of its parameters are bound
        self.function = function
        self.returns = returns
        #: whether Python's text has types, which are not kept here
        self.textless = textless

    def __str__(self) -> str:
        if self.textless:
            raise ProgramError("NotImplementedError", "the signatures of torch's own functions and classes have no text here")
        texts: list[str] = []
        before = ""
        for parameter in self.parameters.values():
            kind = parameter.kind.name
            if before == "POSITIONAL_ONLY" != kind:
                texts.append("/")
            if kind == "KEYWORD_ONLY" and before not in ("KEYWORD_ONLY", "VAR_POSITIONAL"):
                texts.append("*")
            texts.append(str(parameter))
            before = kind
        if before == "POSITIONAL_ONLY":
            texts.append("/")
        return f"({', '.join(texts)}){f' -> {_shown(self.returns)}' if self.returns else ''}"

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return (f"<Signature {self}>",)

    def bind(self, /, *args: Value, **kwargs: Value) -> BoundArguments:
        """The arguments of a call by parameter. Raises TypeError."""
        if self.function is None:
            raise ProgramError("NotImplementedError", "arguments are bound to the signatures of functions of the program here")
        function, bound = self.function
        given = arguments_of(function, (*[None] * bound, *args), kwargs)
        return BoundArguments(self.parameters, {name: given[name] for name in self.parameters if name in given})

    SCRIPT_METHODS = {"bind": Routine(bind)}


PARAMETER, SIGNATURE = script_type(Parameter, "inspect"), script_type(Signature, "inspect")


def _of_function(function: UserFunction) -> dict[str, Parameter]:
    code = function.code
    kinds = {name: "POSITIONAL_OR_KEYWORD" if name in code.places else "POSITIONAL_ONLY" for name in code.positional}
    if code.star is not None:
        kinds[code.star] = "VAR_POSITIONAL"
    kinds |= dict.fromkeys(code.keyword_only, "KEYWORD_ONLY")
    if code.double_star is not None:
        kinds[code.double_star] = "VAR_KEYWORD"
    annotations = _annotations(function)
    made: dict[str, Parameter] = {}
    for name, kind in kinds.items():
        default = MISSING if kind in _STARS else default_of(function, name)
        made[name] = Parameter(name, EMPTY if default is MISSING else default, kind, annotations.get(name, ""))
    return made


def _annotations(function: UserFunction) -> dict[str, str]:
    """The texts of annotations, which `from __future__ import annotations` makes texts for the program too."""
    found = function.code.annotations
    if function.variables.get("annotations") is FUTURE["annotations"]:
        return {name: repr_text(text) for name, text in found.items()}
    return found


def _signature(obj: Value, /) -> Signature:
    bound = 0
    if type(obj) is UserClass:
        obj, bound = obj.find("__init__"), 1
        if obj is MISSING:
            return Signature({})
    elif type(obj) is BoundUserMethod:
        obj, bound = obj.function, 1
    while type(obj) in (UserFunction, Decorated) and (wrapped := obj.read("__wrapped__", MISSING)) is not MISSING:
        obj = wrapped
    if type(obj) is UserFunction:
        parameters = dict(list(_of_function(obj).items())[bound:])
        return Signature(parameters, (obj, bound), _annotations(obj).get("return", ""))
    construct = obj.construct if type(obj) is ScriptType else obj
    if isinstance(construct, DeclaredConstructor):
        return Signature({k: Parameter(k, EMPTY if v is REQUIRED else v) for k, v in construct.arguments.items()}, textless=True)
    if isinstance(construct, Routine):
        names = (*construct.positional[type(obj) is ScriptType :], *construct.keyword_only)
        return Signature({name: Parameter(name) for name in names}, textless=True)
    if not is_callable(obj):
        raise type_error("'{}' object is not a callable object", obj)
    raise ProgramError("ValueError", "no signature found for this function")


def _is_class(value: Value, /) -> bool:
    return type(value) in (UserClass, ScriptType, TypeValue)


def _doc(value: Value, /) -> Value:
    """`getdoc(value)`: the text without the indentation of its lines; None for values without one."""
    value = value.function if type(value) is BoundUserMethod else value
    while type(value) is Decorated:
        value = value.function
    if type(value) not in (UserFunction, UserClass):
        raise type_error("getdoc() takes a function or a class of the program here, not '{}'", value)
    found = value.code.doc if type(value) is UserFunction else value.find("__doc__")
    return cleandoc(found) if type(found) is str else None


MEMBERS: dict[str, Value] = {
    "signature": Builtin("signature", _signature),
    "Signature": SIGNATURE,
    "Parameter": PARAMETER,
    "getdoc": Builtin("getdoc", _doc),
    "isclass": Builtin("isclass", _is_class),
    "isfunction": Builtin("isfunction", lambda value, /: type(value) in (UserFunction, Decorated)),
    "ismethod": Builtin("ismethod", lambda value, /: type(value) is BoundUserMethod),
    "ismodule": Builtin("ismodule", lambda value, /: type(value) is Namespace),
    "isgeneratorfunction": Builtin("isgeneratorfunction", lambda value, /: type(value) is UserFunction and value.code.generates),
    "isgenerator": Builtin("isgenerator", lambda value, /: type(value) is IteratorValue and value.kind == "generator"),
}
