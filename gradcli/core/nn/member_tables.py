"""`_parameters`, `_modules`, `_forward_hooks` and others of a module, which programs read and write as dicts, and computed members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.calling.mappings import Mapping, OrderedDict, table_of
from gradcli.core.calling.routines import Routine
from gradcli.core.tensor.text import shown
from gradcli.errors import ProgramError


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


class HookTable(OrderedDict):
    """The hooks of a module by number, as they are at any time. What a program takes out is no longer called; it can put none in."""

    __slots__ = ("functions",)

    def __init__(self, functions: dict[int, Callable[..., Any]]) -> None:
        self.functions = functions

    @property
    def table(self) -> dict[Any, Any]:  # type: ignore[override]
        """The hooks as programs have registered them."""
        return {number: getattr(run, "hook", run) for number, run in self.functions.items()}

    def __setitem__(self, key: Any, value: Any) -> None:
        raise _no_hooks_put_in()

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def pop(self, key: Any, *default: Any) -> Any:
        """Take a hook out; the default where there is none."""
        found = super().pop(key, *default)
        self.functions.pop(key, None)
        return found

    def popitem(self, last: Any = True) -> tuple[Any, Any]:
        """Take out the last hook, or the first, with its number."""
        key, value = super().popitem(last)
        del self.functions[key]
        return key, value

    def clear(self) -> None:
        """Take all hooks out."""
        self.functions.clear()

    def copy(self) -> OrderedDict:
        """The hooks as they are now, in a mapping of their own."""
        return OrderedDict(self.table)

    def move_to_end(self, key: Any, last: Any = True) -> None:
        """Make a hook the last one, or the first."""
        self[key]
        hook = self.functions.pop(key)
        others = {} if last else dict(self.functions)
        for number in others:
            del self.functions[number]
        self.functions.update({key: hook, **others})

    SCRIPT_METHODS = OrderedDict.SCRIPT_METHODS | {
        method.__name__: Routine(method) for method in (__setitem__, __delitem__, pop, popitem, clear, copy, move_to_end)
    }


def replace(hooks: HookTable, value: Any) -> None:
    """`module._forward_hooks = value`: an empty mapping takes all hooks out. NotImplementedError for any other value."""
    if type(value) is HookTable and value.functions is hooks.functions:
        return
    if not isinstance(value, (dict, Mapping)) or len(value):
        raise _no_hooks_put_in()
    hooks.clear()


def _no_hooks_put_in() -> ProgramError:
    return ProgramError("NotImplementedError", "putting hooks into the table of a module is not part of gradcli: register them")


class ComputedMembers(dict[str, Any]):
    """The parameters or buffers of a module, of which some are computed when they are read by name; those are no entries."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any, held: dict[str, Any]) -> None:
        super().__init__(held)
        self.owner = owner

    def __missing__(self, name: str) -> Any:
        return self.owner.computed(name)
