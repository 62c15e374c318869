"""Positions of elements: nonzero, argwhere, nonzero_static, unravel_index."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions.function import Function, Sample
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError, shape_error


def nonzero(input: Tensor, as_tuple: bool = False) -> Any:
    """Positions of the elements that are not 0: a matrix with a row for each, or a tuple with a vector for each dimension."""
    if as_tuple:
        array = input.array if input.array.ndim else input.array.reshape(1)
        return tuple(wrap(np.ascontiguousarray(p, np.int64)) for p in np.nonzero(array))
    return wrap(np.argwhere(input.array).astype(np.int64, copy=False))


def nonzero_static(input: Tensor, size: int, fill_value: int) -> Tensor:
    """The coordinates of the first `size` elements that are not 0; rows that are left over hold `fill_value`."""
    if size < 0:
        raise shape_error("nonzero_static: 'size' must be an non-negative integer")
    limits.check_elements(size * max(input.array.ndim, 1), 8)
    found = np.argwhere(input.array)[:size]
    made = np.full((size, input.array.ndim), fill_value, np.int64)
    made[: len(found)] = found
    return wrap(made)


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates of elements that are counted row by row in a tensor of the given shape, a tensor for each dimension."""
    if type(indices) is not Tensor:
        raise no_attribute(indices, "is_complex")
    if indices.dtype.is_floating_point or indices.dtype is dtypes.bool_:
        raise ProgramError("TypeError", f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = (shape,) if type(shape) is int else tuple(shape)
    if any(n < 0 for n in sizes):
        raise shape_error(f"'shape' cannot have negative values, but got {sizes}", "ValueError")
    limits.check_elements(indices.array.size * max(len(sizes), 1), 8)
    steps = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
    places = indices.array.astype(np.int64, copy=False)
    return tuple(wrap(np.asarray(places // step % n)) for step, n in zip(steps, sizes, strict=True))


FUNCTIONS = (
    Function(
        "nonzero",
        ("Tensor input", lambda a: nonzero(a, False)),
        ("Tensor input, *, bool as_tuple", nonzero),
        doc="Positions of the elements that are not 0.",
        samples=(Sample("tensor([0., 5., 6.]).nonzero()"),),
        function=False,
    ),
    Function("nonzero", ("Tensor input, *, bool as_tuple=False", nonzero), doc="Positions of the elements that are not 0.", method=False),
    Function("argwhere", ("Tensor input", nonzero), doc="Positions of the elements that are not 0, a row each."),
    Function(
        "unravel_index",
        ("any indices, any shape", unravel_index),
        doc="The coordinates of elements counted row by row.",
        samples=(Sample("torch.unravel_index(tensor([3, 4]), (2, 3))"),),
        method=False,
        python="unravel_index",
    ),
    Function(
        "nonzero_static",
        ("Tensor input, *, int size, int fill_value=-1", nonzero_static),
        doc="The coordinates of the first elements that are not 0.",
        samples=(Sample("torch.nonzero_static(tensor([0, 1, 2]), size=3)"),),
    ),
)
