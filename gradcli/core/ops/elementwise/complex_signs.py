"""abs and sgn of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.graph.conjugate import CONJ
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, elementary
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import MUL
from gradcli.core.ops.elementwise.divide_remainder import DIV
from gradcli.core.ops.index.masked import MASKED_FILL
from gradcli.core.ops.rules import UNCHANGED

#: the real part; the gradient becomes complex where it arrives
REAL: Op = Op("SelectBackward0", np.real, "input", saved="dim=-1 index=0 self_sym_sizes", complex=True, input=UNCHANGED)


def _size(x: Array) -> Array:
    """The size of complex numbers; of complex128 the C library's function errs more often than that of vector code."""
    real, imag = x.real, x.imag
    made = np.asarray(np.hypot(real, imag))
    if real.itemsize == 8 and x.size <= elementary.LARGEST:
        exact = np.hypot(real.astype(np.longdouble), imag.astype(np.longdouble)).astype(real.dtype)
        return np.where(elementary.in_vectors(x), exact, made)
    return made


def _direction(x: Array) -> Array:
    """Both parts divided by the size. PyTorch's scalar code divides by a complex number, which multiplies by the reciprocal."""
    size, made = _size(x), np.empty_like(x)
    by = 1 / size
    vectors = elementary.in_vectors(x, 128)
    made.real = np.where(vectors, x.real / size, (x.real + x.imag * (0 / size)) * by)
    made.imag = np.where(vectors, x.imag / size, (x.imag - x.real * (0 / size)) * by)
    return np.where(size == 0, x.dtype.type(0), made)


def _direction_rule(xp: Any, grad: Any, input: Any, out: Any) -> Any:
    size = xp.call(SIZE, input)
    across = grad - xp.call(MUL, xp.call(MUL, out, out), xp.call(CONJ, grad))
    return xp.call(MASKED_FILL, xp.call(DIV, across, scalars.times(xp, size, 2.0)), xp.plain(size) == 0, 0)


#: sgn of complex numbers
DIRECTION: Op = Op(
    "SgnBackward0",
    _direction,
    "input",
    layout="iterated",
    saved="result self",
    complex=True,
    wirtinger=True,
    input=Rule(_direction_rule, "((grad - out**2 * grad.conj()) / (abs(input) * 2)).masked_fill(input == 0, 0)"),
)
#: abs of complex numbers
SIZE: Op = Op(
    "AbsBackward0",
    _size,
    "input",
    layout="preserved",
    complex=True,
    input=Rule(lambda xp, grad, input: xp.call(MUL, grad, xp.call(DIRECTION, input)), "grad * sgn(input)", "0 at 0"),
)
