"""Positions of elements: nonzero, argwhere, nonzero_static, unravel_index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.write_checks import warn_of_samples
from gradcli.core.kernels import memory_format
from gradcli.core.ops.checks import check_not_mapped
from gradcli.core.ops.rules import check_no_tangent
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error


def nonzero(input: Tensor, as_tuple: bool = False) -> Any:
    """Positions of the elements that are not 0: a matrix with a row for each, or a tuple with a vector for each dimension."""
    check_not_mapped("nonzero" if not as_tuple else "where", input)
    if as_tuple:
        array = input.array if input.array.ndim else input.array.reshape(1)
        return tuple(wrap(memory_format.laid_out(p.astype(np.int64), (1,))) for p in np.nonzero(array))
    return _argwhere(input)


def _argwhere(input: Tensor) -> Tensor:
    warn_of_samples("argwhere", input)
    found = np.argwhere(input.array).astype(np.int64, copy=False)
    return wrap(memory_format.laid_out(found, (1, len(found))))


def nonzero_static(input: Tensor, size: int, fill_value: int) -> Tensor:
    """The coordinates of the first `size` elements that are not 0; rows that are left over hold `fill_value`."""
    warn_of_samples("nonzero_static", input)
    check_no_tangent("aten::nonzero_static", input)
    if size < 0:
        raise shape_error("nonzero_static: 'size' must be an non-negative integer")
    limits.check_elements(size * max(input.array.ndim, 1), 8)
    found = np.argwhere(input.array)[:size]
    made = np.full((size, input.array.ndim), fill_value, np.int64)
    made[: len(found)] = found
    return wrap(made)


def _class(value: object) -> str:
    return "<class 'torch.Tensor'>" if type(value) is Tensor else language.type_repr(value)


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates of elements that are counted row by row in a tensor of the given shape, a tensor for each dimension."""
    if type(indices) is not Tensor:
        raise no_attribute(indices, "is_complex")
    if indices.dtype.is_floating_point or indices.dtype is dtypes.bool_:
        raise ProgramError("TypeError", f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, str, Sequence)):
        raise ProgramError("TypeError", f"expected 'shape' to be int or sequence of ints, but got {_class(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise ProgramError("TypeError", f"expected 'shape' sequence to only contain ints, but got {_class(n)}")
    if any(n < 0 for n in sizes):
        raise shape_error(f"'shape' cannot have negative values, but got {formatted(sizes)}", "ValueError")
    limits.check_elements(indices.array.size * max(len(sizes), 1), 8)
    steps = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
    places = indices.array.astype(np.int64, copy=False)
    if places.size and 0 in sizes:
        raise runtime_error("ZeroDivisionError")
    shape = (*places.shape, len(sizes))
    strides = memory_format.iterated(shape, (indices.array[..., None], np.zeros(len(sizes), np.int64)))
    made = memory_format.empty(shape, strides, np.dtype(np.int64))
    for k, (step, n) in enumerate(zip(steps, sizes, strict=True)):
        made[..., k] = places // step % n
    return tuple(wrap(made[..., k]) for k in range(len(sizes)))


_LONG = "{name}: Expected out tensor to have scalar type Long but got scalar type{out}"


def _nonzero_out(input: Tensor, as_tuple: bool) -> Out:
    if as_tuple:
        raise runtime_error("nonzero does not support the out kwarg when as_tuple is True")
    return Out(_LONG, dtype=dtypes.int64, memory="first", overlap="any")


FUNCTIONS = (
    Function(
        "nonzero",
        ("Tensor input", lambda a: nonzero(a, False)),
        ("Tensor input, *, bool as_tuple", nonzero),
        doc="Positions of the elements that are not 0.",
        samples=(Sample("tensor([0., 5., 6.]).nonzero()"),),
        function=False,
    ),
    Function(
        "nonzero",
        ("Tensor input, *, bool as_tuple=False", nonzero),
        doc="Positions of the elements that are not 0.",
        method=False,
        out=_nonzero_out,
    ),
    Function("argwhere", ("Tensor input", _argwhere), doc="Positions of the elements that are not 0, a row each."),
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
        ("Tensor input, *, symint size, int fill_value=-1", nonzero_static),
        doc="The coordinates of the first elements that are not 0.",
        samples=(Sample("torch.nonzero_static(tensor([0, 1, 2]), size=3)"),),
        out=lambda input, size, fill_value: Out(_LONG, dtype=dtypes.int64, first=size >= 0, autograd="fallback"),
    ),
)
