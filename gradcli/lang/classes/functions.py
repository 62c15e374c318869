"""Classes derived from torch.autograd.Function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradcli.core.autograd import custom_function
from gradcli.core.calling import warnings
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError, runtime_error
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.representation import repr_text
from gradcli.lang.values.special_methods import ClassOfInstances, Instance, run
from gradcli.lang.values.user_classes import BoundUserMethod, ClassMethod, StaticMethod, UserClass, UserObject, bind
from gradcli.lang.values.user_functions import UserFunction, arguments_of, default_of
from gradcli.lang.values.value_classes import MISSING, Builtin, register

_NO_INSTANCES = (
    "{} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the class itself. "
    "Instantiating an autograd function will raise an error in a future version of PyTorch."
)


_LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with static forward "
    "method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)


def _legacy(*args: Value, **kwargs: Value) -> Value:
    raise runtime_error(_LEGACY)


class FunctionObject(UserObject):
    """An instance of a custom function, which PyTorch warns of: only the class is used."""

    __slots__ = ()

    @classmethod
    def new(cls, user_class: ClassOfInstances, args: tuple[Value, ...]) -> Instance:
        warnings.emit(_NO_INSTANCES.format(repr_text(user_class)), "DeprecationWarning")
        return super().new(user_class, ())

    def initialise(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> None:
        """Nothing: PyTorch's `__init__` takes any arguments."""

    NATIVE = {"__call__": lambda one: Builtin("__call__", _legacy)}

    @classmethod
    def of_class(cls, user_class: UserClass, name: str) -> Value:
        if name == "generate_vmap_rule":
            return False
        if name != "apply":
            return MISSING

        def apply(*args: Value, **kwargs: Value) -> Value:
            return custom_function.apply(functions_of(user_class), _in_order(user_class, args, kwargs))

        return Builtin("apply", apply, f"<bound method Function.apply of {repr_text(user_class)}>")


register(FunctionObject)


def _in_order(cls: UserClass, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> tuple[Value, ...]:
    """The arguments of `apply` by position, as forward takes them. Raises TypeError: PyTorch passes none on by name."""
    found = cls.find("forward")
    forward = found.function if type(found) in (StaticMethod, ClassMethod) else found
    if type(forward) is not UserFunction:
        return (*args, *kwargs.values())
    code, bound = forward.code, (cls,) if type(found) is ClassMethod else ()
    if cls.find("setup_context") is MISSING:
        return _by_position(code.positional[1 + len(bound) :], args, kwargs)
    given = arguments_of(forward, (*bound, *args), kwargs)
    for name in (*code.keyword_only, *given.get(code.double_star or "", ())):
        raise _unexpected(name)
    named = [given[name] if name in given else default_of(forward, name) for name in code.positional[len(bound) :]]
    return (*named, *given.get(code.star or "", ()))


def _by_position(names: tuple[str, ...], args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> tuple[Value, ...]:
    """`args`, and behind them what is given by name: all parameters up to the last of these have to be given."""
    for name in kwargs:
        if name not in names:
            raise _unexpected(name)
    ordered = list(args)
    for at, name in enumerate(names[: max(map(names.index, kwargs), default=-1) + 1]):
        if name in kwargs and at < len(args):
            raise type_error(f"forward() got multiple values for argument '{name}'")
        if name not in kwargs and at >= len(args):
            raise type_error(f"forward() missing required argument: '{name}' (position {at})")
        if name in kwargs:
            ordered.append(kwargs[name])
    return tuple(ordered)


def _unexpected(name: str) -> ProgramError:
    return type_error(f"forward() got an unexpected keyword argument '{name}'")


def _of_both(*_: Value) -> Value:
    raise runtime_error(
        "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
    )


def functions_of(cls: UserClass) -> custom_function.Functions:
    """What the class defines of a custom function."""

    def method(name: str) -> Callable[..., Value] | None:
        found = cls.find(name)
        if found is MISSING:
            return None
        bound = bind(found, None, cls)
        return bound if type(bound) is BoundUserMethod else lambda *args, **kwargs: run(bound, args, kwargs)

    return custom_function.Functions(
        cls.name,
        method("forward"),
        _of_both if method("backward") and method("vjp") else method("backward") or method("vjp"),
        method("setup_context"),
        method("jvp"),
        cls.find("generate_vmap_rule") is True,
        method("vmap"),
    )


def host_of(native: ScriptType) -> type[Instance]:
    """The class of the instances of classes with this base."""
    return FunctionObject
