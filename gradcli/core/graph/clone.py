"""The operations that copy a tensor's values and hand the gradient on unchanged."""

from __future__ import annotations

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array


def _dense_copy(a: Array) -> Array:
    return a.copy(order="K")


CLONE = Op("CloneBackward0", _dense_copy, "input", input=Rule(lambda grad: grad, "grad"))
#: an accumulator copies a gradient that has a graph in this way
COPY = Op("CopyBackwards", _dense_copy, "input", full_name="torch::autograd::CopyBackwards", input=Rule(lambda grad: grad, "grad"))
