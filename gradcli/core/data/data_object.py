"""What data sets, samplers and loaders have in common: their fields can be set, and programs may give them other attributes."""

from __future__ import annotations

from operator import attrgetter

from gradcli.core.calling.extensible import Extensible
from gradcli.core.calling.script_types import Attributes


class DataObject(Extensible):
    """The base of data sets, samplers and loaders."""

    #: classes of programs may derive from these
    BASE_OF = "datasets"
    COPIED_BY_FIELD = True

    @classmethod
    def open_fields(cls) -> None:
        """Let programs set the attributes that are plain fields."""
        plain = [name for name, getter in cls.SCRIPT_ATTRIBUTES.items() if isinstance(getter, attrgetter)]
        cls.SCRIPT_SETTERS = {**Attributes.write(" ".join(plain)), **vars(cls).get("SCRIPT_SETTERS", {})}
