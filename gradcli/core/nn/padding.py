"""Borders as modules: `F.pad` with its settings kept."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.script_types import Attributes
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module, module_type


class Border(Module):
    """What they share: so many dimensions are padded on both sides."""

    RANK = 0
    MODE = "constant"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read("padding")

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = tuple(padding) if hasattr(padding, "__iter__") else (padding,) * (2 * self.RANK)

    def forward(self, input: Any) -> Any:
        return catalog.function("nn.functional.pad")(input, self.padding, self.MODE)

    def extra(self) -> str:
        return str(self.padding)


class ConstantBorder(Border):
    """A border of one value."""

    SCRIPT_ATTRIBUTES = Border.SCRIPT_ATTRIBUTES | Attributes.read("value")

    def __init__(self, padding: Any, value: Any) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        return catalog.function("nn.functional.pad")(input, self.padding, "constant", self.value)

    def extra(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ZeroBorder(ConstantBorder):
    """A border of zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra(self) -> str:
        return str(self.padding)


class ConstantPad1d(ConstantBorder):
    """Around rows."""

    SCRIPT_NAME = "ConstantPad1d"
    RANK = 1


class ConstantPad2d(ConstantBorder):
    """Around images."""

    SCRIPT_NAME = "ConstantPad2d"
    RANK = 2


class ConstantPad3d(ConstantBorder):
    """Around volumes."""

    SCRIPT_NAME = "ConstantPad3d"
    RANK = 3


class ZeroPad1d(ZeroBorder):
    """Around rows."""

    SCRIPT_NAME = "ZeroPad1d"
    RANK = 1


class ZeroPad2d(ZeroBorder):
    """Around images."""

    SCRIPT_NAME = "ZeroPad2d"
    RANK = 2


class ZeroPad3d(ZeroBorder):
    """Around volumes."""

    SCRIPT_NAME = "ZeroPad3d"
    RANK = 3


class ReflectionPad1d(Border):
    """Around rows."""

    SCRIPT_NAME = "ReflectionPad1d"
    RANK = 1
    MODE = "reflect"


class ReflectionPad2d(Border):
    """Around images."""

    SCRIPT_NAME = "ReflectionPad2d"
    RANK = 2
    MODE = "reflect"


class ReflectionPad3d(Border):
    """Around volumes."""

    SCRIPT_NAME = "ReflectionPad3d"
    RANK = 3
    MODE = "reflect"


class ReplicationPad1d(Border):
    """Around rows."""

    SCRIPT_NAME = "ReplicationPad1d"
    RANK = 1
    MODE = "replicate"


class ReplicationPad2d(Border):
    """Around images."""

    SCRIPT_NAME = "ReplicationPad2d"
    RANK = 2
    MODE = "replicate"


class ReplicationPad3d(Border):
    """Around volumes."""

    SCRIPT_NAME = "ReplicationPad3d"
    RANK = 3
    MODE = "replicate"


class CircularPad1d(Border):
    """Around rows."""

    SCRIPT_NAME = "CircularPad1d"
    RANK = 1
    MODE = "circular"


class CircularPad2d(Border):
    """Around images."""

    SCRIPT_NAME = "CircularPad2d"
    RANK = 2
    MODE = "circular"


class CircularPad3d(Border):
    """Around volumes."""

    SCRIPT_NAME = "CircularPad3d"
    RANK = 3
    MODE = "circular"


CONSTANTPAD1D_TYPE = module_type(ConstantPad1d, "padding")
CONSTANTPAD2D_TYPE = module_type(ConstantPad2d, "padding")
CONSTANTPAD3D_TYPE = module_type(ConstantPad3d, "padding")
ZEROPAD1D_TYPE = module_type(ZeroPad1d, "padding")
ZEROPAD2D_TYPE = module_type(ZeroPad2d, "padding")
ZEROPAD3D_TYPE = module_type(ZeroPad3d, "padding")
REFLECTIONPAD1D_TYPE = module_type(ReflectionPad1d, "padding")
REFLECTIONPAD2D_TYPE = module_type(ReflectionPad2d, "padding")
REFLECTIONPAD3D_TYPE = module_type(ReflectionPad3d, "padding")
REPLICATIONPAD1D_TYPE = module_type(ReplicationPad1d, "padding")
REPLICATIONPAD2D_TYPE = module_type(ReplicationPad2d, "padding")
REPLICATIONPAD3D_TYPE = module_type(ReplicationPad3d, "padding")
CIRCULARPAD1D_TYPE = module_type(CircularPad1d, "padding")
CIRCULARPAD2D_TYPE = module_type(CircularPad2d, "padding")
CIRCULARPAD3D_TYPE = module_type(CircularPad3d, "padding")
