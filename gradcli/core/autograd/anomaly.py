"""Anomaly detection: a backward walk stops at the first nan, and an error names the forward call that it comes from."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from gradcli.core.autograd.grad_mode import check_flag
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, ScriptType, script_type
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error


def check_nan(node: Node, results: list[Any]) -> None:
    """Raise RuntimeError where a rule of `node` has given a nan; `results` are the gradients of its inputs."""
    if not state.anomaly_nan:
        return
    for i, result in enumerate(results):
        array = result
        while type(array) is Tensor:
            values: Any = array.array
            array = values if array.batch is None else values.value
        if array is not None and np.isnan(array).any():
            raise runtime_error(f"Function '{node.type_name}' returned nan values in its {i}th output.")


def point_at(node: Node) -> None:
    """Give the warning that a backward walk failed at `node`; it is shown at the forward call, if that ran under anomaly detection."""
    # the sequence numbers in anomaly_turns switch anomaly detection on and off in turn
    if bisect_right(state.anomaly_turns, node.sequence) % 2:
        told = "Traceback of forward call that caused the error:"
    else:
        told = (
            "No forward pass information available. Enable detect anomaly during forward pass for more information. (Triggered "
            "internally at /__w/pytorch/pytorch/torch/csrc/autograd/python_anomaly_mode.cpp:100.)"
        )
    warnings.emit(f"Error detected in {node.name()}. {told}")


class AnomalyMode(Scripted):
    """`set_detect_anomaly(mode)`: acts at once, and restores as a block."""

    __slots__ = ("before", "__weakref__")

    SCRIPT_NAME = "set_detect_anomaly"
    SCRIPT_TYPE: ScriptType

    def __init__(self, mode: Any, check_nan: Any = True) -> None:
        self.before = (state.anomaly, state.anomaly_nan)
        _set_anomaly_enabled(mode, check_nan)

    def enter(self) -> None:
        """Begin the block: the mode is in force since the call."""

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
        """Begin the block."""
        state.set_anomaly(True, self.check_nan)


def _set_anomaly_enabled(mode: Any, check_nan: Any = True) -> None:
    state.set_anomaly(check_flag("set_anomaly_enabled", mode), bool(check_nan))


_MODULE = "torch.autograd.anomaly_mode"
SET_DETECT_ANOMALY = script_type(AnomalyMode, _MODULE, exact=True)
DETECT_ANOMALY = script_type(DetectAnomaly, _MODULE)
SET_ANOMALY_ENABLED = Routine(_set_anomaly_enabled, "set_anomaly_enabled")
IS_ANOMALY_ENABLED = Routine(lambda: state.anomaly, "is_anomaly_enabled")
IS_ANOMALY_CHECK_NAN_ENABLED = Routine(lambda: state.anomaly_nan, "is_anomaly_check_nan_enabled")
