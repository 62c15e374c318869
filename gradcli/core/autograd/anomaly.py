"""Anomaly detection: where a backward walk stops, and what it says of the place."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.tensor.node import Node, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def check_nan(node: Node, results: list[Any]) -> None:
    """`set_detect_anomaly`: stop at the first node whose rule gives a nan."""
    if not state.anomaly_nan:
        return
    for i, result in enumerate(results):
        array = result.array if type(result) is Tensor else result
        if array is not None and np.isnan(array).any():
            raise ProgramError("RuntimeError", f"Function '{node.type_name}' returned nan values in its {i}th output.")


def point_at(node: Node) -> None:
    """The warning of anomaly detection, given at the place of the forward call."""
    if bisect_right(state.anomaly_turns, node.sequence) % 2:
        told = "Traceback of forward call that caused the error:"
    else:
        told = (
            "No forward pass information available. Enable detect anomaly during forward pass for more information. (Triggered "
            "internally at /__w/pytorch/pytorch/torch/csrc/autograd/python_anomaly_mode.cpp:100.)"
        )
    warnings.emit(f"Error detected in {node.name()}. {told}")
