"""Modules that hold modules: Sequential, ModuleList, ModuleDict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

from gradcli import limits
from gradcli.core.calling.mappings import Mapping, MappingView, OrderedDict
from gradcli.core.calling.script_types import Generated, live
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import not_an_integer, not_callable, not_ordered
from gradcli.core.nn.module import Module, indented
from gradcli.core.nn.module_members import wrong_kind
from gradcli.core.nn.module_tree import kind_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted, shown
from gradcli.errors import ProgramError


def checked_module(module: Any) -> Any:
    """The value itself if it is a module, or None in the place of one; else TypeError."""
    if module is not None and not isinstance(module, Module):
        raise ProgramError("TypeError", f"{kind_of(module)} is not a Module subclass")
    return module


def checked_position(index: Any, size: int) -> int:
    """The index itself if it is valid for `size` values, also counted from the end; else TypeError or IndexError."""
    if not isinstance(index, int):
        raise not_an_integer(index)
    if not -size <= index < size:
        raise ProgramError("IndexError", f"index {formatted(index)} is out of range")
    return index


# --- in order ---

_SEQUENCE = "__len__ __iter__ __getitem__ __setitem__ __delitem__ __add__ __iadd__ append extend insert pop"
_OPERATORS = ("__add__", "__iadd__", "__mul__", "__rmul__", "__imul__", "__or__", "__ror__", "__ior__")


class OperandModule(Module):
    """A module that stands in expressions, as in `a + b`."""

    def special(self, name: str) -> Callable[..., Any] | None:
        """The method of an operator; None for another name, or where the class has none."""
        method = self.SCRIPT_METHODS.get(name) if name in _OPERATORS else None
        return None if method is None else partial(method, self)


class ModuleSequence(OperandModule):
    """Modules in order, whose names are numbers."""

    def __len__(self) -> int:
        return len(self.children_by_name)

    def __iter__(self) -> Iterator[Module]:
        return live(iter(self.children_by_name.values()))

    def position(self, index: Any) -> str:
        """The name of the module at an index, which may be a tensor of one element."""
        if type(index) is Tensor and index.array.size == 1:
            index = index.array.item()
        return list(self.children_by_name)[checked_position(index, len(self))]

    def chosen(self, part: slice) -> Any:
        """A container of the same class that holds a slice of the modules."""
        return self.another(list(self)[part])

    def another(self, content: Any) -> Any:
        """What a call of the container's class with `content` makes."""
        make: Any = type(self)
        return make(content)

    def renumber(self, modules: list[Module]) -> None:
        """Hold these modules under the names 0, 1, 2 ..."""
        self.children_by_name = {str(i): module for i, module in enumerate(modules)}

    def __getitem__(self, index: Any) -> Any:
        return self.chosen(index) if isinstance(index, slice) else self.children_by_name[self.position(index)]

    def __setitem__(self, index: Any, module: Any) -> None:
        name = self.position(index)
        if module is not None and not isinstance(module, Module):
            raise wrong_kind(module, "child module", name, "torch.nn.Module")
        self.children_by_name[name] = module

    def __delitem__(self, index: Any) -> None:
        names = list(self.children_by_name)
        for name in names[index] if isinstance(index, slice) else [self.position(index)]:
            del self.children_by_name[name]
        self.renumber(list(self))

    def __add__(self, other: Any) -> ModuleSequence:
        raise NotImplementedError

    def __iadd__(self, other: Any) -> ModuleSequence:
        return self.extend(other)

    def pop(self, key: Any) -> Any:
        """Remove the module, or the modules of a slice, and return it."""
        found = self[key]
        for module in reversed(list(found)) if isinstance(key, slice) else ():
            del self[list(self).index(module)]
        if not isinstance(key, slice):
            del self[key]
        return found

    def append(self, module: Any) -> ModuleSequence:
        """Add a module at the end. Raises LimitError where there are too many."""
        limits.check_list(len(self) + 1)
        self.children_by_name[str(len(self))] = checked_module(module)
        return self

    def extend(self, modules: Any) -> ModuleSequence:
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: Any, module: Any) -> ModuleSequence:
        """Put a module before the one at an index."""
        self.make_room(index)
        self.children_by_name[formatted(index)] = checked_module(module)
        return self

    def make_room(self, index: int) -> None:
        """Move the modules from an index on by one place: name by name, as PyTorch does, also those before a negative index."""
        held = self.children_by_name
        for i in range(len(held), index, -1):
            if str(i - 1) not in held:
                raise ProgramError("KeyError", f"'{i - 1}'", args=(str(i - 1),))
            held[str(i)] = held[str(i - 1)]


class Sequential(ModuleSequence, place="container"):
    """Modules that are called one after the other; an OrderedDict gives them names."""

    METHODS = f"{_SEQUENCE} __mul__ __rmul__ __imul__"
    PURE = True
    STEPS = 1

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].table.items():
                self.add_module(name, checked_module(module))
        else:
            self.children_by_name = {str(i): checked_module(module) for i, module in enumerate(args)}

    def insert(self, index: Any, module: Any) -> Sequential:
        """Put a module before the one at an index; names that are no numbers stay. IndexError, KeyError as in PyTorch."""
        if not isinstance(module, Module):
            raise ProgramError("AssertionError", "module should be of type: <class 'torch.nn.modules.module.Module'>")
        size = len(self)
        if not isinstance(index, (int, float)):
            raise not_ordered("<=", size, index)
        if not -size <= index <= size:
            raise ProgramError("IndexError", f"Index out of range: {formatted(index)}")
        if isinstance(index, float):
            raise not_an_integer(index)
        at = index + size if index < 0 else index
        self.make_room(at)
        self.children_by_name[str(at)] = module
        return self

    def forward(self, input: Any) -> Any:
        limits.evaluation.tick()  # a shared module is called once for each path to it
        for module in self.children_by_name.values():
            if module is None:
                raise not_callable(module)
            input = module(input)
        return input

    def chosen(self, part: slice) -> Any:
        """A Sequential of the same class that holds a slice of the modules under their old names."""
        return self.another(OrderedDict(dict(list(self.children_by_name.items())[part])))

    def __add__(self, other: Any) -> Sequential:
        _check_sequential(other)
        limits.check_list(len(self) + len(other))
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Sequential:
        _check_sequential(other)
        self.extend(other)
        return self

    def __mul__(self, other: Any) -> Sequential:
        _check_factor(self, other)
        return Sequential(*[module for _ in range(other) for module in self])

    def __rmul__(self, other: Any) -> Sequential:
        return self.__mul__(other)

    def __imul__(self, other: Any) -> Sequential:
        _check_factor(self, other)
        self.extend([module for _ in range(other - 1) for module in list(self)])
        return self


def _check_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        kind = language.type_repr(other)
        raise ProgramError("ValueError", f"add operator supports only objects of Sequential class, but {kind} is given.")


def _check_factor(module: Sequential, other: Any) -> None:
    if not isinstance(other, int):
        kinds = f"{language.type_repr(module)} and {language.type_repr(other)}"
        raise ProgramError("TypeError", f"unsupported operand type(s) for *: {kinds}")
    if other <= 0:
        raise ProgramError("ValueError", f"Non-positive multiplication factor {formatted(other)} for {language.type_repr(module)}")
    limits.check_list(len(module) * other)


class ModuleList(ModuleSequence, place="container"):
    """A list of modules; not callable."""

    METHODS = _SEQUENCE

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def extend(self, modules: Any) -> ModuleList:
        """Add modules at the end."""
        if not hasattr(modules, "__iter__"):
            kind = language.type_name(modules)
            raise ProgramError("TypeError", f"ModuleList.extend should be called with an iterable, but got {kind}")
        super().extend(modules)
        return self

    def insert(self, index: Any, module: Any) -> None:  # type: ignore[override]
        """Put a module before the one at an index."""
        super().insert(index, module)

    def __add__(self, other: Any) -> ModuleList:
        return ModuleList([*self, *language.collect(other)])

    def lines(self) -> list[str]:
        """The repr of the submodules; neighbours with the same repr share a line with their numbers."""
        runs: list[tuple[int, int, str]] = []
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], i, text)
            else:
                runs.append((i, i, text))
        return [
            f"({first}): {indented(text)}" if first == last else f"({first}-{last}): {last - first + 1} x {indented(text)}"
            for first, last, text in runs
        ]


# --- by name ---

MAPPING = "__len__ __iter__ __getitem__ __setitem__ __delitem__ __contains__ update pop clear keys values items"


class MappingModule(Module):
    """A module that holds values by name; subclasses define how a value is found, set and removed."""

    #: the name of the class as PyTorch's error of `update` spells it
    UPDATED = "ModuleDict"

    def held_names(self) -> Collection[str]:
        """The names, in the order in which they were set, as they are at any time."""
        raise NotImplementedError

    def held(self, name: str) -> Any:
        """The value of a name."""
        raise NotImplementedError

    def drop(self, name: str) -> Any:
        """Remove the value of a name and return it."""
        raise NotImplementedError

    def known(self, key: Any) -> str:
        """The key itself if it has a value; else KeyError, TypeError or AttributeError, as in PyTorch."""
        raise NotImplementedError

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.held_names())

    def __iter__(self) -> Iterator[str]:
        return live(iter(self.held_names()))

    def __contains__(self, key: Any) -> bool:
        language.check_hashable(key)
        return key in dict.fromkeys(self.held_names())

    def __getitem__(self, key: Any) -> Any:
        return self.held(self.known(key))

    def __delitem__(self, key: Any) -> None:
        self.drop(self.known(key))

    def pop(self, key: Any) -> Any:
        """Remove the value of a key and return it."""
        return self.drop(self.known(key))

    def clear(self) -> None:
        """Remove all values."""
        for name in list(self.held_names()):
            self.drop(name)

    def update(self, given: Any) -> None:
        """Set every value of a mapping, or of an iterable of pairs."""
        for key, value in self.pairs(given):
            self[key] = value

    def pairs(self, given: Any) -> list[tuple[Any, Any]]:
        """Keys and values of a mapping, of a module that is one, or of an iterable of pairs."""
        name = self.SCRIPT_NAME
        if isinstance(given, (Mapping, dict, MappingModule)):
            return list(given.items())
        if not hasattr(given, "__iter__"):
            kind = language.type_name(given)
            raise ProgramError("TypeError", f"{self.UPDATED}.update should be called with an iterable of key/value pairs, but got {kind}")
        found = []
        for at, pair in enumerate(given):
            if not hasattr(pair, "__iter__"):
                raise ProgramError("TypeError", f"{name} update sequence element #{at} should be Iterable; is{language.type_name(pair)}")
            if len(pair) != 2:
                raise ProgramError("ValueError", f"{name} update sequence element #{at} has length {len(pair)}; 2 is required")
            found.append((pair[0], pair[1]))
        return found

    def keys(self) -> MappingView:
        """The names."""
        return MappingView("dict_keys", self.held_names())

    def values(self) -> Collection[Any] | Generated:
        """The values."""
        raise NotImplementedError

    def items(self) -> Collection[Any] | Generated:
        """Pairs of name and value."""
        raise NotImplementedError


class ModuleDict(MappingModule, place="container"):
    """Modules by name; not callable."""

    METHODS = MAPPING

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def held_names(self) -> Collection[str]:
        return self.children_by_name.keys()

    def values(self) -> MappingView:
        """The modules."""
        return MappingView("dict_values", self.children_by_name.values())

    def items(self) -> MappingView:
        """Pairs of name and module."""
        return MappingView("dict_items", self.children_by_name.items())

    def held(self, name: str) -> Module:
        return self.children_by_name[name]  # type: ignore[no-any-return]

    def drop(self, name: str) -> Module:
        return self.children_by_name.pop(name)  # type: ignore[no-any-return]

    def known(self, key: Any) -> str:
        language.check_hashable(key)
        if key not in self.children_by_name:
            raise ProgramError("KeyError", shown(key), args=(key,))
        return str(key)

    def __setitem__(self, key: Any, module: Any) -> None:
        checked_module(module)
        if not isinstance(key, str):
            raise ProgramError("TypeError", f"module name should be a string. Got {language.type_name(key)}")
        wrong = ""
        if key not in self.children_by_name and (key in self.SCRIPT_ATTRIBUTES or key in self.SCRIPT_METHODS):
            wrong = f"attribute '{formatted(key)}' already exists"
        elif "." in key:
            wrong = f'module name can\'t contain ".", got: {formatted(key)}'
        elif not key:
            wrong = 'module name can\'t be empty string ""'
        if wrong:
            raise ProgramError("KeyError", shown(wrong), args=(wrong,))
        self.children_by_name[key] = module
