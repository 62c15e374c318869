"""Attributes of classes that programs define, of their instances, and of `super()`."""

from __future__ import annotations

from collections.abc import Callable

from gradcli.core.calling.type_errors import no_attribute, type_error
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values import types
from gradcli.lang.values.object_operations import format_text
from gradcli.lang.values.representation import address, repr_text, str_text
from gradcli.lang.values.special_methods import CLASS_NAMES, Instance
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.user_classes import (
    BoundUserMethod,
    Super,
    UserClass,
    bind,
    delete_instance,
    delete_plainly,
    may_be_base,
    read_instance,
    write_instance,
    write_plainly,
)
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import MISSING, Builtin, ExceptionType


def _initialise(instance: Instance, /, *args: Value, **kwargs: Value) -> None:
    instance.initialise(args, kwargs)


def _check_text(name: Value) -> None:
    if not isinstance(name, str):
        raise ProgramError("TypeError", f"attribute name must be string, not '{type_name(name)}'")


def _set(instance: Instance, name: Value, value: Value) -> None:
    _check_text(name)
    write_plainly(instance, name, value)


def _delete(instance: Instance, name: Value) -> None:
    _check_text(name)
    if not delete_plainly(instance, name):
        raise no_attribute(instance, name)


#: what `super()` and `object` have of every instance
_OF_EVERY: dict[str, Callable[..., Value]] = {
    "__init__": _initialise,
    "__setattr__": _set,
    "__delattr__": _delete,
    "__repr__": lambda instance: instance.own_repr(address(instance)),
    "__str__": repr_text,
    "__format__": lambda instance, spec: format_text(str_text(instance), spec),
    "__eq__": lambda instance, other: instance is other,
    "__ne__": lambda instance, other: instance is not other,
}


#: what Python itself keeps with every instance
_OF_PYTHON: dict[str, Callable[[Instance], Value]] = {
    "__class__": lambda instance: instance.cls,
    "__dict__": lambda instance: instance.attributes(),
    "__module__": lambda instance: "__main__",
}


def _of_every(instance: Instance, name: str) -> Value:
    """A method that every instance has, bound; MISSING if there is none of this name."""
    function = _OF_EVERY.get(name)
    if function is None:
        return MISSING
    return Builtin(name, lambda *args, **kwargs: function(instance, *args, **kwargs), f"<method-wrapper '{name}'>")


def unbound_native(owner: Value, name: str) -> Value:
    """`object.__setattr__`, `nn.Module.__init__` and their like: called with the instance first. MISSING if there is none."""
    if owner is types.DICT and name in types.DictBase.CALLED:
        return of_dict(name)
    if name not in _OF_EVERY or type(owner) is ExceptionType or not (owner is types.OBJECT or may_be_base(owner)):
        return MISSING

    def run(*args: Value, **kwargs: Value) -> Value:
        if not args or not isinstance(args[0], Instance) or not types.is_instance(args[0], owner):
            raise ProgramError("TypeError", f"descriptor '{name}' requires a '{owner.name}' object")
        return _native(args[0], name)(*args[1:], **kwargs)

    return Builtin(name, run, f"<slot wrapper '{name}' of '{owner.name}' objects>")


def of_dict(name: str, plain: Callable[..., Value] | None = None) -> Builtin:
    """`dict.__getitem__` and its like, for instances of classes derived from dict; `plain` is the method of dicts themselves."""

    def run(*args: Value, **kwargs: Value) -> Value:
        if args and isinstance(args[0], types.DictBase):
            return args[0].native(name)(*args[1:], **kwargs)  # type: ignore[attr-defined]
        if plain is None:
            raise ProgramError("TypeError", f"dict.{name} takes an instance of a class derived from dict here")
        return plain(*args, **kwargs)

    return Builtin(name, run, f"<method '{name}' of 'dict' objects>")


def _native(instance: Instance, name: str) -> Value:
    found = instance.native(name)
    return _of_every(instance, name) if found is MISSING else found


# --- reading ----------------------------------------------------------------------------------------


def _of_instance(instance: Instance, name: str) -> Value:
    if name.startswith("__") and name.endswith("__") and name not in CLASS_NAMES and name not in instance.NATIVE:
        return _OF_PYTHON[name](instance) if name in _OF_PYTHON else MISSING
    found = read_instance(instance, name)
    return _of_every(instance, name) if found is MISSING else found


def _of_class(cls: UserClass, name: str) -> Value:
    if name == "__name__":
        return cls.name
    if name == "__qualname__":
        return cls.qualified
    if name == "__module__":
        return "__main__"
    if name == "__mro__":
        return cls.mro if cls.mro[-1] is types.OBJECT else (*cls.mro, types.OBJECT)
    if name == "__bases__":
        return tuple(cls.bases)
    if name == "__abstractmethods__" and cls.abstract:
        return cls.abstract
    found = cls.find(name)
    if found is not MISSING:
        return bind(found, None, cls)
    if name == "__doc__":
        return None
    further = cls.trait("attributes")
    if further is not MISSING and name in further:
        return further[name](cls)
    own = cls.host.of_class(cls, name)
    if own is not MISSING:
        return own
    return unbound_native(types.OBJECT, name)


def _init_subclass() -> None:
    """`__init_subclass__` of object, which takes no keywords."""


_ALLOWING_NOTHING = Builtin("__init_subclass__", _init_subclass)


def _of_super(value: Super, name: str) -> Value:
    owner = value.owner
    cls = owner if type(owner) is UserClass else owner.cls
    found = cls.find(name, value.after)
    if found is not MISSING:
        return bind(found, None if type(owner) is UserClass else owner, cls)
    if type(owner) is UserClass:
        return _ALLOWING_NOTHING if name == "__init_subclass__" else owner.host.of_class(owner, name)
    return _native(owner, name)


def _of_method(value: BoundUserMethod, name: str) -> Value:
    if name == "__self__":
        return value.owner
    if name == "__func__":
        return value.function
    return value.name if name == "__name__" and type(value.function) is UserFunction else MISSING


READERS: dict[type, Callable[..., Value]] = {UserClass: _of_class, Super: _of_super, BoundUserMethod: _of_method}


def read(value: Value, name: str) -> Value:
    """`value.name` of an instance, a class, a bound method or `super()`; MISSING if there is none."""
    reader = READERS.get(type(value))
    return _of_instance(value, name) if reader is None else reader(value, name)


def names(value: Value) -> list[str]:
    """The names that can be read, for completion, `dir` and hints."""
    cls = value.cls if isinstance(value, Instance) else value if type(value) is UserClass else None
    if cls is None:
        return []
    found = {name for one in cls.mro if type(one) is UserClass for name in one.fields}
    if isinstance(value, Instance):
        found.update(value.names())
    return sorted(name for name in found if not name.startswith("__"))


# --- writing ----------------------------------------------------------------------------------------


def _check_name(name: str) -> None:
    if name.startswith("__") and name.endswith("__") and name not in CLASS_NAMES:
        raise ProgramError("AttributeError", f"names such as {name} cannot be assigned in gradcli's language")


def write(value: Value, name: str, new: Value) -> None:
    """`value.name = new` of an instance or a class. Raises AttributeError."""
    _check_name(name)
    if type(value) is UserClass:
        value.check_open(name)
        value.fields[name] = new
    else:
        write_instance(value, name, new)


def delete(value: Value, name: str) -> bool:
    """`del value.name`; False if there is no such attribute."""
    if type(value) is UserClass:
        value.check_open(name, "delete")
        return value.fields.pop(name, MISSING) is not MISSING
    return delete_instance(value, name)


def make_super(cls: Value, owner: Value) -> Super:
    """`super(cls, owner)`. Raises TypeError unless `owner` is an instance or a subclass of `cls`."""
    below = owner if type(owner) is UserClass else getattr(owner, "cls", None) if isinstance(owner, Instance) else None
    if type(cls) is not UserClass:
        raise type_error("super() argument 1 must be a type, not {}", cls)
    if below is None or cls not in below.mro:
        raise ProgramError("TypeError", "super(type, obj): obj must be an instance or subtype of type")
    return Super(cls, owner)
