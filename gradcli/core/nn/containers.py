"""Modules that hold modules in order: Sequential and ModuleList."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcli.core.calling.mappings import OrderedDict
from gradcli.core.calling.script_types import Routine
from gradcli.core.calling.signature import hooks
from gradcli.core.calling.type_errors import not_an_integer
from gradcli.core.nn.module import Module, indented, module_type
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


class ModuleSequence(Module):
    """What both share. Modules are numbered; slices of a Sequential keep the numbers."""

    def add(self, name: str, module: Any) -> None:
        """Register a module. TypeError for what is none."""
        if not isinstance(module, Module):
            raise ProgramError("TypeError", f"{hooks.type_name(module)} is not a Module subclass")
        self.children_by_name[name] = module

    def __len__(self) -> int:
        return len(self.children_by_name)

    def __iter__(self) -> Iterator[Module]:
        return iter(list(self.children_by_name.values()))

    def position(self, index: Any) -> str:
        """The name of the module at an index, counted from the end where negative."""
        if type(index) is Tensor and index.array.size == 1:
            index = index.array.item()
        if type(index) is not int:
            raise not_an_integer(index)
        size = len(self)
        if not -size <= index < size:
            raise ProgramError("IndexError", f"index {index} is out of range")
        return list(self.children_by_name)[index]

    def __getitem__(self, index: Any) -> Module:
        if not isinstance(index, slice):
            return self.children_by_name[self.position(index)]
        chosen = list(self.children_by_name.items())[index]
        made = type(self)()
        for i, (name, module) in enumerate(chosen):
            made.add(name if isinstance(self, Sequential) else str(i), module)
        return made

    def __setitem__(self, index: Any, module: Any) -> None:
        self.add(self.position(index), module)

    def __delitem__(self, index: Any) -> None:
        del self.children_by_name[self.position(index)]
        self.children_by_name = {str(i): m for i, m in enumerate(self)}

    def append(self, module: Any) -> ModuleSequence:
        """Add a module at the end."""
        self.add(str(len(self)), module)
        return self

    def extend(self, modules: Any) -> ModuleSequence:
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: Any, module: Any) -> ModuleSequence:
        """Put a module before the one at an index."""
        if not isinstance(module, Module):
            raise ProgramError("TypeError", f"{hooks.type_name(module)} is not a Module subclass")
        modules = list(self)
        modules.insert(index, module)
        self.children_by_name = {str(i): m for i, m in enumerate(modules)}
        return self


_NAMES = ("__len__", "__iter__", "__getitem__", "__setitem__", "__delitem__", "append", "extend", "insert")
ModuleSequence.SCRIPT_METHODS = Module.SCRIPT_METHODS | {n: Routine(vars(ModuleSequence)[n], n) for n in _NAMES}


class Sequential(ModuleSequence):
    """Modules one after the other; also from an OrderedDict."""

    SCRIPT_NAME = "Sequential"

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].table if len(args) == 1 and isinstance(args[0], OrderedDict) else {str(i): m for i, m in enumerate(args)}
        for name, module in named.items():
            self.add(name, module)

    def forward(self, input: Any) -> Any:
        for module in self.children_by_name.values():
            input = module(input)
        return input

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ProgramError(
                "ValueError",
                f"add operator supports only objects of Sequential class, but <class '{hooks.type_name(other)}'> is given.",
            )
        return Sequential(*self, *other)


Sequential.SCRIPT_METHODS = ModuleSequence.SCRIPT_METHODS | {"__add__": Routine(Sequential.__add__, "__add__")}


class ModuleList(ModuleSequence):
    """A list of modules; not callable."""

    SCRIPT_NAME = "ModuleList"

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def lines(self) -> list[str]:
        """Equal neighbours are shown once, with their numbers."""
        shown: list[tuple[int, int, str]] = []
        for i, module in enumerate(self):
            text = repr(module)
            if shown and shown[-1][2] == text:
                shown[-1] = (shown[-1][0], i, text)
            else:
                shown.append((i, i, text))
        return [
            f"({first}): {indented(text)}" if first == last else f"({first}-{last}): {last - first + 1} x {indented(text)}"
            for first, last, text in shown
        ]


SEQUENTIAL_TYPE = module_type(Sequential, "container")
MODULELIST_TYPE = module_type(ModuleList, "container")
