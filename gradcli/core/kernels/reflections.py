"""Products of Householder's reflections, step by step as LAPACK."""

from __future__ import annotations

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.kernels.summation import in_order


def product(reflectors: Array, tau: Array) -> Array:
    """The first columns of H_1 @ H_2 @ ..., where H_i = 1 - tau_i * v_i @ v_i.mH and v_i is column i below its one on the diagonal.

    The shapes are (..., m, n) and (..., k).
    """
    *_, m, n = reflectors.shape
    made = np.broadcast_to(np.eye(m, n, dtype=reflectors.dtype), reflectors.shape).copy()
    for i in reversed(range(tau.shape[-1])):
        v, t = reflectors[..., i:, i : i + 1].copy(), tau[..., i, None, None]
        v[..., 0, :] = 1
        rest = made[..., i:, i + 1 :]
        # a factor 0, and zeros at the end of a reflector, leave infinite numbers and signs of zeros alone
        used = np.logical_or.accumulate(v[..., ::-1, :] != 0, -2)[..., ::-1, :]
        inner = in_order(v.conj() * np.where(used, rest, 0), -2)[..., None, :]
        np.copyto(rest, rest + v * (-t * inner), where=(t != 0) & used)
        made[..., i, i] = 1 - tau[..., i]
        made[..., i + 1 :, i : i + 1] = -t * v[..., 1:, :]
    return made


def applied(reflectors: Array, tau: Array, other: Array, transposed: bool) -> Array:
    """Q @ other, where Q is the product of all reflections, or, if `transposed`, Q.mH @ other."""
    made = np.array(other)
    for i in range(tau.shape[-1])[:: 1 if transposed else -1]:
        v, t = reflectors[..., i:, i : i + 1].copy(), tau[..., i, None, None]
        v[..., 0, :] = 1
        rest = made[..., i:, :]
        rest -= v * ((t.conj() if transposed else t) * in_order(v.conj() * rest, -2)[..., None, :])
    return made
