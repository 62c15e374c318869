"""Other ways for gradcheck to come to what it compares: forward mode, and one random direction instead of every element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradcli.core.autograd import backward
from gradcli.core.random.generator import Generator
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.core.transforms import forward_ad

Outputs = Callable[[Sequence[Any]], Sequence[Tensor]]


def _tracked(inputs: Sequence[Any]) -> list[int]:
    return [i for i, value in enumerate(inputs) if type(value) is Tensor and value.requires_grad]


def _pushed(outputs_of: Outputs, inputs: Sequence[Any], tangents: dict[int, Array]) -> list[Array]:
    """J t for every floating output, flat; each input that requires grad moves as `tangents` says, or stands still."""
    forward_ad.enter_dual_level()
    try:
        duals = list(inputs)
        for i in _tracked(inputs):
            plain = Tensor(inputs[i].array, inputs[i].dtype)
            tangent = tangents.get(i)
            moved = np.zeros(plain.array.shape, plain.dtype.np) if tangent is None else tangent
            duals[i] = forward_ad.make_dual(plain, Tensor(moved, plain.dtype))
        found = []
        for output in outputs_of(duals):
            if output.dtype.is_floating_point:
                pushed = forward_ad.unpack_dual(output)[1]
                found.append(np.zeros(output.array.size, output.dtype.np) if pushed is None else np.array(pushed.array).reshape(-1))
        return found
    finally:
        forward_ad.exit_dual_level()


def forward_jacobians(outputs_of: Outputs, inputs: Sequence[Any]) -> list[list[Array]]:
    """For each input that requires grad, and each floating output, the transposed Jacobian: one call for each element."""
    result = []
    for i in _tracked(inputs):
        rows = [_pushed(outputs_of, inputs, {i: unit}) for unit in _units(inputs[i])]
        result.append([np.stack(column) for column in zip(*rows, strict=True)])
    return result


def _units(tensor: Tensor) -> Iterator[Array]:
    for j in range(tensor.array.size):
        unit = np.zeros(tensor.array.shape, tensor.dtype.np)
        unit.reshape(-1)[j] = 1
        yield unit


class Directions:
    """Random directions of length 1: `u` for each input that requires grad, `v` for each output (none in forward mode)."""

    __slots__ = ("u", "v")

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Tensor], forward: bool) -> None:
        source = Generator()  # not the default one, whose numbers are the program's
        self.u = [_direction(inputs[i], source) for i in _tracked(inputs)]
        self.v = [] if forward else [_direction(output, source) for output in outputs]

    def tolerance(self, atol: float, i: int, j: int) -> float:
        """The absolute tolerance for v^T J u, when it is `atol` for an element of J."""
        return atol * float(self.u[i].sum()) * (float(self.v[j].sum()) if self.v else 1.0)


def _direction(tensor: Tensor, source: Generator) -> Array:
    drawn = source.uniform((tensor.array.size,), np.dtype(np.float32)).astype(tensor.dtype.np)
    length: Array = np.sqrt((drawn * drawn).sum())
    return np.asarray(drawn / length)


def numeric_products(outputs_of: Outputs, inputs: Sequence[Any], directions: Directions, eps: float) -> list[list[Array]]:
    """For each input and floating output J u, or v^T J u, by a central difference along u."""
    result = []
    for i, u in zip(_tracked(inputs), directions.u, strict=True):
        array = inputs[i].array
        before = array.copy()
        step = (u * eps).reshape(array.shape)
        try:
            array[...] = before - step
            low = [np.array(t.array) for t in outputs_of(inputs)]
            array[...] = before + step
            high = [np.array(t.array) for t in outputs_of(inputs)]
        finally:
            array[...] = before
        moved = [((b - a) / (2 * eps)).reshape(-1) for a, b in zip(low, high, strict=True) if np.issubdtype(a.dtype, np.floating)]
        result.append([np.asarray((v * m).sum()) for v, m in zip(directions.v, moved, strict=False)] if directions.v else moved)
    return result


def backward_products(inputs: Sequence[Any], outputs: Sequence[Tensor], directions: Directions) -> list[list[Array]]:
    """For each input and output v^T J u, by a backward pass with v."""
    sources = [inputs[i] for i in _tracked(inputs)]
    result: list[list[Array]] = [[] for _ in sources]
    for output, v in zip(outputs, directions.v, strict=True):
        weights = Tensor(v.reshape(output.array.shape), output.dtype)
        found = backward.grad((output,), sources, (weights,), retain_graph=True, allow_unused=True)
        for row, gradient, u in zip(result, found, directions.u, strict=True):
            row.append(np.asarray(0.0 if gradient is None else (gradient.array.reshape(-1) * u).sum()))
    return result


def forward_products(outputs_of: Outputs, inputs: Sequence[Any], directions: Directions) -> list[list[Array]]:
    """For each input and floating output J u, in forward mode."""
    places = _tracked(inputs)
    return [_pushed(outputs_of, inputs, {i: u.reshape(inputs[i].array.shape).copy()}) for i, u in zip(places, directions.u, strict=True)]
