"""Reading an image at the places of a grid, with weights of the elements around each place, and the derivatives of that.

Images are (batch, channels, *sizes), grids (batch, *places, dimensions); the last number of a place belongs to the first size after the
last, so that (x, y) is column and row, and -1 and 1 are the ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.kernels.scattering import add_at

#: the constant of the cubic convolution (Keys 1981)
_A = -0.75


class Settings(NamedTuple):
    """What `F.grid_sample` is told: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection; whether ends are centres."""

    mode: int
    padding: int
    align_corners: bool


class _Tap(NamedTuple):
    """An element along one dimension for each place: where it is, whether it is inside, its weight and the weight's two derivatives."""

    at: Array
    inside: Any
    weights: tuple[Any, Any, Any]


def _within(x: Array, size: int, settings: Settings, nan_last: bool = False) -> tuple[Array, Any]:
    """Coordinates moved into the image as the padding says, and the derivative of that; nan to the last element if `nan_last`."""
    slope: Any = 1
    if settings.padding == 2:
        start, span = (0, 2 * (size - 1)) if settings.align_corners else (x.dtype.type(-0.5), 2 * size)
        far = np.abs(x - start)
        rest = far - np.trunc(far / span) * span if span else np.zeros_like(far)
        slope = np.where((x < start) ^ (rest > span - rest), -1, 1) if span else 0
        x = (np.minimum(rest, span - rest) + start).astype(x.dtype)
    if settings.padding:
        bounded = np.fmin(np.maximum(x, 0) if nan_last else np.fmax(x, 0), size - 1)
        slope = slope * ((bounded != 0) & (bounded != size - 1))
        x = bounded.astype(x.dtype)
    return x, slope


def _near(x: Array) -> tuple[Any, Any, Any]:
    """The cubic weight of an element at a distance up to 1, and its derivatives."""
    return ((_A + 2) * x - (_A + 3)) * x * x + 1, (3 * (_A + 2) * x - 2 * (_A + 3)) * x, 6 * (_A + 2) * x - 2 * (_A + 3)


def _far(x: Array) -> tuple[Any, Any, Any]:
    """The same three numbers for a distance between 1 and 2."""
    return ((_A * x - 5 * _A) * x + 8 * _A) * x - 4 * _A, (3 * _A * x - 10 * _A) * x + 8 * _A, 6 * _A * x - 10 * _A


def _along(place: Array, size: int, settings: Settings, nan_last: bool) -> tuple[list[_Tap], Any]:
    """The elements that a place reads along a dimension, and the derivative of its coordinate by the number in the grid."""
    scale: Any = (size - 1) / 2 if settings.align_corners else size / 2
    x = (place + 1) * place.dtype.type(scale)
    if not settings.align_corners:
        x = x - place.dtype.type(0.5)
    if settings.mode != 2:
        x, slope = _within(x, size, settings, nan_last)
        scale = scale * slope
    if settings.mode == 1:
        scale, weighted = 0, [(np.rint(x), (1, 0, 0))]
    else:
        low = np.floor(x)
        part = x - low
        if settings.mode == 0:
            weighted = [(low, (1 - part, -1, 0)), (low + 1, (part, 1, 0))]
        else:
            mirrored = [(w, -d, dd) for w, d, dd in (_near(1 - part), _far(2 - part))]
            weighted = list(zip((low - 1, low, low + 1, low + 2), (_far(part + 1), _near(part), *mirrored), strict=True))
            weighted = [(_within(at, size, settings)[0], weights) for at, weights in weighted]
    taps = []
    for at, weights in weighted:
        inside = (at > -1) & (at < size)
        taps.append(_Tap(np.where(inside, at, 0).astype(np.int64), inside, weights))
    return taps, scale


def _placed(
    grid: Array, sizes: tuple[int, ...], settings: Settings, direction: Array | None, nan_last: bool = False
) -> tuple[list[list[_Tap]], Array, Array | None]:
    """What each dimension reads, the derivatives of the coordinates by the grid, and a direction of the grid as one of coordinates."""
    rank, shape = len(sizes), (grid.shape[0], math.prod(grid.shape[1:-1]), len(sizes))
    flat = grid.reshape(shape)
    with np.errstate(invalid="ignore"):
        made = [_along(flat[..., rank - 1 - k], size, settings, nan_last) for k, size in enumerate(sizes)]
    scales = np.stack([np.broadcast_to(np.asarray(scale, grid.dtype), shape[:2]) for _, scale in reversed(made)], -1)
    return [taps for taps, _ in made], scales, None if direction is None else direction.reshape(shape) * scales


def _corners(axes: list[list[_Tap]], sizes: tuple[int, ...]) -> Iterator[tuple[Array, Any, list[tuple[Any, Any, Any]]]]:
    """The elements around each place, as positions in the flat image, (batch, places), with their weights along each dimension."""
    for taps in product(*axes):
        position: Any = 0
        inside: Any = True
        for tap, size in zip(taps, sizes, strict=True):
            position = position * size + tap.at
            inside = inside & tap.inside
        yield position, inside, [tap.weights for tap in taps]


def _product(weights: list[tuple[Any, Any, Any]], orders: tuple[int, ...]) -> Any:
    return math.prod((weight[order] for weight, order in zip(weights, orders, strict=True)), start=np.float32(1))


def _orders(rank: int, *dimensions: int) -> tuple[int, ...]:
    """How often each of the image's dimensions is differentiated; `dimensions` are places in a row of the grid."""
    return tuple(sum(rank - 1 - d == k for d in dimensions) for k in range(rank))


def _weight(weights: list[tuple[Any, Any, Any]], direction: Array | None, like: Array) -> Array:
    """The weight of an element for each channel and place, or its derivative in a direction, (batch, places, dimensions)."""
    rank = len(weights)
    if direction is None:
        made = _product(weights, (0,) * rank)
    else:
        made = sum(direction[..., d] * _product(weights, _orders(rank, d)) for d in range(rank))
    return np.asarray(made, like.dtype)[..., None, :] if np.ndim(made) else np.asarray(made, like.dtype)


def _read(image: Array, position: Array, inside: Array) -> Array:
    """The elements at positions of the flat image, 0 outside: (batch, channels, places)."""
    flat = image.reshape(*image.shape[:2], math.prod(image.shape[2:]))
    return np.where(inside[:, None], np.take_along_axis(flat, position[:, None], 2), flat.dtype.type(0))


def sample(image: Array, grid: Array, settings: Settings, direction: Array | None = None) -> Array:
    """The image at the places of the grid, or the derivative of that in a direction of the grid."""
    made = np.zeros((*image.shape[:2], math.prod(grid.shape[1:-1])), image.dtype)
    in_turn = image.ndim == 5 and direction is None  # PyTorch's kernel for volumes takes the places one by one
    axes, _, along = _placed(grid, image.shape[2:], settings, direction, in_turn)
    for position, inside, weights in _corners(axes, image.shape[2:]):
        part = _read(image, position, inside) * _weight(weights, along, image)
        made += np.where(inside[:, None], part, 0) if in_turn else part
    return made.reshape(*image.shape[:2], *grid.shape[1:-1])


def spread(grad: Array, grid: Array, sizes: tuple[int, ...], settings: Settings, direction: Array | None = None) -> Array:
    """The transpose of `sample`: what arrives at each place, added to the elements around it."""
    made = np.zeros((*grad.shape[:2], math.prod(sizes)), grad.dtype)
    images, channels = np.ogrid[: grad.shape[0], : grad.shape[1]]
    flat = grad.reshape(*grad.shape[:2], math.prod(grad.shape[2:]))
    axes, _, along = _placed(grid, sizes, settings, direction)
    for position, inside, weights in _corners(axes, sizes):
        parts = np.where(inside[:, None], flat * _weight(weights, along, grad), grad.dtype.type(0))
        add_at(made, (images[..., None], channels[..., None], position[:, None]), parts)
    return made.reshape(*grad.shape[:2], *sizes)


def slopes(grad: Array, image: Array, grid: Array, settings: Settings, direction: Array | None = None) -> Array:
    """The gradient of the grid, or the derivative of that in a direction of the grid."""
    rank = grid.shape[-1]
    made = np.zeros((grid.shape[0], math.prod(grid.shape[1:-1]), rank), grad.dtype)
    flat = grad.reshape(*grad.shape[:2], math.prod(grad.shape[2:]))
    axes, scales, along = _placed(grid, image.shape[2:], settings, direction)
    for position, inside, weights in _corners(axes, image.shape[2:]):
        total = (_read(image, position, inside) * flat).sum(1)
        for d in range(rank):
            if along is None:
                slope = _product(weights, _orders(rank, d))
            else:
                slope = sum(along[..., e] * _product(weights, _orders(rank, d, e)) for e in range(rank))
            made[..., d] += total * slope
    return (made * scales).reshape(grid.shape)
