"""The operations that copy a tensor's values and hand the gradient on unchanged."""

from __future__ import annotations

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import memory_format

CLONE = Op("CloneBackward0", memory_format.copy, "input", input=Rule(lambda grad: grad, "grad"), complex=True)
#: an accumulator copies a gradient that has a graph in this way
COPY = Op(
    "CopyBackwards",
    memory_format.copy,
    "input",
    full_name="torch::autograd::CopyBackwards",
    input=Rule(lambda grad: grad, "grad"),
    complex=True,
)
