"""The records of borders that repeat the input, and of interpolation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import resampling
from gradcli.core.kernels.resampling import Taps
from gradcli.core.ops.layers.unit_formulas import transpose_of
from gradcli.core.tensor.tensor import Array

Sizes = tuple[int, ...]


class Pair(NamedTuple):
    """A step, and that of its gradient."""

    forward: Op
    backward: Op


# --- borders ---


def _borders(one: Callable[[int, int, int], Taps], sizes: Sequence[int], padding: Sizes) -> list[Taps]:
    """The maps of the last dimensions; `padding` has the last dimension first."""
    pairs = [(padding[i], padding[i + 1]) for i in range(0, len(padding), 2)]
    return [one(size, *pair) for size, pair in zip(sizes, reversed(pairs), strict=True)]


def _border(name: str, mode: str, one: Callable[[int, int, int], Taps], rank: int) -> Pair:
    call = f"F.pad({{}}, padding, '{mode}')"

    def forward(x: Array, padding: Sizes) -> Array:
        return np.ascontiguousarray(resampling.apply(x, _borders(one, x.shape[x.ndim - rank :], padding)))

    def backward(grad: Array, x: Array, padding: Sizes) -> Array:
        sizes = x.shape[x.ndim - rank :]
        return np.ascontiguousarray(resampling.transposed(grad, _borders(one, sizes, padding), sizes))

    gradient = Op(
        f"{name}Pad{rank}DBackwardBackward0",
        backward,
        "grad_output input",
        "padding",
        grad_output=Rule(lambda xp, grad, padding: xp.call(op, grad, padding), call.format("grad")),
        input=Rule(lambda xp, grad: xp.zeros_like(grad), "zeros_like(grad)"),
    )
    op = Op(
        f"{name}Pad{rank}DBackward0",
        forward,
        "input",
        "padding",
        input=Rule(
            lambda xp, grad, input, padding: xp.call(gradient, grad, input, padding),
            transpose_of(call, "input", rank),
        ),
    )
    return Pair(op, gradient)


REFLECT = {rank: _border("Reflection", "reflect", resampling.reflected, rank) for rank in (1, 2, 3)}
REPLICATE = {rank: _border("Replication", "replicate", resampling.repeated, rank) for rank in (1, 2, 3)}


# --- interpolation ---

#: a map of one dimension by mode: sizes of input and result, scale, align_corners, the type that is computed in
_MAPS: dict[str, Callable[[int, int, float | None, bool, Any], Taps]] = {
    "nearest": lambda size, count, scale, align_corners, kind: resampling.nearest(size, count, scale, False),
    "nearest-exact": lambda size, count, scale, align_corners, kind: resampling.nearest(size, count, scale, True),
    "linear": resampling.linear,
    "bicubic": resampling.cubic,
}


def _interpolation(name: str, mode: str, rank: int) -> Pair:
    one = _MAPS["linear" if mode.endswith("linear") else mode]
    call = f"F.interpolate({{}}, None if scales else output_size, scales, '{mode}', align_corners)"

    def maps(
        sizes: Sequence[int], output_size: Sizes, scales: tuple[float, ...] | None, align_corners: bool | None, dtype: Any
    ) -> list[Taps]:
        kind = np.float64 if dtype == np.float64 else np.float32
        each = scales or (None,) * rank
        return [one(n, m, scale, bool(align_corners), kind) for n, m, scale in zip(sizes, output_size, each, strict=True)]

    def forward(x: Array, output_size: Sizes, scales: tuple[float, ...] | None, align_corners: bool | None) -> Array:
        made = resampling.apply(x, maps(x.shape[2:], output_size, scales, align_corners, x.dtype))
        return np.ascontiguousarray(made.astype(x.dtype, copy=False))

    def backward(grad: Array, input_size: Sizes, output_size: Sizes, scales: tuple[float, ...] | None, align_corners: bool | None) -> Array:
        made = resampling.transposed(grad, maps(input_size[2:], output_size, scales, align_corners, grad.dtype), input_size[2:])
        return np.ascontiguousarray(made.astype(grad.dtype, copy=False))

    def to_input(xp: Any, grad: Any, input_shape: Any, output_size: Any, scales: Any, align_corners: Any) -> Any:
        return xp.call(gradient, grad, tuple(input_shape), output_size, scales, align_corners)

    gradient = Op(
        f"{name}BackwardBackward0",
        backward,
        "grad_output",
        "input_size output_size scales align_corners",
        grad_output=Rule(
            lambda xp, grad, output_size, scales, align_corners: xp.call(op, grad, output_size, scales, align_corners),
            call.format("grad"),
        ),
    )
    op = Op(
        f"{name}Backward0",
        forward,
        "input",
        "output_size scales align_corners",
        input=Rule(to_input, transpose_of(call, "input", rank)),
    )
    return Pair(op, gradient)


#: by mode and number of dimensions
INTERPOLATION: dict[tuple[str, int], Pair] = {
    (mode, rank): _interpolation(f"Upsample{name}{rank}D", mode, rank)
    for mode, name, ranks in (
        ("nearest", "Nearest", (1, 2, 3)),
        ("nearest-exact", "NearestExact", (1, 2, 3)),
        ("linear", "Linear", (1,)),
        ("bilinear", "Bilinear", (2,)),
        ("trilinear", "Trilinear", (3,)),
        ("bicubic", "Bicubic", (2,)),
    )
    for rank in ranks
}
