"""Classes derived from the optimisers of torch.optim and from its learning rate schedules."""

from __future__ import annotations

from functools import cache
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.optim.optimizer import Optimizer
from gradcli.lang.classes.hosts import HostedObject, overriding
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.special_methods import Instance, run
from gradcli.lang.values.user_classes import NativeMethod
from gradcli.lang.values.value_classes import MISSING, BoundMethod


class OptimizerObject(HostedObject):
    """An instance of a class that derives from an optimiser."""

    #: whether the program's `step` is running: then that of the base is a part of it
    stepping = False

    @classmethod
    def prepare_class(cls, user_class: Any) -> None:
        """The `step` of the program gets the hooks that every step has, and schedules see that it was made."""
        own = user_class.fields.get("step")
        if own is not None:
            user_class.fields["step"] = NativeMethod("step", _with_hooks(own))

    def native(self, name: str) -> Value:
        if name == "step" and self.stepping:
            return BoundMethod(self, name, self.MADE.SCRIPT_STEP)
        return super().native(name)


def _with_hooks(function: Value) -> Any:
    def inner(*args: Value, **kwargs: Value) -> Value:
        return run(function, args, kwargs)

    def step(self: Any, /, *args: Value, **kwargs: Value) -> Value:
        if self.stepping:
            return inner(self, *args, **kwargs)
        self.stepping = True
        try:
            return self.with_hooks(inner, args, kwargs)
        finally:
            self.stepping = False

    return step


class SchedulerObject(HostedObject):
    """An instance of a class that derives from a learning rate schedule."""

    step = overriding("step")

    def begin(self, given: Any) -> None:
        """As in the base; what the program has set before comes first in the state."""
        self.early = tuple(self.fields)
        self.MADE.begin(self, given)

    def native(self, name: str) -> Value:
        found = super().native(name)
        if found is MISSING and name.startswith("_"):
            return vars(self).get(self.MADE.field_of(self, name) or "", MISSING)
        return found

    def write(self, name: str, value: Value) -> None:
        field = self.MADE.field_of(self, name)
        if field is None:
            super().write(name, value)
        else:
            setattr(self, field, value)

    def rates(self) -> Any:
        """The rates that the program's `get_lr` computes, or else those of the base."""
        own = self.cls.find("get_lr")
        return self.MADE.rates(self) if own is MISSING else run(own, (self,))

    def base_rates(self) -> Any:
        """`super().get_lr()`."""
        return self.MADE.rates(self)

    def state_dict(self) -> dict[str, Value]:
        """The fields of the schedule and of the program, without the optimiser."""
        kept: dict[str, Value] = self.MADE.state_dict(self)
        early = {name: self.fields[name] for name in self.early if name in self.fields}
        return early | kept | {name: value for name, value in self.fields.items() if name not in early}

    def load_state_dict(self, state_dict: Any) -> None:
        """Set the fields to those of a `state_dict`."""
        self.MADE.load_state_dict(self, state_dict)
        known = dict(self.MADE.places(self))
        self.fields.update((name, value) for name, value in state_dict.items() if name not in known)

    SPECIAL = {
        "get_lr": Routine(base_rates, "LRScheduler.get_lr"),
        "state_dict": Routine(state_dict, "LRScheduler.state_dict"),
        "load_state_dict": Routine(load_state_dict, "LRScheduler.load_state_dict"),
    }


@cache
def _host(made: type[Any]) -> type[HostedObject]:
    fields = {"MADE": made, "__module__": __name__}
    if issubclass(made, Optimizer):
        return type(made.__name__, (OptimizerObject, made), fields)
    return type(made.__name__, (SchedulerObject, made), fields, known=False)


def host_of(native: ScriptType) -> type[Instance]:
    """The class of the instances of classes with this base."""
    assert native.instances is not None
    return _host(native.instances)
