"""The conjugate of complex tensors: a view, and for rules a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.graph.recast import Recast
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, conjugates, memory_format
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error


def _conjugate(a: Array) -> Array:
    made = memory_format.copy_of_view(np.asarray(a))
    made[...] = np.conjugate(a)
    return made


CONJ: Op = Op(
    "ConjBackward0", _conjugate, "input", complex=True, wirtinger=True, input=Rule(lambda xp, grad: xp.call(CONJ, grad), "grad.conj()")
)


def conjugated(xp: Any, x: Any) -> Any:
    """The conjugate in a rule; real values as they are."""
    return xp.call(CONJ, x) if xp.plain(x).dtype.kind == "c" else x


def adjoint(xp: Any, x: Any) -> Any:
    """The conjugates of transposed matrices in a rule."""
    return conjugated(xp, xp.mT(x))


def in_memory_of_conjugates(a: Array) -> Array:
    """The conjugates of complex numbers, or of their parts, which follow them. RuntimeError for memory read as two complex dtypes."""
    try:
        return conjugates.conjugated(a)
    except TypeError as error:
        raise runtime_error(str(error)) from None


CONJ_VIEW = Recast("ConjBackward0", in_memory_of_conjugates, "input", view=True, wirtinger=True, input=CONJ.rules["input"])


def conj_copy(input: Tensor) -> Tensor:
    """The conjugate in memory of its own; a real tensor itself."""
    return CONJ(input) if input.dtype.is_complex else input


def conj(input: Tensor) -> Tensor:
    """The conjugate as a view; a real tensor itself."""
    if not input.dtype.is_complex:
        return input
    made: Tensor = CONJ_VIEW(input)
    made.set_property("conj", not input.property_of("conj"))
    return made
