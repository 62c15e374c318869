"""Classes derived from exception types: their instances, and the errors that carry them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.object_operations import collect
from gradcli.lang.values.representation import repr_text, str_text
from gradcli.lang.values.special_methods import ClassOfInstances, Instance
from gradcli.lang.values.types import error_text
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.value_classes import Builtin, ExceptionType, register


class ErrorObject(Instance):
    """An instance of a class that derives from an exception type; `args` are those of the call that made it, or of `__init__`."""

    __slots__ = ("__weakref__", "args", "cause", "cls", "context", "fields", "suppresses")

    cls: UserClass
    args: tuple[Value, ...]

    @classmethod
    def new(cls, user_class: ClassOfInstances, args: tuple[Value, ...]) -> Instance:
        made = super().new(user_class, args)
        made.args = args  # type: ignore[attr-defined]
        made.cause, made.context, made.suppresses = None, None, False  # type: ignore[attr-defined]
        return made

    def initialise(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> None:
        if kwargs:
            raise ProgramError("TypeError", f"{self.cls.name}() takes no keyword arguments")
        self.args = args

    def own_repr(self, address: str) -> str:
        inside = repr_text(self.args[0]) if len(self.args) == 1 else repr_text(self.args)[1:-1]
        return f"{self.cls.name}({inside})"

    def message(self) -> str:
        """`str(error)` where the class does not define it."""
        return error_text(self.cls.native.name, self.args)

    def as_error(self) -> ProgramError:
        made = ProgramError(self.cls.name, partial(str_text, self), args=self.args)
        made.instance = self
        made.bases = tuple([base.name for base in self.cls.mro if type(base) is ExceptionType])
        return made

    def write(self, name: str, value: Value) -> None:
        if name == "args":
            self.args = tuple(collect(value))
        else:
            super().write(name, value)

    NATIVE = {
        "args": lambda error: error.args,
        "__cause__": lambda error: error.cause,
        "__context__": lambda error: error.context,
        "__suppress_context__": lambda error: error.suppresses,
        "__str__": lambda error: Builtin("__str__", error.message),
    }


register(ErrorObject)
