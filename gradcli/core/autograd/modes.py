"""Modes and switches of autograd as scripts know them: grad modes, anomaly detection, and what has no effect here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.calling import warnings
from gradcli.core.calling.script_types import Routine, ScriptType, script_type
from gradcli.core.calling.signature import hooks
from gradcli.core.graph import grad_mode
from gradcli.core.graph.grad_mode import Decorating, GradMode
from gradcli.core.tensor.node import state
from gradcli.errors import ProgramError


def _grad_mode(name: str, construct: Callable[..., GradMode]) -> ScriptType:
    module = "torch.autograd.grad_mode"
    return ScriptType(name, module, construct, lambda v: type(v) is GradMode and v.kind == name)


NO_GRAD = _grad_mode("no_grad", grad_mode.no_grad)
ENABLE_GRAD = _grad_mode("enable_grad", grad_mode.enable_grad)
INFERENCE_MODE = _grad_mode("inference_mode", grad_mode.inference_mode)


def _set_grad_enabled(mode: Any) -> GradMode:
    return GradMode("set_grad_enabled", _flag("set_grad_enabled", mode))


SET_GRAD_ENABLED = _grad_mode("set_grad_enabled", _set_grad_enabled)


def _flag(function: str, value: Any) -> bool:
    """A switch as PyTorch's C++ takes it: True or False and nothing like it."""
    if type(value) is not bool:
        raise ProgramError("TypeError", f"{function}(): argument 'enabled' (position 1) must be bool, not {hooks.type_name(value)}")
    return value


class AnomalyMode:
    """`set_detect_anomaly(mode)`: acts at once, and restores as a block."""

    __slots__ = ("before", "__weakref__")

    SCRIPT_NAME = "set_detect_anomaly"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {}
    SCRIPT_SETTERS: dict[str, Callable[[Any, Any], None]] = {}
    SCRIPT_METHODS: dict[str, Routine] = {}

    def __init__(self, mode: Any, check_nan: Any = True) -> None:
        self.before = (state.anomaly, state.anomaly_nan)
        state.set_anomaly(_flag("set_anomaly_enabled", mode), bool(check_nan))

    def enter(self) -> None:
        """Begin the block."""

    def exit(self) -> None:
        """End the block."""
        state.set_anomaly(*self.before)


class DetectAnomaly(AnomalyMode):
    """`detect_anomaly()`: acts as a block only."""

    __slots__ = ("check_nan",)

    SCRIPT_NAME = "detect_anomaly"

    def __init__(self, check_nan: Any = True) -> None:
        warnings.emit("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.")
        self.before = (state.anomaly, state.anomaly_nan)
        self.check_nan = bool(check_nan)

    def enter(self) -> None:
        state.set_anomaly(True, self.check_nan)


class Multithreading(Decorating):
    """`set_multithreading_enabled(mode)`: acts at once, restores as a block. One thread walks here in any case."""

    __slots__ = ("mode", "before", "__weakref__")

    SCRIPT_NAME = "set_multithreading_enabled"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {}
    SCRIPT_SETTERS: dict[str, Callable[[Any, Any], None]] = {}
    SCRIPT_METHODS: dict[str, Routine] = {}

    def __init__(self, mode: Any) -> None:
        self.mode = _flag("set_multithreading_enabled", mode)
        self.before, state.multithreading = state.multithreading, self.mode

    def copy(self) -> Multithreading:
        return Multithreading(self.mode)

    def enter(self) -> None:
        """Begin the block."""

    def exit(self) -> None:
        state.multithreading = self.before


def _set_anomaly_enabled(mode: Any, check_nan: Any = True) -> None:
    state.set_anomaly(_flag("set_anomaly_enabled", mode), bool(check_nan))


def _is_multithreading_enabled() -> bool:
    return state.multithreading


def _is_view_replay_enabled() -> bool:
    return False


def _is_anomaly_enabled() -> bool:
    return state.anomaly


def _is_anomaly_check_nan_enabled() -> bool:
    return state.anomaly_nan


def _is_grad_enabled() -> bool:
    return state.grad_mode if state.inference else state.enabled


def _is_inference_mode_enabled() -> bool:
    return state.inference


_ANOMALY = "torch.autograd.anomaly_mode"
SET_DETECT_ANOMALY = script_type(AnomalyMode, _ANOMALY, exact=True)
DETECT_ANOMALY = script_type(DetectAnomaly, _ANOMALY)
SET_MULTITHREADING_ENABLED = script_type(Multithreading, "torch.autograd.grad_mode")
SET_ANOMALY_ENABLED = Routine(_set_anomaly_enabled, "set_anomaly_enabled")
IS_MULTITHREADING_ENABLED = Routine(_is_multithreading_enabled, "is_multithreading_enabled")
IS_VIEW_REPLAY_ENABLED = Routine(_is_view_replay_enabled, "is_view_replay_enabled")
IS_ANOMALY_ENABLED = Routine(_is_anomaly_enabled, "is_anomaly_enabled")
IS_ANOMALY_CHECK_NAN_ENABLED = Routine(_is_anomaly_check_nan_enabled, "is_anomaly_check_nan_enabled")
IS_GRAD_ENABLED = Routine(_is_grad_enabled, "is_grad_enabled")
IS_INFERENCE_MODE_ENABLED = Routine(_is_inference_mode_enabled, "is_inference_mode_enabled")
