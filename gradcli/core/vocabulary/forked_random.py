"""`torch.random.fork_rng`: a block whose draws leave the default generator as it was."""

from __future__ import annotations

from typing import Any

from gradcli.core.autograd.grad_mode import Decorating
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted
from gradcli.core.calling.signature import language
from gradcli.core.kernels import Array
from gradcli.core.random import generator
from gradcli.errors import ProgramError


class ForkedRandom(Decorating, Scripted):
    """`fork_rng(...)` as a block or a decorator. AssertionError for devices, which are accelerators."""

    __slots__ = ("devices", "enabled", "before", "__weakref__")

    SCRIPT_NAME = "contextlib._GeneratorContextManager"

    def __init__(self, devices: Any, enabled: Any) -> None:
        self.devices = devices
        self.enabled = enabled
        self.before: Array | None = None

    def copy(self) -> ForkedRandom:
        return ForkedRandom(self.devices, self.enabled)

    def enter(self) -> None:
        if not self.enabled:
            return
        if self.devices is not None and language.collect(self.devices):
            raise ProgramError("AssertionError", "Torch not compiled with CUDA enabled")
        self.before = generator.default.get_state()

    def exit(self) -> None:
        if self.before is not None:
            generator.default.set_state(self.before)


def _fork_rng(devices: Any = None, enabled: Any = True, *, device_type: Any = None) -> ForkedRandom:
    """A block, or with @ a function, whose draws leave the default generator as it was."""
    if device_type not in (None, "cuda"):
        raise ProgramError("NotImplementedError", "fork_rng of another device is not part of gradcli")
    return ForkedRandom(devices, enabled)


FORK_RNG = Routine(_fork_rng, "fork_rng")
