"""The operations that copy a tensor's values and hand the gradient on unchanged."""

from __future__ import annotations

import numpy as np

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import memory_format

_UNCHANGED = Rule(lambda grad: grad, "grad")

CLONE = Op("CloneBackward0", memory_format.copy, "input", input=_UNCHANGED, complex=True)
#: a copy in row-major order
CONTIGUOUS = Op("CloneBackward0", lambda a: memory_format.contiguous(np.array(a, order="C")), "input", input=_UNCHANGED, complex=True)
#: an accumulator copies a gradient that has a graph in this way
COPY = Op(
    "CopyBackwards",
    lambda _, a: memory_format.copy(a),
    "self src",
    full_name="torch::autograd::CopyBackwards",
    self=Rule(lambda grad: None, "0 * grad"),  # what is written over, which the new tensor has not been before
    src=_UNCHANGED,
    complex=True,
)
