"""Classes derived from the methods of torch.nn.utils.prune."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from gradcli.core.calling.script_types import ScriptType
from gradcli.lang.classes.hosts import HostedObject, overriding
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.special_methods import Instance, run
from gradcli.lang.values.user_classes import UserClass, read_instance
from gradcli.lang.values.value_classes import MISSING, Builtin


class PruningObject(HostedObject):
    """An instance of a class that derives from a pruning method."""

    compute_mask = overriding("compute_mask")
    apply_mask = overriding("apply_mask")

    @property
    def PRUNING_TYPE(self) -> Value:
        """Whether the class chooses elements or slices."""
        own = self.cls.find("PRUNING_TYPE")
        return self.MADE.PRUNING_TYPE if own is MISSING else own

    @property
    def dim(self) -> Value:
        """The dimension of slices. AttributeError without one, of Python's own."""
        own = read_instance(self, "dim")
        if own is MISSING:
            raise AttributeError("dim")
        return own

    @classmethod
    def of_class(cls, user_class: UserClass, name: str) -> Value:
        return Builtin(name, cls.MADE.applied(partial(_made, user_class))) if name == "apply" else MISSING


def _made(user_class: UserClass, *args: Value, **kwargs: Value) -> Value:
    return run(user_class, args, kwargs)


@cache
def _host(made: type[Any]) -> type[PruningObject]:
    return type(made.__name__, (PruningObject, made), {"MADE": made, "__module__": __name__}, known=False)


def host_of(native: ScriptType) -> type[Instance]:
    """The class of the instances of classes with this base."""
    assert native.instances is not None
    return _host(native.instances)
