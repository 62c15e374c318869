"""`_parameters`, `_buffers` and `_modules` of a module, which programs read and write as dicts, and members that are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.calling.mappings import Mapping, table_of
from gradcli.core.calling.routines import Routine
from gradcli.core.tensor.text import shown


class MemberTable(Mapping):
    """A table of a module; `check(name, value)` raises TypeError for what cannot be put in."""

    __slots__ = ("check",)

    def __init__(self, table: dict[Any, Any], check: Callable[[Any, Any], None]) -> None:
        super().__init__(table)
        self.check = check

    def __repr__(self) -> str:
        return shown(self.table)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.check(key, value)
        self.table[key] = value

    def update(self, other: Any = (), **more: Any) -> None:
        """Put in what another mapping holds."""
        for key, value in (table_of(other) | more).items():
            self[key] = value

    def copy(self) -> dict[Any, Any]:  # type: ignore[override]
        """A dict of the members."""
        return dict(self.table)

    SCRIPT_METHODS = Mapping.SCRIPT_METHODS | {method.__name__: Routine(method) for method in (__setitem__, update, copy)}


class ComputedMembers(dict[str, Any]):
    """The parameters or buffers of a module, of which some are computed when they are read by name; those are no entries."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any, held: dict[str, Any]) -> None:
        super().__init__(held)
        self.owner = owner

    def __missing__(self, name: str) -> Any:
        return self.owner.computed(name)
