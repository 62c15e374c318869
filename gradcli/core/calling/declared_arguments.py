"""Classes that declare the arguments of `__init__` as a table: nn modules, optimisers, learning rate schedules."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, Signature
from typing import Any

from gradcli.core.calling.routines import Constructor, check_arguments
from gradcli.core.calling.script_types import Scripted

#: stands for the default of an argument that has none
REQUIRED: Any = object()


class DeclaredArguments(Scripted):
    """The base of classes whose `__init__` takes `*args` and `**kwargs` and binds them to ARGUMENTS."""

    #: the arguments with their defaults, in PyTorch's order
    ARGUMENTS: Mapping[str, Any] = {}
    #: names of arguments that are given by keyword only; they are the last
    KEYWORD_ONLY = ""

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Every argument by name; the call was checked before."""
        given = dict(self.ARGUMENTS)
        if args:
            given.update(zip(given, args, strict=False))
        given.update(kwargs)
        return given


class DeclaredConstructor(Constructor):
    """The constructor of a class that declares its arguments; it reports wrong calls against them."""

    __slots__ = ("arguments",)

    def __init__(self, made: type[DeclaredArguments], name: str) -> None:
        super().__init__(made, name)
        self.arguments = made.ARGUMENTS
        self.keyword_only = tuple(made.KEYWORD_ONLY.split())
        self.positional = ("self", *(argument for argument in made.ARGUMENTS if argument not in self.keyword_only))
        self.required = 1 + list(made.ARGUMENTS.values()).count(REQUIRED)
        self.variadic = self.keywords = False
        self.most = len(self.positional)

    def signature(self) -> Signature:
        """The signature of `__init__`, without its self."""
        made = []
        for name, default in self.arguments.items():
            kind = Parameter.KEYWORD_ONLY if name in self.keyword_only else Parameter.POSITIONAL_OR_KEYWORD
            made.append(Parameter(name, kind, default=Parameter.empty if default is REQUIRED else default))
        return Signature(made)

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        check_arguments(self.name, self.positional, self.required, args, kwargs, self.keyword_only)
