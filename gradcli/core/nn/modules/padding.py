"""Padding: rows of classes that call `F.pad` with a mode, for the number of dimensions that their names end with."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.nn.modules.function_modules import ClassTable, FunctionModule, row
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import shape_error


class Border(FunctionModule):
    """A border around the last RANK dimensions; one number is the width of every side."""

    PLACE = "padding"
    ARGUMENTS = {"padding": REQUIRED}
    EXTRA = "{padding}"
    MODE = ""

    def keep(self, given: dict[str, Any]) -> None:
        padding = given["padding"]
        self.padding = tuple(padding) if hasattr(padding, "__iter__") else (padding,) * (2 * self.RANK)

    def forward(self, input: Any) -> Any:
        return catalog.function(self.FUNCTION)(input, self.padding, self.MODE)


class ConstantBorder(Border):
    """A border of one value."""

    FORWARD_NAME = "_ConstantPadNd"
    ARGUMENTS = {"padding": REQUIRED, "value": REQUIRED}
    SETTINGS = "padding value"
    EXTRA = "padding={padding}, value={value}"
    DOC = "A border of one value around {rank}D data."

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        self.value = given["value"]

    def forward(self, input: Any) -> Any:
        return catalog.function(self.FUNCTION)(input, self.padding, "constant", self.value)


class ZeroBorder(ConstantBorder):
    """A border of zeros."""

    ARGUMENTS = {"padding": REQUIRED}
    EXTRA = "{padding}"
    DOC = "A border of zeros around {rank}D data."

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given | {"value": 0.0})


class CircularBorder(Border):
    """A border that continues the data from the other end."""

    FORWARD_NAME = "_CircularPadNd"
    MODE = "circular"

    def forward(self, input: Any) -> Any:
        if type(input) is not Tensor:
            raise no_attribute(input, "dim")
        if input.array.ndim not in (self.RANK + 1, self.RANK + 2):
            text = f"expected {self.RANK + 1}D or {self.RANK + 2}D input (got {input.array.ndim}D input)"
            raise shape_error(text, "ValueError")
        return super().forward(input)


CLASSES = ClassTable(
    row(ConstantBorder, {"ConstantPad1d": "F.pad", "ConstantPad2d": "F.pad", "ConstantPad3d": "F.pad"}),
    row(ZeroBorder, {"ZeroPad1d": "F.pad", "ZeroPad2d": "F.pad", "ZeroPad3d": "F.pad"}),
    row(
        Border,
        {"ReflectionPad1d": "F.pad", "ReflectionPad2d": "F.pad", "ReflectionPad3d": "F.pad"},
        MODE="reflect",
        FORWARD_NAME="_ReflectionPadNd",
        DOC="A border that reflects {rank}D data.",
    ),
    row(
        Border,
        {"ReplicationPad1d": "F.pad", "ReplicationPad2d": "F.pad", "ReplicationPad3d": "F.pad"},
        MODE="replicate",
        FORWARD_NAME="_ReplicationPadNd",
        DOC="A border that repeats the outermost elements of {rank}D data.",
    ),
    row(
        CircularBorder,
        {"CircularPad1d": "F.pad", "CircularPad2d": "F.pad", "CircularPad3d": "F.pad"},
        DOC="A border that continues {rank}D data from the other end.",
    ),
)
