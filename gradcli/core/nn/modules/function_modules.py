"""Modules that call one function: a class, or a row of a table of classes, declares the function and the arguments.

A module that only calls its function is a row: its name, the function, the arguments with their defaults, and the names
that its repr shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gradcli.core.calling import warnings
from gradcli.core.calling.declared_arguments import DeclaredArguments, DeclaredConstructor
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module
from gradcli.core.nn.parameter import refill
from gradcli.core.tensor.device import check as check_device


class FunctionModule(DeclaredArguments, Module):
    """A module whose `forward` calls FUNCTION with the input and with settings, which are the arguments of `__init__`.

    A subclass declares ARGUMENTS in place of an `__init__`, and extends `keep` where it checks or changes them.
    """

    #: the function's name below `torch.`
    FUNCTION = ""
    #: names of arguments that do not become settings; buffers and parameters do not either
    NOT_KEPT = "device dtype"
    #: whether the function gets the settings by keyword; else it gets them after the input, in the order of the arguments
    BY_KEYWORD = False
    #: the module of torch.nn.modules that has the classes of a row
    PLACE = ""
    #: the docstring of the classes of a row, as a format string of `function` and `rank`
    DOC = "`{function}`."
    #: the number of dimensions that the names of PyTorch's modules end with, as in `Conv2d`
    RANK = 0
    _settings: tuple[str, ...] = ()

    def __init_subclass__(cls, place: str = "", exact: bool = False) -> None:
        if cls.ARGUMENTS and not cls.SETTINGS:
            others = f"{cls.NOT_KEPT} {cls.BUFFERS} {cls.PARAMETERS}".split()
            cls.SETTINGS = " ".join(name for name in cls.ARGUMENTS if name not in others)
        cls._settings = tuple(cls.SETTINGS.split())
        super().__init_subclass__(place, exact)
        if place and cls.__init__ is FunctionModule.__init__:
            cls.SCRIPT_TYPE.construct = DeclaredConstructor(cls, getattr(cls, "INIT_NAME", cls.SCRIPT_NAME))

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        given = self.bind(args, kwargs)
        if given.get("device") is not None:
            check_device(given["device"])
        self.keep(given)

    def keep(self, given: dict[str, Any]) -> None:
        """Keep the arguments of `__init__`, given by name, as fields of the same names."""
        fields = vars(self)
        for name in self._settings:
            fields[name] = given[name]

    def reset_parameters(self) -> None:
        """Write initial values into parameters and buffers, drawn as `__init__` draws them."""
        self.reset(("own_parameters", "own_buffers"))

    def reset(self, tables: tuple[str, ...]) -> None:
        """Write initial values into the members of some tables of this module."""
        made: FunctionModule = object.__new__(getattr(self, "MADE", type(self)))
        Module.__init__(made)
        dtype = next((tensor.dtype for _, tensor in self.own_state() if tensor.dtype.is_differentiable), None)
        has_bias = {"bias": self.attribute("bias", None) is not None} if "bias" in self.PARAMETERS.split() else {}
        made.keep({**self.ARGUMENTS, **{name: vars(self)[name] for name in self._settings}, **has_bias, "dtype": dtype})
        for table in tables:
            for name, tensor in vars(made)[table].items():
                if tensor is not None:
                    refill(vars(self)[table][name], tensor)

    def settings(self) -> dict[str, Any]:
        """The settings by name, in the order of the arguments."""
        fields = vars(self)
        return {name: fields[name] for name in self._settings}

    def call(self, *inputs: Any) -> Any:
        """Call the function with inputs and settings."""
        function = catalog.function(self.FUNCTION)
        return function(*inputs, **self.settings()) if self.BY_KEYWORD else function(*inputs, *self.settings().values())

    def call_inside(self, *inputs: Any) -> Any:
        """`call` of a function that may warn, which names the module as the place then."""
        outer, warnings.module = warnings.module, self.SCRIPT_NAME
        try:
            return FunctionModule.call(self, *inputs)
        finally:
            warnings.module = outer

    def forward(self, input: Any) -> Any:
        return self.call(input)

    def unusual(self, names: str) -> list[str]:
        """`name=value` for each of the settings named that is not its default."""
        fields = vars(self)
        return [f"{name}={fields[name]}" for name in names.split() if fields[name] != self.ARGUMENTS[name]]


class Row(NamedTuple):
    """Classes by name that derive from `base` and call the functions that `functions` names, such as `F.relu`.

    `attributes` are attributes of the first class, from which the others inherit them; for scripts they are still not
    subclasses of it.
    """

    base: type[FunctionModule]
    functions: Mapping[str, str]
    attributes: dict[str, Any]

    def classes(self) -> dict[str, type[FunctionModule]]:
        """Make the classes."""
        made: dict[str, type[FunctionModule]] = {}
        base, attributes = self.base, self.attributes
        for name, function in self.functions.items():
            rank = int(name[-2]) if name[-2].isdigit() else 0
            namespace = {
                "__module__": base.__module__,
                "__doc__": attributes.get("DOC", base.DOC).format(function=function, rank=rank),
                "FUNCTION": function.replace("F.", "nn.functional.").removeprefix("torch."),
                "RANK": rank,
            }
            place = attributes.get("PLACE", base.PLACE)
            made[name] = type(name, (base,), namespace | attributes, place=place, exact=True)
            if attributes:
                base, attributes = made[name], {}
        return made


def row(base: type[FunctionModule], functions: Mapping[str, str], **attributes: Any) -> Row:
    """A row of a table of classes."""
    return Row(base, functions, attributes)


class ClassTable(Mapping[str, type[FunctionModule]]):
    """The classes of rows by name; those of a row are made when one of them is first looked up."""

    def __init__(self, *rows: Row) -> None:
        self._rows = {name: row for row in rows for name in row.functions}
        self._made: dict[str, type[FunctionModule]] = {}

    def __getitem__(self, name: str) -> type[FunctionModule]:
        if name not in self._made:
            self._made.update(self._rows[name].classes())
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
