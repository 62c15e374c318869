"""Modules that hold modules or parameters by name, or parameters in order: ModuleDict, ParameterDict, ParameterList."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcli.core.calling.mappings import Mapping, MappingView
from gradcli.core.calling.script_types import Routine
from gradcli.core.calling.signature import hooks
from gradcli.core.calling.type_errors import not_an_integer
from gradcli.core.nn.module import Module, module_type
from gradcli.core.nn.parameter import as_parameter
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import shown
from gradcli.errors import ProgramError


def _pairs(given: Any, name: str) -> list[tuple[Any, Any]]:
    """Keys and values of a mapping, a module that is one, or an iterable of pairs."""
    if isinstance(given, (Mapping, dict, ModuleDict, ParameterDict)):
        return list(given.items())
    if not hasattr(given, "__iter__"):
        kind = hooks.type_name(given)
        raise ProgramError("TypeError", f"{name}.update should be called with an iterable of key/value pairs, but got {kind}")
    found = []
    for at, pair in enumerate(given):
        if not hasattr(pair, "__iter__"):
            raise ProgramError("TypeError", f"{name} update sequence element #{at} should be Iterable; is{hooks.type_name(pair)}")
        if len(pair) != 2:
            raise ProgramError("ValueError", f"{name} update sequence element #{at} has length {len(pair)}; 2 is required")
        found.append((pair[0], pair[1]))
    return found


class ModuleDict(Module):
    """Modules by name; not callable."""

    SCRIPT_NAME = "ModuleDict"

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __len__(self) -> int:
        return len(self.children_by_name)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self.children_by_name))

    def __contains__(self, key: Any) -> bool:
        return key in self.children_by_name

    def __getitem__(self, key: Any) -> Module:
        if key not in self.children_by_name:
            raise ProgramError("KeyError", shown(key), args=(key,))
        return self.children_by_name[key]

    def __setitem__(self, key: Any, module: Any) -> None:
        if not isinstance(module, Module):
            raise ProgramError("TypeError", f"{hooks.type_name(module)} is not a Module subclass")
        if not isinstance(key, str):
            raise ProgramError("TypeError", f"module name should be a string. Got {hooks.type_name(key)}")
        wrong = ""
        if key not in self.children_by_name and (key in self.SCRIPT_ATTRIBUTES or key in self.SCRIPT_METHODS):
            wrong = f"attribute '{key}' already exists"
        elif "." in key:
            wrong = f'module name can\'t contain ".", got: {key}'
        elif not key:
            wrong = 'module name can\'t be empty string ""'
        if wrong:
            raise ProgramError("KeyError", shown(wrong), args=(wrong,))
        self.children_by_name[key] = module

    def __delitem__(self, key: Any) -> None:
        del self.children_by_name[self._known(key)]

    def _known(self, key: Any) -> Any:
        self[key]
        return key

    def update(self, modules: Any) -> None:
        """Put in what a mapping, or an iterable of pairs, holds."""
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module

    def pop(self, key: Any) -> Module:
        """Take a module out."""
        return self.children_by_name.pop(self._known(key))

    def clear(self) -> None:
        """Take all out."""
        self.children_by_name.clear()

    def keys(self) -> MappingView:
        """The names."""
        return MappingView("dict_keys", list(self.children_by_name))

    def values(self) -> MappingView:
        """The modules."""
        return MappingView("dict_values", list(self.children_by_name.values()))

    def items(self) -> MappingView:
        """Pairs of name and module."""
        return MappingView("dict_items", list(self.children_by_name.items()))


def _methods(made: type[Module], names: str) -> dict[str, Routine]:
    """What scripts can call: the methods named, of the class or of its base."""
    return Module.SCRIPT_METHODS | {n: Routine(getattr(made, n), f"{made.SCRIPT_NAME}.{n}") for n in names.split()}


_MAPPING = "__len__ __iter__ __getitem__ __setitem__ __delitem__ __contains__ update pop clear keys values items"
ModuleDict.SCRIPT_METHODS = _methods(ModuleDict, _MAPPING)


class Held(Module):
    """What modules that hold parameters share: values by name, of which tensors are parameters."""

    #: how the type of a tensor is written in the repr
    KIND = "torch.{0.name}"

    def __init__(self) -> None:
        super().__init__()
        #: what is no tensor
        self.others: dict[str, Any] = {}
        self.order: list[str] = []

    def forward(self, *input: Any, **named: Any) -> Any:
        raise ProgramError("RuntimeError", f"{self.SCRIPT_NAME} should not be called.")

    def put(self, name: str, value: Any) -> None:
        """Keep a value; a tensor becomes a parameter."""
        self.own_parameters.pop(name, None)
        self.others.pop(name, None)
        if name not in self.order:
            self.order.append(name)
        if type(value) is Tensor:
            self.own_parameters[name] = value if value.is_parameter else as_parameter(value)
            self.own_parameters = {n: self.own_parameters[n] for n in self.order if n in self.own_parameters}
        else:
            self.others[name] = value

    def held(self, name: str) -> Any:
        """A value by name."""
        return self.own_parameters[name] if name in self.own_parameters else self.others[name]

    def drop(self, name: str) -> Any:
        """Take a value out."""
        value = self.held(name)
        self.order.remove(name)
        self.own_parameters.pop(name, None)
        self.others.pop(name, None)
        return value

    def __len__(self) -> int:
        return len(self.order)

    def lines(self) -> list[str]:
        found = []
        for name in self.order:
            value = self.held(name)
            if type(value) is Tensor:
                size = "x".join(map(str, value.array.shape))
                text = f"Parameter containing: [{self.KIND.format(value.dtype)} of size {size}]"
            else:
                text = f"Object of type: {hooks.type_name(value)}"
            found.append(f"  ({name}): {text}")
        return found

    def __repr__(self) -> str:
        lines = self.lines()
        if len(lines) == 1:  # PyTorch takes it for what stands between the parentheses
            return f"{self.SCRIPT_NAME}({lines[0]})"
        return "\n  ".join([f"{self.SCRIPT_NAME}(", *lines]) + "\n)" if lines else f"{self.SCRIPT_NAME}()"


class ParameterList(Held):
    """A list of parameters."""

    SCRIPT_NAME = "ParameterList"

    def __init__(self, values: Any = None) -> None:
        super().__init__()
        if values is not None:
            self.extend(values)

    def __iter__(self) -> Iterator[Any]:
        return iter([self.held(name) for name in self.order])

    def _name(self, index: Any) -> str:
        if type(index) is not int:
            raise not_an_integer(index)
        if not -len(self) <= index < len(self):
            raise ProgramError("IndexError", f"index {index} is out of range")
        return self.order[index]

    def __getitem__(self, index: Any) -> Any:
        return ParameterList(list(self)[index]) if isinstance(index, slice) else self.held(self._name(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.put(self._name(index), value)

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end."""
        self.put(str(len(self)), value)
        return self

    def extend(self, values: Any) -> ParameterList:
        """Add values at the end."""
        if not hasattr(values, "__iter__") or type(values) is Tensor:
            raise ProgramError("TypeError", f"ParameterList.extend should be called with an iterable, but got {hooks.type_name(values)}")
        for value in values:
            self.append(value)
        return self


ParameterList.SCRIPT_METHODS = _methods(ParameterList, "__len__ __iter__ __getitem__ __setitem__ append extend")


class ParameterDict(Held):
    """Parameters by name."""

    SCRIPT_NAME = "ParameterDict"
    KIND = "torch.{0.torch_name}Tensor"

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self.order))

    def __contains__(self, key: Any) -> bool:
        return key in self.order

    def _known(self, key: Any) -> str:
        if not isinstance(key, str):
            text = f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{hooks.type_name(key)}')."
            raise ProgramError("TypeError", text)
        if key not in self.order:
            raise ProgramError("AttributeError", f"'ParameterDict' object has no attribute '{key}'")
        return key

    def __getitem__(self, key: Any) -> Any:
        return self.held(self._known(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, str):
            self._known(key)
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.drop(self._known(key))

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return self.held(key) if key in self.order else default

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of a key, which is put in where there is none."""
        if key not in self.order:
            self[key] = default
        return self[key]

    def pop(self, key: Any) -> Any:
        """Take a value out."""
        return self.drop(self._known(key))

    def popitem(self) -> tuple[str, Any]:
        """Take the last pair out."""
        if not self.order:
            raise ProgramError("KeyError", "'dictionary is empty'")
        key = self.order[-1]
        return key, self.drop(key)

    def clear(self) -> None:
        """Take all out."""
        for key in list(self.order):
            self.drop(key)

    def update(self, parameters: Any) -> None:
        """Put in what a mapping, or an iterable of pairs, holds."""
        pairs = _pairs(parameters, "ParameterDict")
        for key, value in sorted(pairs, key=lambda pair: str(pair[0])) if isinstance(parameters, dict) else pairs:
            self[key] = value

    def copy(self) -> ParameterDict:
        """A shallow copy."""
        return ParameterDict({key: self.held(key) for key in self.order})

    def keys(self) -> MappingView:
        """The names."""
        return MappingView("dict_keys", list(self.order))

    def values(self) -> MappingView:
        """The parameters."""
        return MappingView("dict_values", [self.held(key) for key in self.order])

    def items(self) -> MappingView:
        """Pairs of name and parameter."""
        return MappingView("dict_items", [(key, self.held(key)) for key in self.order])


ParameterDict.SCRIPT_METHODS = _methods(ParameterDict, f"{_MAPPING} get setdefault popitem copy")

MODULEDICT_TYPE = module_type(ModuleDict, "container")
PARAMETERLIST_TYPE = module_type(ParameterList, "container")
PARAMETERDICT_TYPE = module_type(ParameterDict, "container")
