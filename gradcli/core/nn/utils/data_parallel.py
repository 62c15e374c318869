"""torch.nn.DataParallel, which on a machine without an accelerator only calls its module."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.script_types import script_type
from gradcli.core.nn.module import Module
from gradcli.core.nn.modules.containers import checked_module


class DataParallel(Module):
    """A module under the name `module`, and no devices to spread its input over."""

    SCRIPT_NAME = "DataParallel"
    SETTINGS = "device_ids"

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: Any = 0) -> None:
        super().__init__()
        self.children_by_name["module"] = checked_module(module)
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.children_by_name["module"](*inputs, **kwargs)


script_type(DataParallel, "torch.nn.parallel.data_parallel")
