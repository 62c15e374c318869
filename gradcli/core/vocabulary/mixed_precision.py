"""torch.amp on a machine without an accelerator: blocks that cast nothing, and a scaler that scales nothing.

Casting on the cpu, which a program has to ask for, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.autograd.grad_mode import Decorating
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, ScriptType, script_type
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.optim.optimizer import Optimizer
from gradcli.core.vocabulary.torch_types import Device
from gradcli.errors import runtime_error

_DEPRECATED = "`torch.{0}.amp.{1}(args...)` is deprecated. Please use `torch.amp.{1}('{0}', args...)` instead."


class Autocast(Decorating, Scripted):
    """`torch.autocast(device_type, ...)` as a block or a decorator. RuntimeError if it is enabled for the cpu."""

    __slots__ = ("__weakref__",)

    SCRIPT_NAME = "autocast"
    SCRIPT_TYPE: ScriptType

    def __init__(self, device_type: Any, dtype: Any = None, enabled: Any = True, cache_enabled: Any = None) -> None:
        if not enabled:
            return
        if device_type == "cpu":
            raise runtime_error("autocast on the cpu is not part of gradcli: leave it out, or say enabled=False")
        warnings.emit("CUDA is not available or torch_xla is imported. Disabling autocast.")

    def copy(self) -> Autocast:
        return Autocast("cpu", enabled=False)

    def enter(self) -> Autocast:
        """Begin the block."""
        return self

    def exit(self) -> None:
        """End the block."""


class GradScaler(Scripted):
    """`torch.amp.GradScaler(device, ...)`, which scales by 1. RuntimeError if it is enabled for the cpu."""

    __slots__ = ("__weakref__",)

    SCRIPT_NAME = "GradScaler"

    def __init__(
        self,
        device: Any = "cuda",
        init_scale: Any = 65536.0,
        growth_factor: Any = 2.0,
        backoff_factor: Any = 0.5,
        growth_interval: Any = 2000,
        enabled: Any = True,
    ) -> None:
        name = device.name if type(device) is Device else device
        if enabled and name == "cpu":
            raise runtime_error("a GradScaler for the cpu is not part of gradcli: leave it out, or say enabled=False")
        if enabled:
            warnings.emit("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")

    def scale(self, outputs: Any) -> Any:
        """The outputs themselves."""
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        """Nothing: gradients are not scaled."""

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(...)`. AttributeError for anything but an optimiser."""
        if not isinstance(optimizer, Optimizer):
            raise no_attribute(optimizer, "step")
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Nothing: the scale stays."""

    def get_scale(self) -> float:
        """1."""
        return 1.0

    def is_enabled(self) -> bool:
        """False."""
        return False

    def state_dict(self) -> dict[str, Any]:
        """Empty."""
        return {}

    def load_state_dict(self, state_dict: Any) -> None:
        """Nothing."""

    SCRIPT_METHODS = {
        method.__name__: Routine(method, method.__name__, hide_first=True)
        for method in (scale, unscale_, step, update, get_scale, is_enabled, state_dict, load_state_dict)
    }


def _of_cuda(name: str, make: Callable[..., Any]) -> Callable[..., Any]:
    """The same under `torch.cuda.amp`, with the warning that it is an old name."""

    def construct(*args: Any, **kwargs: Any) -> Any:
        warnings.emit(_DEPRECATED.format("cuda", name), "FutureWarning")
        return make("cuda", *args, **kwargs)

    return construct


AUTOCAST = script_type(Autocast, "torch.amp.autocast_mode")
GRAD_SCALER = script_type(GradScaler, "torch.amp.grad_scaler")
CUDA_AUTOCAST = ScriptType(
    "autocast",
    "torch.cuda.amp.autocast_mode",
    _of_cuda("autocast", lambda device, enabled=True, dtype=None, cache_enabled=True: Autocast(device, dtype, enabled)),
    lambda value: type(value) is Autocast,
)
CUDA_GRAD_SCALER = ScriptType(
    "GradScaler", "torch.cuda.amp.grad_scaler", _of_cuda("GradScaler", GradScaler), lambda value: type(value) is GradScaler
)
