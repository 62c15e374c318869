"""The three Fourier transforms that all others are made of: complex to complex, real to complex and complex to real.

`normalization` is 0 for none, 1 for division by the root of the number of elements, 2 for division by that number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.elementwise.complex_signs import REAL
from gradcli.core.ops.shape.slicing import SLICE
from gradcli.core.tensor.tensor import Tensor

#: numpy's `norm` by `normalization`: of transforms forward, and of those backward
_FORWARD = ("backward", "ortho", "forward")
_BACKWARD = ("forward", "ortho", "backward")


def _kept(result: Any, a: Array) -> Array:
    """The result in the precision of the input; numpy 1 computes in double precision."""
    single = a.dtype in (np.float32, np.complex64)
    wanted = (np.complex64 if single else np.complex128) if result.dtype.kind == "c" else np.float32 if single else np.float64
    return np.asarray(result).astype(wanted, copy=False)


def _is_rough(n: int) -> bool:
    """Whether a prime factor of n is greater than its root: numpy's library then transforms by a convolution of twice the length."""
    divisor, rest = 2, n
    while divisor * divisor <= rest:
        if rest % divisor:
            divisor += 1
        else:
            rest //= divisor
    return rest * rest > n > 64


def _check_cost(elements: int, sizes: Sequence[int]) -> None:
    """Refuse transforms that take too long or too much memory of their own. Raises LimitError."""
    for n in sizes:
        rough = _is_rough(n)
        limits.check_work((160 if rough else 20) * elements * math.log2(n + 1))
        if rough:
            limits.check_room(150 * n)


def _laid_out(result: Array, a: Array, dim: tuple[int, ...], last: bool = False) -> Array:
    """The transform of `a` in the strides of PyTorch: dimensions that are transformed lie inside of the others, both in the order of
    the input's strides; with `last` the last of them is the innermost one.
    """
    strides = memory_format.element_strides(a)
    outer_first = sorted(range(a.ndim), key=lambda d: (d in dim, last and d == dim[-1], -strides[d]))
    return memory_format.laid_out(result, memory_format.dense(result.shape, outer_first[::-1]))


def _complex(a: Array, dim: tuple[int, ...], normalization: int, forward: bool) -> Array:
    if not dim:
        return memory_format.copy(a)
    _check_cost(a.size, [a.shape[d] for d in dim])
    transform: Any = np.fft.fftn if forward else np.fft.ifftn
    return _laid_out(_kept(transform(a, axes=dim, norm=(_FORWARD if forward else _BACKWARD)[normalization]), a), a, dim)


def _from_real(a: Array, dim: tuple[int, ...], normalization: int, onesided: bool) -> Array:
    _check_cost(a.size, [a.shape[d] for d in dim])
    transform: Any = np.fft.rfftn if onesided else np.fft.fftn
    return _laid_out(_kept(transform(a, axes=dim, norm=_FORWARD[normalization]), a), a, dim, True)


def _to_real(a: Array, dim: tuple[int, ...], normalization: int, last_dim_size: int) -> Array:
    sizes = [*(a.shape[d] for d in dim[:-1]), last_dim_size]
    _check_cost(2 * a.size, sizes)
    transform: Any = np.fft.irfftn
    made = _kept(transform(a, s=sizes, axes=dim, norm=_BACKWARD[normalization]), a)
    # PyTorch transforms the other dimensions first
    between = _laid_out(np.empty(a.shape, np.int8), a, dim[:-1]) if len(dim) > 1 else a
    return _laid_out(made, between, dim[-1:])


def _widened(xp: Any, grad: Any, dim: int, size: int) -> Any:
    """Half of a transform, with zeros in the place of the other half."""
    pads = [0] * (2 * (len(grad.shape) - dim))
    pads[-1] = size - grad.shape[dim]
    return xp.call(PADDED, grad, tuple(pads)) if pads[-1] else grad


def _pad(a: Array, padding: tuple[int, ...]) -> Array:
    dims = len(padding) // 2
    widths = [(0, 0)] * (a.ndim - dims) + [(padding[2 * k], padding[2 * k + 1]) for k in reversed(range(dims))]
    return np.pad(a, widths)


def _cut(a: Array, padding: tuple[int, ...]) -> Array:
    whole = a.ndim - len(padding) // 2
    kept = a[tuple(slice(0, n - (padding[2 * (a.ndim - 1 - d) + 1] if d >= whole else 0)) for d, n in enumerate(a.shape))]
    return memory_format.copy(kept)


#: zeros behind the elements; pairs of widths from the last dimension on
PADDED: Op = Op(
    "ConstantPadNdBackward0",
    _pad,
    "input",
    "padding",
    saved="pad=padding",
    complex=True,
    input=Rule(lambda xp, grad, padding: xp.call(CUT, grad, padding), "torch.constant_pad_nd(grad, [-n for n in padding])"),
)
CUT: Op = Op(
    "ConstantPadNdBackward0",
    _cut,
    "input",
    "padding",
    saved="pad=padding",
    complex=True,
    input=Rule(lambda xp, grad, padding: xp.call(PADDED, grad, padding), "torch.constant_pad_nd(grad, padding)"),
)


def _real_rule(xp: Any, grad: Any, dim: tuple[int, ...], normalization: int, onesided: bool, input_shape: tuple[int, ...]) -> Any:
    if onesided:
        grad = _widened(xp, grad, dim[-1], input_shape[dim[-1]])
    return xp.call(REAL, xp.call(C2C, grad, dim, normalization, False))


def _complex_rule(xp: Any, grad: Any, dim: tuple[int, ...], normalization: int) -> Any:
    made = xp.call(R2C, grad, dim, normalization, True)
    doubled = grad.shape[dim[-1]] - made.shape[dim[-1]]
    if type(made) is not Tensor:  # elements that are not doubled keep an imaginary part of 0 beside nan
        made.swapaxes(dim[-1], 0)[1 : 1 + doubled] *= 2
        return made
    if doubled > 0:
        part = xp.call(SLICE, made, dim[-1], 1, 1 + doubled, 1)
        catalog.method("mul_").method(part, (2,), {})
    return made


_BACK = "norm='forward' if normalization == 0 else 'ortho' if normalization == 1 else 'backward'"
_AHEAD = "norm='backward' if normalization == 0 else 'ortho' if normalization == 1 else 'forward'"

C2C: Op = Op(
    "FftC2CBackward0",
    _complex,
    "input",
    "dim normalization forward",
    complex=True,
    wirtinger=True,
    input=Rule(
        lambda xp, grad, dim, normalization, forward: xp.call(C2C, grad, dim, normalization, not forward),
        f"torch.fft.ifftn(grad, dim=dim, {_BACK}) if forward else torch.fft.fftn(grad, dim=dim, {_AHEAD})",
    ),
)
R2C: Op = Op(
    "FftR2CBackward0",
    _from_real,
    "input",
    "dim normalization onesided",
    saved="self dim normalization onesided",
    complex=True,
    wirtinger=True,
    input=Rule(_real_rule, f"torch.fft.ifftn(grad, [input.shape[d] for d in dim], dim, {_BACK}).real"),
)
C2R: Op = Op(
    "FftC2RBackward0",
    _to_real,
    "input",
    "dim normalization last_dim_size",
    saved="dim normalization",
    complex=True,
    input=Rule(
        _complex_rule,
        f"g = torch.fft.rfftn(grad, dim=dim, {_AHEAD}); k = torch.arange(g.shape[dim[-1]]); "
        "double = (k > 0) & (k <= grad.shape[dim[-1]] - g.shape[dim[-1]]); "
        "g * (1 + double.reshape([-1 if d == dim[-1] else 1 for d in range(g.dim())]))",
    ),
)
