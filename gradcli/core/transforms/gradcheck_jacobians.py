"""What gradcheck compares: Jacobians by differences, by backward passes and in forward mode, whole or in random directions.

A whole Jacobian is transposed: its shape is (elements of the input, elements of the output).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.kernels import Array
from gradcli.core.random.generator import Generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, zeros_like
from gradcli.core.transforms import differences, forward_ad
from gradcli.core.transforms.jacobians import jacobian, one_hot, vjp

#: the function that is checked, as tensors from inputs
Outputs = Callable[[Sequence[Any]], Sequence[Tensor]]


def tracked(values: Sequence[Any]) -> list[Tensor]:
    """The tensors that require grad."""
    return [values[i] for i in tracked_positions(values)]


def tracked_positions(values: Sequence[Any]) -> list[int]:
    """The positions of the tensors that require grad."""
    return [i for i, value in enumerate(values) if type(value) is Tensor and value.requires_grad]


def _values(outputs: Sequence[Tensor]) -> list[Array]:
    """Copies of what the outputs hold. Raises PyTorch's error for bools, which cannot be subtracted from each other."""
    for output in outputs:
        if output.dtype is dtypes.bool_:
            catalog.function("sub")(output, output)
    return [np.array(output.array) for output in outputs]


# --- whole Jacobians ---


def numeric_jacobians(outputs_of: Outputs, inputs: Sequence[Any], results: Sequence[Tensor], eps: float) -> list[list[Array]]:
    """For each of the outputs `results`, and each input that requires grad, the Jacobian by central differences."""

    def evaluate() -> list[Array]:
        return _values(outputs_of(inputs))

    sources = tracked(inputs)
    for source in sources:
        limits.check_elements(source.array.size * sum(r.array.size for r in results), source.array.itemsize)
    columns = [differences.jacobians(source.array, evaluate, eps) for source in sources]
    if any(not column for column in columns):  # an input without elements was never moved
        columns = [column or [np.zeros((0, r.array.size), r.dtype.np) for r in results] for column in columns]
    return [list(row) for row in zip(*columns, strict=True)]


def backward_jacobians(output: Tensor, sources: Sequence[Tensor]) -> list[Array]:
    """For each of `sources` the Jacobian of one output, by backward passes."""
    size = output.array.size
    if not size:
        return [np.zeros((source.array.size, 0), source.dtype.np) for source in sources]
    blocks = zip(jacobian(output, sources), sources, strict=True)
    return [block.array.reshape(size, source.array.size).T for block, source in blocks]


def forward_jacobians(outputs_of: Outputs, inputs: Sequence[Any]) -> list[list[Array]]:
    """For each input that requires grad, and each floating output, the Jacobian in forward mode: one call for each element."""
    result = []
    for i in tracked_positions(inputs):
        rows = [_pushed(outputs_of, inputs, i, unit) for unit in one_hot(inputs[i])]
        if rows:
            result.append([np.stack(column) for column in zip(*rows, strict=True)])
        else:  # no element moves
            outputs = [output.array for output in outputs_of(inputs) if output.dtype.is_differentiable]
            result.append([np.empty((0, array.size), array.dtype) for array in outputs])
    return result


def _pushed(outputs_of: Outputs, inputs: Sequence[Any], moving: int, tangent: Tensor) -> list[Array]:
    """J t for each floating output, flat, in forward mode: the input `moving` moves along `tangent`, the others stand still."""
    forward_ad.enter_dual_level()
    try:
        duals = list(inputs)
        for i in tracked_positions(inputs):
            plain = Tensor(inputs[i].array, inputs[i].dtype)
            duals[i] = forward_ad.make_dual(plain, tangent if i == moving else zeros_like(plain))
        found = []
        for output in outputs_of(duals):
            if output.dtype.is_differentiable:
                pushed = forward_ad.unpack_dual(output)[1]
                found.append(np.zeros(output.array.size, output.dtype.np) if pushed is None else np.array(pushed.array).reshape(-1))
        return found
    finally:
        forward_ad.exit_dual_level()


# --- in random directions ---


class Directions:
    """Random directions of length 1: `u` for each input that requires grad, `v` for each output (none in forward mode)."""

    __slots__ = ("u", "v")

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Tensor], forward: bool) -> None:
        source = Generator()  # the numbers of the default generator belong to the program
        self.u = [_direction(value, source) for value in tracked(inputs)]
        self.v = [] if forward else [_direction(output, source) for output in outputs]

    def tolerance(self, atol: float, i: int, j: int) -> float:
        """The absolute tolerance for v^T J u, when it is `atol` for an element of J."""
        return atol * float(self.u[i].array.sum()) * (float(self.v[j].array.sum()) if self.v else 1.0)


def _direction(tensor: Tensor, source: Generator) -> Tensor:
    drawn = source.uniform((tensor.array.size,)).astype(tensor.dtype.np)
    length: Array = np.sqrt((drawn * drawn).sum())
    return Tensor(np.asarray(drawn / length).reshape(tensor.array.shape), tensor.dtype)


def numeric_products(outputs_of: Outputs, inputs: Sequence[Any], directions: Directions, eps: float) -> list[list[Array]]:
    """For each input and floating output J u, or v^T J u, by a central difference along u."""

    def evaluate() -> list[Array]:
        return [array for array in _values(outputs_of(inputs)) if array.dtype.kind == "f"]

    result = []
    for source, u in zip(tracked(inputs), directions.u, strict=True):
        slopes = [slope.reshape(-1) for slope in differences.central(differences.along(source.array, ..., evaluate, u.array), eps)]
        if directions.v:
            slopes = [np.asarray((v.array.reshape(-1) * slope).sum()) for v, slope in zip(directions.v, slopes, strict=False)]
        result.append(slopes)
    return result


def backward_products(inputs: Sequence[Any], outputs: Sequence[Tensor], directions: Directions) -> list[list[Array]]:
    """For each input and output v^T J u, by a backward pass with v."""
    sources = tracked(inputs)
    result: list[list[Array]] = [[] for _ in sources]
    for output, v in zip(outputs, directions.v, strict=True):
        found = vjp((output,), sources, (v,), retain_graph=True)
        for row, gradient, u in zip(result, found, directions.u, strict=True):
            row.append(np.asarray(0.0 if gradient is None else (gradient.array.reshape(-1) * u.array.reshape(-1)).sum()))
    return result


def forward_products(outputs_of: Outputs, inputs: Sequence[Any], directions: Directions) -> list[list[Array]]:
    """For each input and floating output J u, in forward mode."""
    pairs = zip(tracked_positions(inputs), directions.u, strict=True)
    return [_pushed(outputs_of, inputs, i, Tensor(u.array.copy(), u.dtype)) for i, u in pairs]
