"""Special functions and others with an argument that has no derivative."""

from __future__ import annotations

from gradcli.core.function import Sample

_X = [0.5, 1.5, 3.0]
_Y = [0.7, 2.0, 1.2]
SAMPLES = (
    Sample("torch.special.gammainc(x, y)", x=_X, y=_Y),
    Sample("torch.special.gammaincc(x, y)", x=_X, y=_Y),
    Sample("torch.special.zeta(x + 1, y)", x=_X, y=_Y),
    Sample("torch.special.zeta(x + 1, 2.)", x=_X),
    Sample("unique_consecutive(x)", x=_X),
)
