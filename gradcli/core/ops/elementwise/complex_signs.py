"""abs and sgn of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.graph.conjugate import CONJ
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import MUL
from gradcli.core.ops.elementwise.divide_remainder import DIV
from gradcli.core.ops.index.masked import MASKED_FILL
from gradcli.core.ops.rules import UNCHANGED

#: the real part; the gradient becomes complex where it arrives
REAL: Op = Op("SelectBackward0", np.real, "input", saved="dim=-1 index=0 self_sym_sizes", complex=True, input=UNCHANGED)


def _direction(x: Array) -> Array:
    size = np.abs(x)
    made = np.zeros_like(x)
    np.divide(x.real, size, out=made.real, where=size != 0)  # part by part, with one rounding each
    np.divide(x.imag, size, out=made.imag, where=size != 0)
    made[np.isinf(x)] = complex(np.nan, np.nan)
    return made


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
    np.abs,
    "input",
    layout="preserved",
    complex=True,
    input=Rule(lambda xp, grad, input: xp.call(MUL, grad, xp.call(DIRECTION, input)), "grad * sgn(input)", "0 at 0"),
)
