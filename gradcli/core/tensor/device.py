"""Names of devices. All tensors live on the CPU; other devices can only be named."""

from __future__ import annotations

import re

from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error

_KINDS = (
    *("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan", "mps"),
    *("meta", "hpu", "mtia", "privateuseone"),
)


def kind_of(name: str) -> str:
    """The kind in a device's name, such as `cuda` in `cuda:0`. Raises RuntimeError for a name that PyTorch does not take."""
    kind = name.partition(":")[0]
    if not re.fullmatch("[a-zA-Z_]+(:(0|[1-9][0-9]{0,3}))?", name):
        raise runtime_error(f"Invalid device string: '{name}'")
    if kind not in _KINDS:
        raise runtime_error(f"Expected one of {', '.join(_KINDS)} device type at start of device string: {kind}")
    return kind


def no_accelerator(number: int) -> ProgramError:
    """The error for the number of a device."""
    if not -1 << 63 <= number < 1 << 63:
        return ProgramError("ValueError", "Overflow when unpacking long long")
    return runtime_error("Device index must not be negative" if number < 0 else "Cannot access accelerator device when none is available.")


def check(device: object) -> None:
    """Raise an error for any device but the CPU; `device` is a name, a number or a `torch.device`."""
    if type(device) is int:
        raise no_accelerator(device)
    name = formatted(device)
    kind = kind_of(name)
    if kind == "cuda":
        raise ProgramError("AssertionError", "Torch not compiled with CUDA enabled")
    if kind != "cpu":
        raise runtime_error(f"the device '{name}' is not part of gradcli; tensors live on the cpu")
