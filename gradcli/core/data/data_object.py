"""What data sets, samplers and loaders have in common: their fields can be set, and programs may give them other attributes."""

from __future__ import annotations

from operator import attrgetter

from gradcli.core.calling.extensible import Extensible
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, script_type


class DataObject(Extensible):
    """The base of data sets, samplers and loaders."""

    #: classes of programs may derive from these
    BASE_OF = "datasets"
    COPIED_BY_FIELD = True
    SCRIPT_NAME: str

    @classmethod
    def declare(cls, module: str) -> None:
        """Make the tables of a class that scripts know and its type in a module."""
        cls.SCRIPT_NAME = cls.__name__
        own = {name: Routine(vars(cls)[name]) for name in ("__iter__", "__len__", "__getitem__") if name in vars(cls)}
        cls.SCRIPT_METHODS = cls.SCRIPT_METHODS | own
        cls.open_fields()
        script_type(cls, module)

    @classmethod
    def open_fields(cls) -> None:
        """Let programs set the attributes that are plain fields."""
        plain = [name for name, getter in cls.SCRIPT_ATTRIBUTES.items() if isinstance(getter, attrgetter)]
        cls.SCRIPT_SETTERS = {**Attributes.write(" ".join(plain)), **vars(cls).get("SCRIPT_SETTERS", {})}
