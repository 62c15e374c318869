"""Modules that hold parameters: ParameterList and ParameterDict. Values that are not tensors are held too."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from gradcli.core.calling.mappings import table_of
from gradcli.core.calling.script_types import Generated, live
from gradcli.core.calling.signature import language
from gradcli.core.nn.module import Module, indented
from gradcli.core.nn.module_members import wrong_kind
from gradcli.core.nn.modules.containers import MAPPING, MappingModule, OperandModule, checked_position
from gradcli.core.nn.parameter import as_parameter
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted, shown
from gradcli.errors import ProgramError, runtime_error


class ParameterContainer(OperandModule):
    """A module that holds values by name, of which the tensors are parameters."""

    #: how the repr writes the type of a tensor, as a format string of its dtype
    TENSOR_TYPE = "torch.{0.name}"

    def __init__(self) -> None:
        super().__init__()
        #: the values that are not tensors
        self.others: dict[str, Any] = {}
        self.order: dict[str, None] = {}

    def forward(self, *input: Any, **named: Any) -> Any:
        raise runtime_error(f"{self.SCRIPT_NAME} should not be called.")

    def put(self, name: str, value: Any) -> None:
        """Keep a value under a name; a tensor becomes a parameter. TypeError for another value in the place of a parameter.

        KeyError for a name that no parameter can have.
        """
        if type(value) is Tensor and name not in self.others:
            self.check_name("parameter", name, self.own_parameters)
        elif self.own_parameters.get(name) is not None and value is not None and type(value) is not Tensor:
            raise wrong_kind(value, "parameter", name, "torch.nn.Parameter")
        self.own_parameters.pop(name, None)
        self.others.pop(name, None)
        self.order[name] = None
        if type(value) is Tensor:
            self.own_parameters[name] = value if value.is_parameter else as_parameter(value)
            self.own_parameters = {n: self.own_parameters[n] for n in self.order if n in self.own_parameters}
        else:
            self.others[name] = value

    def held(self, name: str) -> Any:
        """The value of a name."""
        return self.own_parameters[name] if name in self.own_parameters else self.others[name]

    def drop(self, name: str) -> Any:
        """Remove the value of a name and return it."""
        value = self.held(name)
        del self.order[name]
        self.own_parameters.pop(name, None)
        self.others.pop(name, None)
        return value

    def __len__(self) -> int:
        return len(self.order)

    def extra_repr(self) -> str:
        """A line for each value."""
        found = []
        for name in self.order:
            value = self.held(name)
            if type(value) is Tensor:
                size = "x".join(map(str, value.array.shape))
                text = f"Parameter containing: [{self.TENSOR_TYPE.format(value.dtype)} of size {size}]"
            else:
                text = f"Object of type: {language.type_name(value)}"
            found.append(f"  ({name}): {text}")
        return "\n".join(found)

    def lines(self) -> list[str]:
        held = [(name, self.held(name)) for name in self.order]
        return [f"({name}): {indented(repr(value))}" for name, value in held if isinstance(value, Module)]


class ParameterList(ParameterContainer, place="container"):
    """A list of parameters."""

    METHODS = "__len__ __iter__ __getitem__ __setitem__ __delitem__ __iadd__ append extend"

    def __init__(self, values: Any = None) -> None:
        super().__init__()
        if values is not None:
            self.extend(values)

    def __iter__(self) -> Iterator[Any]:
        return iter([self.held(name) for name in self.order])

    def _name(self, index: Any) -> str:
        return list(self.order)[checked_position(index, len(self))]

    def __getitem__(self, index: Any) -> Any:
        return ParameterList(list(self)[index]) if isinstance(index, slice) else self.held(self._name(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.put(self._name(index), value)

    def __delitem__(self, index: Any) -> None:
        raise ProgramError("AttributeError", "__delitem__")  # Python's error for a class that has only __setitem__

    def __iadd__(self, values: Any) -> ParameterList:
        return self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end."""
        self.put(str(len(self)), value)
        return self

    def extend(self, values: Any) -> ParameterList:
        """Add values at the end."""
        if not hasattr(values, "__iter__") or type(values) is Tensor:
            raise ProgramError("TypeError", f"ParameterList.extend should be called with an iterable, but got {language.type_name(values)}")
        for value in values:
            self.append(value)
        return self


class ParameterDict(ParameterContainer, MappingModule, place="container"):
    """Parameters by name."""

    METHODS = f"{MAPPING} __or__ __ror__ __ior__ __reversed__ get setdefault popitem copy fromkeys"
    TENSOR_TYPE = "torch.{0.torch_name}Tensor"
    UPDATED = "ParametersDict"

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def held_names(self) -> Collection[str]:
        return self.order.keys()

    def values(self) -> Generated:
        """The values."""
        return Generated((self.held(name) for name in self), "ParameterDict.values.<locals>.<genexpr>")

    def items(self) -> Generated:
        """Pairs of name and value."""
        return Generated(((name, self.held(name)) for name in self), "ParameterDict.items.<locals>.<genexpr>")

    def __reversed__(self) -> Iterator[str]:
        return live(reversed(self.order))

    def known(self, key: Any) -> str:
        if not isinstance(key, str):
            text = (
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{language.type_name(key)}'). "
                "Open an issue on github if you need non-string keys."
            )
            raise ProgramError("TypeError", text)
        if key not in self.order:
            raise ProgramError("AttributeError", f"'ParameterDict' object has no attribute '{formatted(key)}'")
        return key

    def __delitem__(self, key: Any) -> None:
        if key not in self:
            raise ProgramError("KeyError", shown(key), args=(key,))
        self.drop(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, str):
            self.known(key)
        self.put(key, value)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return self.held(key) if isinstance(key, str) and key in self.order else default

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of a key, after it was set to the default if it had none."""
        if not isinstance(key, str) or key not in self.order:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Remove the last pair and return it."""
        if not self.order:
            raise ProgramError("KeyError", "'dictionary is empty'")
        key = next(reversed(self.order))
        return key, self.drop(key)

    def pairs(self, given: Any) -> list[tuple[Any, Any]]:
        """Keys and values; those of a dict are sorted by key, as PyTorch sorts them."""
        found = super().pairs(given)
        return sorted(found, key=lambda pair: str(pair[0])) if isinstance(given, dict) else found

    def __or__(self, other: Any) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> dict[Any, Any]:
        return table_of(other) | dict(self.items())

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self

    def fromkeys(self, keys: Any, default: Any = None) -> ParameterDict:
        """A ParameterDict with one value for all keys."""
        return ParameterDict([(key, default) for key in language.collect(keys)])

    def copy(self) -> ParameterDict:
        """A shallow copy."""
        return ParameterDict(list(self.items()))
