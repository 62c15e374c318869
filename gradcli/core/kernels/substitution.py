"""Solutions of triangular systems by substitution, in the order of the library that PyTorch calls, zeros on the diagonal included."""

from __future__ import annotations

import numpy as np

from gradcli.core.kernels import Array

#: beyond this size unknowns are not summed one by one
_BY_ROWS = 16


def solved(a: Array, b: Array, upper: bool, unit: bool, by_rows: bool) -> Array:
    """x of a @ x = b for each matrix; only one triangle of a counts, and with `unit` its diagonal is 1.

    `by_rows` takes the sum of the known terms from each right side, otherwise each new unknown is taken from all the rest.
    """
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    n = a.shape[-1]
    one = a.dtype.type(1)
    several = b.shape[-1] > 1
    if several and by_rows and n <= _BY_ROWS:
        for k in range(n - 1, -1, -1) if upper else range(n):
            known = range(k + 1, n) if upper else range(k)
            if known:
                total = a[..., k, known[0], None] * x[..., known[0], :]
                for j in known[1:]:
                    total = total + a[..., k, j, None] * x[..., j, :]
                x[..., k, :] -= total
            if not unit:
                x[..., k, :] *= one / a[..., k, k, None]
        return x
    for k in range(n - 1, -1, -1) if upper else range(n):
        if not unit and several:
            x[..., k, :] *= one / a[..., k, k, None]
        elif not unit:
            x[..., k, :] /= a[..., k, k, None]
        rest = slice(0, k) if upper else slice(k + 1, n)
        x[..., rest, :] -= a[..., rest, k, None] * x[..., k, None, :]
    return x
