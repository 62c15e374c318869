"""Classes that programs define: their attributes by method resolution order, their instances, and Python's special methods.

A class and an instance have a dict of their own for attributes. Nothing else of them can be reached: no attribute of a program
is ever an attribute of a Python object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, ScriptType
from gradcli.core.calling.type_errors import no_attribute, type_error
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.special_methods import ClassOfInstances, Instance, run
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import MISSING, Builtin, ExceptionType, TypeValue, register, wrong_call

#: a base that is not defined by the program: `object`, an exception type, a class of torch
Native = TypeValue | ExceptionType | ScriptType


class UserClass:
    """A class that the program defines.

    `mro` is the method resolution order, native bases included; `native` is the most derived of these. `host` is the class of
    the Python objects that are its instances.
    """

    __slots__ = (
        *("__weakref__", "abstract", "annotations", "bases", "fields", "fixed", "host", "mro", "name", "native", "qualified"),
        "traits",
    )

    def __init__(self, name: str, qualified: str, bases: tuple[Value, ...], fields: dict[str, Value]) -> None:
        self.name = name
        self.qualified = qualified
        self.bases = bases
        self.fields = fields
        self.mro: tuple[Value, ...] = (self,)
        self.native: Native
        self.host: type[Instance] = Instance
        #: names in the order of the body, each with the text of its annotation
        self.annotations: dict[str, str] = {}
        #: names of methods that a subclass has to define before it can have instances
        self.abstract: frozenset[str] = frozenset()
        #: what decorators and native bases keep about the class: fields of a dataclass, members of an Enum
        self.traits: dict[str, Value] = {}
        #: whether it belongs to a library, which all sessions share
        self.fixed = False

    def check_open(self, name: str, how: str = "assign") -> None:
        """TypeError for a class of a library, whose attributes no program changes, AttributeError for members of an Enum; `how` is
        "assign" or "delete"."""
        if self.fixed:
            raise ProgramError("TypeError", f"cannot set '{name}' attribute of immutable type '{self.name}'")
        check = self.trait("check write")
        if check is not MISSING:
            check(self, name, how)

    def find(self, name: str, after: Value = None) -> Value:
        """The attribute `name` of the first class of the mro that has it, behind `after` if given; MISSING if none has it."""
        classes: Iterable[Value] = self.mro if after is None else self.mro[self.mro.index(after) + 1 :]
        for one in classes:
            if type(one) is UserClass and name in one.fields:
                return one.fields[name]
        return MISSING

    def trait(self, name: str) -> Value:
        """The trait `name` of the first class of the mro that has it, or MISSING."""
        for one in self.mro:
            if type(one) is UserClass and name in one.traits:
                return one.traits[name]
        return MISSING

    def special(self, name: str) -> Callable[..., Value] | None:
        """What the class itself answers to a special method: an Enum is iterated and subscripted by traits of its base."""
        found = self.trait(name)
        if found is MISSING and name == "__getitem__":
            own = self.find("__class_getitem__")
            if own is not MISSING:
                function = own.function if type(own) is ClassMethod else own
                return lambda *args: run(function, (self, *args))
        return None if found is MISSING else partial(found, self)

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        """Make an instance: `__init__` is called with it and the arguments. Raises TypeError."""
        construct = self.trait("construct")
        if construct is not MISSING:
            return construct(self, *args, **kwargs)
        if self.abstract:
            plural = "" if len(self.abstract) == 1 else "s"
            names = ", ".join(sorted(self.abstract))
            text = f"Can't instantiate abstract class {self.name} with abstract method{plural} {names}"
            raise ProgramError("TypeError", text)
        made = self.host.new(self, args)
        init = self.find("__init__")
        if init is MISSING:
            made.initialise(args, kwargs)
            return made
        result = run(init, (made, *args), kwargs)
        if result is not None:
            raise type_error("__init__() should return None, not '{}'", result)
        return made


class UserObject(Instance):
    """An instance of a class without native base."""

    __slots__ = ("__weakref__", "cls", "fields")

    def attributes(self) -> Value:
        from gradcli.lang.values.attribute_table import AttributeTable

        return AttributeTable(self.fields)


class CallableObject(UserObject):
    """An instance of a class with `__call__`: what takes functions, such as hooks, takes it too."""

    __slots__ = ()

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        return run(self.cls.find("__call__"), (self, *args), kwargs)


class SlottedObject(UserObject):
    """An instance of a class all of whose bases have `__slots__`: it takes no other attributes."""

    __slots__ = ()

    def write(self, name: str, value: Value) -> None:
        allowed: Value = self.cls.trait("slots")  # type: ignore[attr-defined]
        if name not in allowed:
            if self.cls.find(name) is MISSING:
                raise no_attribute(self, name)
            raise ProgramError("AttributeError", f"'{self.cls.name}' object attribute '{name}' is read-only")
        self.fields[name] = value

    def attributes(self) -> Value:
        return MISSING


class CallableSlottedObject(SlottedObject, CallableObject):
    """An instance of such a class with `__call__`."""

    __slots__ = ()


class BoundUserMethod:
    """A function of a class, bound to an instance or, for a class method, to the class."""

    __slots__ = ("__weakref__", "function", "owner")

    def __init__(self, function: Value, owner: Value) -> None:
        self.function = function
        self.owner = owner

    @property
    def name(self) -> str:
        """`__name__` of the function."""
        return str(self.function.name)

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        return run(self.function, (self.owner, *args), kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundUserMethod) and self.owner is other.owner and self.function is other.function

    def __hash__(self) -> int:
        return hash((id(self.owner), id(self.function)))


class NativeMethod:
    """A method of a class that is no function of the program, such as the `__repr__` of a dataclass."""

    __slots__ = ("__weakref__", "function", "name")

    SCRIPT_NAME = "function"
    #: as an attribute of a class it is a method
    BINDS = True

    def __init__(self, name: str, function: Callable[..., Value]) -> None:
        self.name = name
        self.function = function

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        try:
            return self.function(*args, **kwargs)
        except TypeError as error:
            raise wrong_call(Builtin(self.name, self.function), error, args, kwargs) from None


class Property(Scripted):
    """`property(fget, fset, fdel)`: an attribute that functions read, set and delete."""

    __slots__ = ("__weakref__", "fdel", "fget", "fset")

    SCRIPT_NAME = "property"

    def __init__(self, fget: Value = None, fset: Value = None, fdel: Value = None, doc: Value = None) -> None:
        for function in (fget, fset, fdel):
            if type(function) in (Builtin, TypeValue):
                raise type_error("property() takes functions of the program, not '{}'", function)
        self.fget = fget
        self.fset = fset
        self.fdel = fdel

    def getter(self, fget: Value) -> Property:
        """A copy with another function that reads."""
        return Property(fget, self.fset, self.fdel)

    def setter(self, fset: Value) -> Property:
        """A copy with another function that sets."""
        return Property(self.fget, fset, self.fdel)

    def deleter(self, fdel: Value) -> Property:
        """A copy with another function that deletes."""
        return Property(self.fget, self.fset, fdel)

    SCRIPT_METHODS = {method.__name__: Routine(method, method.__name__) for method in (getter, setter, deleter)}


class StaticMethod:
    """`staticmethod(function)`: neither instance nor class is passed."""

    __slots__ = ("__weakref__", "function")

    SCRIPT_NAME = "staticmethod"

    def __init__(self, function: Value) -> None:
        self.function = function

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        return run(self.function, args, kwargs)


class ClassMethod:
    """`classmethod(function)`: the class is passed first."""

    __slots__ = ("__weakref__", "function")

    SCRIPT_NAME = "classmethod"

    def __init__(self, function: Value) -> None:
        self.function = function


class Super:
    """`super()`: the attributes that come behind the class `after` in the mro of the owner's class."""

    __slots__ = ("__weakref__", "after", "owner")

    SCRIPT_NAME = "super"

    def __init__(self, after: UserClass, owner: Value) -> None:
        self.after = after
        self.owner = owner


register(UserClass, UserObject, CallableObject, SlottedObject, CallableSlottedObject)
register(BoundUserMethod, NativeMethod, Property, StaticMethod, ClassMethod, Super)


def may_be_base(base: Value) -> bool:
    """Whether a class of the program may derive from `base`."""
    if type(base) in (ScriptType, TypeValue):
        return bool(getattr(base.instances, "BASE_OF", ""))
    return type(base) in (UserClass, ExceptionType)


def private_name(owner: str, name: str) -> str:
    """The name that `name` has within the class `owner`: Python puts the name of the class in front of `__name`."""
    private = name.startswith("__") and not name.endswith("__")
    return f"_{owner.lstrip('_')}{name}" if private else name


# --- attributes -------------------------------------------------------------------------------------


def bind(found: Value, instance: Value, cls: ClassOfInstances) -> Value:
    """What an attribute of the class `cls` is when it is read from `instance`, or from the class itself if that is None."""
    kind = type(found)
    if kind is UserFunction or getattr(kind, "BINDS", False):
        return found if instance is None else BoundUserMethod(found, instance)
    if kind is StaticMethod:
        return found.function
    if kind is ClassMethod:
        return BoundUserMethod(found.function, cls)
    if kind is Property and instance is not None:
        if found.fget is None:
            raise ProgramError("AttributeError", f"property of '{cls.name}' object has no getter")
        return run(found.fget, (instance,))
    return found


def read_instance(instance: Instance, name: str) -> Value:
    """`instance.name` in Python's order: properties, the instance, the class, the native base, `__getattr__`. MISSING if none."""
    cls = instance.cls
    found = cls.find(name)
    if type(found) is Property:
        return _read_property(found, instance, name)
    own = instance.read(name)
    if own is not MISSING:
        return own
    if found is not MISSING:
        return bind(found, instance, cls)
    found = instance.native(name)
    if found is not MISSING:
        return found
    fallback = cls.find("__getattr__")
    if fallback is MISSING or (name.startswith("__") and name.endswith("__")):
        return MISSING
    return run(fallback, (instance, name))


def _read_property(found: Property, instance: Instance, name: str) -> Value:
    """A property; where it raises an AttributeError, `__getattr__` of the class or of its native base is asked."""
    if found.fget is None:
        raise ProgramError("AttributeError", f"property '{name}' of '{instance.cls.name}' object has no getter")
    try:
        return run(found.fget, (instance,))
    except ProgramError as error:
        fallback = instance.cls.find("__getattr__")
        native = instance.native("__getattr__") if fallback is MISSING else MISSING
        if not error.is_a("AttributeError") or (fallback is MISSING and native is MISSING):
            raise
        return run(native, (name,)) if fallback is MISSING else run(fallback, (instance, name))


def write_instance(instance: Instance, name: str, value: Value) -> None:
    """`instance.name = value`. Raises AttributeError for a property without setter."""
    cls = instance.cls
    custom = cls.find("__setattr__")
    if custom is not MISSING:
        run(custom, (instance, name, value))
        return
    write_plainly(instance, name, value)


def write_plainly(instance: Instance, name: str, value: Value) -> None:
    """As `write_instance`, without the class's own `__setattr__`."""
    found = instance.cls.find(name)
    if type(found) is Property:
        if found.fset is None:
            raise ProgramError("AttributeError", f"property '{name}' of '{instance.cls.name}' object has no setter")
        run(found.fset, (instance, value))
        return
    instance.write(name, value)


def delete_instance(instance: Instance, name: str) -> bool:
    """`del instance.name`; False if the instance has no such attribute."""
    custom = instance.cls.find("__delattr__")
    if custom is not MISSING:
        run(custom, (instance, name))
        return True
    return delete_plainly(instance, name)


def delete_plainly(instance: Instance, name: str) -> bool:
    """As `delete_instance`, without the class's own `__delattr__`."""
    found = instance.cls.find(name)
    if type(found) is Property:
        if found.fdel is None:
            raise ProgramError("AttributeError", f"property '{name}' of '{instance.cls.name}' object has no deleter")
        run(found.fdel, (instance,))
        return True
    return instance.remove(name)
