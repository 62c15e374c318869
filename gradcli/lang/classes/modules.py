"""Classes derived from torch.nn.Module: `class Net(nn.Module)`, and from modules such as nn.Linear."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.nn.module import Module
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.representation import text_from
from gradcli.lang.values.special_methods import ClassOfInstances, Instance, run, special
from gradcli.lang.values.value_classes import MISSING, BoundMethod

#: special methods of every module, which `super()` reaches
_OF_MODULES: dict[str, Callable[..., Value]] = {
    "__call__": Module.__call__,
    "__repr__": Module.__repr__,
    "__setattr__": Module.assign,
    "__getattr__": Module.attribute,
    "__delattr__": Module.forget,
}


class ModuleObject(Instance, Module):
    """An instance of a class derived from a module. `_host` makes the class that derives from the module's own class, too."""

    #: the class of the native base
    MADE: type[Module] = Module

    @classmethod
    def new(cls, user_class: ClassOfInstances, args: tuple[Value, ...]) -> Instance:
        made = super().new(user_class, args)
        vars(made)["training"] = True
        return made

    @property
    def SCRIPT_NAME(self) -> str:  # type: ignore[override]
        """The name of the class, as the repr shows it."""
        return self.cls.name

    def initialise(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> None:
        name = self.cls.name if self.MADE is Module else self.MADE.SCRIPT_NAME
        Routine(self.MADE.__init__, f"{name}.__init__")(self, *args, **kwargs)

    def native(self, name: str) -> Value:
        made = self.MADE
        if name == "forward":
            return BoundMethod(self, name, made.forward)
        getter = made.SCRIPT_ATTRIBUTES.get(name)
        if getter is not None:
            return getter(self)
        method = _OF_MODULES.get(name) or made.SCRIPT_METHODS.get(name)
        if method is not None:
            return BoundMethod(self, name, method)
        return MISSING if name.startswith("__") else self.attribute(name, MISSING)

    def write(self, name: str, value: Value) -> None:
        setter = self.MADE.SCRIPT_SETTERS.get(name)
        if setter is None:
            self.assign(name, value)
        else:
            setter(self, value)

    def remove(self, name: str) -> bool:
        return self.forget(name)

    # --- what core calls ---

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        own = self.cls.find("__call__")
        if own is MISSING and "own_parameters" not in vars(self):
            raise no_attribute(self, "_backward_hooks")  # `__init__` of Module was not called
        return Module.__call__(self, *args, **kwargs) if own is MISSING else run(own, (self, *args), kwargs)

    def forward(self, /, *args: Any, **kwargs: Any) -> Any:
        own = self.cls.find("forward")
        return self.MADE.forward(self, *args, **kwargs) if own is MISSING else run(own, (self, *args), kwargs)

    def extra_repr(self) -> str:
        own = self.cls.find("extra_repr")
        return self.MADE.extra_repr(self) if own is MISSING else text_from(run(own, (self,)), "extra_repr")

    def __repr__(self) -> str:
        own = special(self, "__repr__")
        return Module.__repr__(self) if own is None else text_from(own(), "__repr__")

    def own_repr(self, address: str) -> str:
        return self.MADE.__repr__(self)

    __hash__ = Instance.__hash__


@cache
def _host(made: type[Module]) -> type[ModuleObject]:
    bases = (ModuleObject,) if made is Module else (ModuleObject, made)
    return type(made.__name__, bases, {"MADE": made, "__module__": __name__})


def host_of(native: ScriptType) -> type[Instance]:
    """The class of the instances of classes with this base."""
    assert native.instances is not None
    return _host(native.instances)
