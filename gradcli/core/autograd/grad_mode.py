"""torch.autograd.grad_mode: the blocks that switch recording on and off. They nest, and restore what they found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, ScriptType, script_type
from gradcli.core.calling.signature import language
from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError


class Decorating:
    """A block that may stand above a function as a decorator too: each call runs in a block of its own, a `copy()`."""

    __slots__ = ()

    def copy(self) -> Decorating:
        """The same block, which has not begun."""
        raise NotImplementedError

    def enter(self) -> Any:
        """Begin the block."""
        raise NotImplementedError

    def exit(self) -> None:
        """End the block."""
        raise NotImplementedError


class GradMode(Decorating):
    """`torch.no_grad()`, `enable_grad()`, `set_grad_enabled(flag)` or `inference_mode(flag)`, as a block or a decorator.

    `set_grad_enabled` acts at once when called, and restores only as a block. A block keeps one mode, that of its last beginning:
    one that is entered twice at once leaves its own mode behind, as in PyTorch.
    """

    __slots__ = ("kind", "enabled", "inference", "_saved")

    def __init__(self, kind: str, enabled: bool, inference: bool | None = None) -> None:
        self.kind = kind
        self.enabled = enabled
        self.inference = inference
        self._save()
        if kind == "set_grad_enabled":
            self._set()

    def _save(self) -> None:
        self._saved = (state.enabled, state.grad_mode, state.inference)

    def _set(self) -> None:
        if self.inference is not None:
            state.inference = self.inference
        state.grad_mode = self.enabled
        state.enabled = self.enabled and not state.inference

    def copy(self) -> GradMode:
        return GradMode("block", self.enabled, self.inference)

    def enter(self) -> None:
        if self.kind != "set_grad_enabled":
            self._save()
        self._set()

    def exit(self) -> None:
        state.enabled, state.grad_mode, state.inference = self._saved


class Multithreading(Decorating, Scripted):
    """`set_multithreading_enabled(mode)`: acts at once, restores as a block. One thread walks the graph in any case."""

    __slots__ = ("mode", "before", "__weakref__")

    SCRIPT_NAME = "set_multithreading_enabled"
    SCRIPT_TYPE: ScriptType

    def __init__(self, mode: Any) -> None:
        self.mode = check_flag("set_multithreading_enabled", mode)
        self.before, state.multithreading = state.multithreading, self.mode

    def copy(self) -> Multithreading:
        return Multithreading(self.mode)

    def enter(self) -> None:
        """Begin the block: the mode is in force since the call."""

    def exit(self) -> None:
        state.multithreading = self.before


class GradientLayout(Decorating, Scripted):
    """`enforce_grad_layout_policy(enable)`: gradients have the strides that their operations give them."""

    __slots__ = ("mode", "__weakref__")

    SCRIPT_NAME = "enforce_grad_layout_policy"
    SCRIPT_TYPE: ScriptType

    def __init__(self, enable: Any = True) -> None:
        self.mode = check_flag("set_grad_layout_enforcement_enabled", enable)

    def copy(self) -> GradientLayout:
        return GradientLayout(self.mode)

    def enter(self) -> None:
        """Begin the block."""

    def exit(self) -> None:
        """End the block."""


def check_flag(function: str, value: Any) -> bool:
    """`value`, which must be True or False. Raises the TypeError of PyTorch's `function` for anything else."""
    if type(value) is not bool:
        raise ProgramError("TypeError", f"{function}(): argument 'enabled' (position 1) must be bool, not {language.type_name(value)}")
    return value


# --- as scripts call them ---


def _no_grad(orig_func: Any = None) -> Any:
    mode = GradMode("no_grad", False)
    return mode if orig_func is None else language.decorate(mode, orig_func)


def _enable_grad(orig_func: Any = None) -> Any:
    mode = GradMode("enable_grad", True)
    return mode if orig_func is None else language.decorate(mode, orig_func)


def _inference_mode(mode: Any = True) -> Any:
    if type(mode) is bool:
        return GradMode("inference_mode", not mode, inference=mode)
    return language.decorate(GradMode("inference_mode", False, inference=True), mode)


def _set_grad_enabled(mode: Any) -> GradMode:
    return GradMode("set_grad_enabled", check_flag("set_grad_enabled", mode))


def _grad_mode(name: str, construct: Callable[..., Any]) -> ScriptType:
    return ScriptType(name, "torch.autograd.grad_mode", construct, lambda v: type(v) is GradMode and v.kind == name)


def _is_grad_enabled() -> bool:
    return state.grad_mode if state.inference else state.enabled


NO_GRAD = _grad_mode("no_grad", _no_grad)
ENABLE_GRAD = _grad_mode("enable_grad", _enable_grad)
INFERENCE_MODE = _grad_mode("inference_mode", _inference_mode)
SET_GRAD_ENABLED = _grad_mode("set_grad_enabled", _set_grad_enabled)
ENFORCE_GRAD_LAYOUT_POLICY = script_type(GradientLayout, "torch.autograd.grad_mode")
SET_MULTITHREADING_ENABLED = script_type(Multithreading, "torch.autograd.grad_mode")
IS_GRAD_ENABLED = Routine(_is_grad_enabled, "is_grad_enabled")
IS_INFERENCE_MODE_ENABLED = Routine(lambda: state.inference, "is_inference_mode_enabled")
IS_MULTITHREADING_ENABLED = Routine(lambda: state.multithreading, "is_multithreading_enabled")
IS_VIEW_REPLAY_ENABLED = Routine(lambda: False, "is_view_replay_enabled")
