"""Classes derived from torch.nn.Module: `class Net(nn.Module)`, and from modules such as nn.Linear."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.nn.module import Module
from gradcli.core.random import generator
from gradcli.errors import ProgramError
from gradcli.lang.classes.hosts import HostedObject, overriding
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.attribute_table import AttributeTable
from gradcli.lang.values.representation import text_from
from gradcli.lang.values.special_methods import ClassOfInstances, Instance, run, special
from gradcli.lang.values.user_classes import bind
from gradcli.lang.values.value_classes import MISSING

#: methods by which PyTorch converts, saves and loads each submodule
_CALLED_BY_PYTORCH = ("_apply", "_load_from_state_dict", "_save_to_state_dict")
_TAKING_OUT = ("pop", "popitem", "clear", "__delitem__")


class ModuleAttributes(AttributeTable):
    """`__dict__` of a module: the tables of PyTorch's base class, and the attributes that the program gave the module."""

    __slots__ = ("owner",)

    def __init__(self, owner: ModuleObject) -> None:
        self.owner = owner

    @property
    def table(self) -> dict[Any, Any]:  # type: ignore[override]
        """All attributes as they are now."""
        return self.owner.base_attributes() | self.owner.fields

    def __setitem__(self, key: Value, value: Value) -> None:
        if type(key) is str and key in self.owner.base_attributes():
            raise ProgramError("NotImplementedError", f"assigning to {key!r} in the __dict__ of a module is not part of gradcli")
        AttributeTable(self.owner.fields)[key] = value

    SCRIPT_METHODS = {
        **{name: method for name, method in AttributeTable.SCRIPT_METHODS.items() if name not in _TAKING_OUT},
        "__setitem__": Routine(__setitem__),
    }


class ModuleObject(HostedObject, Module):  # type: ignore[override]
    """An instance of a class that derives from a module. `_host` makes the class that derives from the module's own class, too."""

    MADE: type[Module] = Module
    PURE = False
    SPECIAL: Mapping[str, Callable[..., Value]] = {
        "__call__": Module.__call__,
        "__repr__": Module.__repr__,
        "__setattr__": Module.assign,
        "__getattr__": Module.attribute,
        "__delattr__": Module.forget,
    }

    @classmethod
    def prepare_class(cls, user_class: Any) -> None:
        """Refuse a class that defines what PyTorch would call and this package does not."""
        for name in _CALLED_BY_PYTORCH:
            if name in user_class.fields:
                raise ProgramError("NotImplementedError", f"a module that defines {name} is not part of gradcli")

    @classmethod
    def new(cls, user_class: ClassOfInstances, args: tuple[Value, ...]) -> Instance:
        made = super().new(user_class, args)
        vars(made)["training"] = True
        return made

    def initialise(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> None:
        if self.MADE is Module:
            Routine(Module.__init__, f"{self.cls.name}.__init__")(self, *args, **kwargs)
        elif "reset_parameters" in self.MADE.SCRIPT_METHODS and self.overrides("reset_parameters"):
            state = generator.default.get_state()
            super().initialise(args, kwargs)
            generator.default.set_state(state)  # PyTorch leaves the drawing to this method
            overriding("reset_parameters")(self)
        else:
            super().initialise(args, kwargs)

    def native(self, name: str) -> Value:
        found = super().native(name)
        return self.attribute(name, MISSING) if found is MISSING and not name.startswith("__") else found

    def write(self, name: str, value: Value) -> None:
        setter = self.MADE.SCRIPT_SETTERS.get(name) if name != "forward" else None
        if setter is None:
            self.assign(name, value)
        else:
            setter(self, value)

    def names(self) -> Iterable[str]:
        return (*super().names(), *[name for table in self._tables() for name in table])

    def attributes(self) -> Value:
        if self.MADE is not Module:
            return MISSING
        return ModuleAttributes(self) if self._tables() else AttributeTable(self.fields)

    def remove(self, name: str) -> bool:
        return self.forget(name)

    # --- what core calls ---

    def overrides(self, name: str) -> bool:
        return name in self.fields or self.cls.find(name) is not MISSING

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        own = self.cls.find("__call__")
        if own is MISSING and "own_parameters" not in vars(self):
            raise no_attribute(self, "_backward_hooks")  # `__init__` of Module was not called
        return Module.__call__(self, *args, **kwargs) if own is MISSING else run(own, (self, *args), kwargs)

    forward = overriding("forward")
    train = overriding("train")
    parameters = overriding("parameters")
    named_parameters = overriding("named_parameters")
    named_buffers = overriding("named_buffers")
    state_dict = overriding("state_dict")
    get_extra_state = overriding("get_extra_state")
    set_extra_state = overriding("set_extra_state")

    @property
    def right_inverse(self) -> Callable[..., Value] | None:
        """The method that parametrizations have to compute what they are computed from; None if the class has none."""
        own = self.cls.find("right_inverse")
        return None if own is MISSING else lambda *args: run(bind(own, self, self.cls), args)

    def another(self, content: Value) -> Value:
        """A container of the program's class, made of `content`."""
        return run(self.cls, (content,))

    def extra_repr(self) -> str:
        own = self.cls.find("extra_repr")
        return self.MADE.extra_repr(self) if own is MISSING else text_from(run(own, (self,)), "extra_repr")

    def shown_name(self) -> str:
        own = self.cls.find("_get_name")
        return super().shown_name() if own is MISSING else text_from(run(own, (self,)), "_get_name")

    def __repr__(self) -> str:
        own = special(self, "__repr__")
        return Module.__repr__(self) if own is None else text_from(own(), "__repr__")

    __hash__ = Instance.__hash__


@cache
def _host(made: type[Module]) -> type[ModuleObject]:
    bases = (ModuleObject,) if made is Module else (ModuleObject, made)
    return type(made.__name__, bases, {"MADE": made, "__module__": __name__})


def host_of(native: ScriptType) -> type[Instance]:
    """The class of the instances of classes with this base."""
    assert native.instances is not None
    return _host(native.instances)
