"""The conjugate of complex tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format
from gradcli.core.tensor.tensor import Tensor


def _conjugate(a: Array) -> Array:
    made = memory_format.copy_of_view(np.asarray(a))
    made[...] = np.conjugate(a)
    return made


CONJ: Op = Op(
    "ConjBackward0",
    _conjugate,
    "input",
    complex=True,
    wirtinger=True,
    input=Rule(lambda xp, grad: xp.call(CONJ, grad), "grad.conj()"),
)


def conjugated(xp: Any, x: Any) -> Any:
    """The conjugate in a rule; real values as they are."""
    return xp.call(CONJ, x) if xp.plain(x).dtype.kind == "c" else x


def adjoint(xp: Any, x: Any) -> Any:
    """The conjugates of transposed matrices in a rule."""
    return conjugated(xp, xp.mT(x))


def conj(input: Tensor) -> Tensor:
    """The conjugate. PyTorch's is a view that is conjugated when it is read: `is_conj` says so; here it is a copy."""
    if not input.dtype.is_complex:
        return input
    made: Tensor = CONJ(input)
    if not input.property_of("conj"):
        made.set_property("conj", True)
    return made
