"""Classes derived from the data sets, samplers and loaders of torch.utils.data."""

from __future__ import annotations

from functools import cache
from typing import Any

from gradcli.core.calling.script_types import ScriptType
from gradcli.lang.classes.hosts import HostedObject
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.attribute_table import AttributeTable
from gradcli.lang.values.special_methods import Instance
from gradcli.lang.values.value_classes import MISSING

#: what core has for its own data sets, and PyTorch's bases have not: programs define it or do without
_NOT_OF_BASES = {"Dataset": ("__len__", "__iter__"), "IterableDataset": ("__len__",), "Sampler": ("__len__",)}


class HostedData(HostedObject):
    """An instance of a class that derives from a data set, a sampler or a loader."""

    def native(self, name: str) -> Value:
        return MISSING if name in _NOT_OF_BASES.get(self.MADE.__name__, ()) else super().native(name)

    def attributes(self) -> Value:
        return AttributeTable(self.fields) if self.MADE.__name__ in _NOT_OF_BASES else MISSING


@cache
def _host(made: type[Any]) -> type[HostedData]:
    return type(made.__name__, (HostedData, made), {"MADE": made, "__module__": __name__}, known=False)


def host_of(native: ScriptType) -> type[Instance]:
    """The class of the instances of classes with this base."""
    assert native.instances is not None
    return _host(native.instances)
