"""Tensors repeated to a larger shape without a copy: expand, broadcast_to, broadcast_tensors, broadcast_shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.calling.sizes import size_of
from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import check_not_negative, check_rank, check_size, common_shape, is_sample
from gradcli.core.ops.list_function import ListFunction
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error


def _expand_array(a: Array, size: Any) -> Array:
    check_rank(len(size))
    # as writeable as the input: a write into repeated elements is refused when it happens
    return memory_format.expanded(a, size, a.flags.writeable)


EXPAND: Op = Op(
    "ExpandBackward0",
    _expand_array,
    "input",
    "size",
    saved="self_sym_sizes",
    view=True,
    input=Rule(
        # the gradient of a 0-d input is a sum in PyTorch even where it is one number
        lambda xp, grad, input_shape: xp.sum_to(grad, input_shape) if grad.shape else xp.sum(grad),
        "grad if grad.shape == input.shape else grad.sum_to_size(input.shape)",
    ),
)


def expanded_shape(input: Tensor, size: Sequence[int]) -> tuple[int, ...]:
    """The shape that `expand(size)` gives, in which -1 keeps a size. Raises RuntimeError if the tensor does not expand to it."""
    have = input.array.shape
    lead = len(size) - len(have)
    if lead < 0:
        raise shape_error(
            f"expand({input.dtype.tensor_name}{{{list(have)}}}, size={list(size)}): the number of sizes provided ({len(size)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({len(have)})",
        )
    shape = list(size)
    for i in range(len(size) - 1, -1, -1):
        n = size[i]
        if i < lead:
            if n == -1 and is_sample(input):
                shape[i] = 1  # a new dimension, which stands between that of the batch and those of the sample
            elif n == -1 and have:
                raise shape_error(f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {i}")
            continue
        old = have[i - lead]
        if n == -1:
            shape[i] = old
        elif n != old and old != 1:
            raise shape_error(
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at non-singleton dimension {i}.  "
                f"Target sizes: {list(size)}.  Tensor sizes: {list(have)}",
            )
    check_not_negative(shape)
    return tuple(shape)


def expand(input: Tensor, size: Sequence[int], implicit: bool = False) -> Tensor:
    """A view that repeats the elements along dimensions of size 1 and along new leading dimensions."""
    shape = expanded_shape(input, size)
    check_size(shape, input.dtype.itemsize)
    return EXPAND(input, shape)  # type: ignore[no-any-return]


def broadcast_tensors(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of all tensors, expanded to their common shape."""
    shape = common_shape([t.array.shape for t in tensors])
    return tuple([t if t.array.shape == shape else expand(t, shape) for t in tensors])


def broadcast_shapes(shapes: Sequence[Any]) -> Size:
    """The shape that all shapes broadcast to; each is a number, a sequence or None. Raises RuntimeError where there is none."""
    tuples = [(s,) if isinstance(s, int) else s for s in shapes if s is not None]
    for shape in tuples:
        if not isinstance(shape, (tuple, list, str, range)):
            raise runtime_error(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {formatted(shape)}")
    rank = max((len(t) for t in tuples), default=0)
    result = [1] * rank
    for index, shape in enumerate(tuples):
        for back in range(-1, -1 - len(shape), -1):
            n = shape[back]
            if n == result[back]:
                continue
            if result[back] == 1 and not isinstance(n, (int, float)):
                raise type_error("'<' not supported between instances of '{}' and 'int'", n)
            if result[back] == 1 and n < 0:
                raise ProgramError("ValueError", "Attempting to broadcast a dimension with negative length!")
            if n != 1 and result[back] != 1:
                raise shape_error(
                    f"Attempting to broadcast a dimension of length {n} at {back}! Mismatching argument at index {index} had "
                    f"{shape}; but expected shape should be broadcastable to {result}",
                )
            result[back] = n if result[back] == 1 else result[back]
    return size_of(result)


class _Shapes(Function):
    """The class of broadcast_shapes, which takes any number of shapes."""

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if "shapes" in kwargs:
            raise ProgramError("TypeError", "broadcast_shapes() got an unexpected keyword argument 'shapes'")
        return self.parser.call((list(args),), kwargs)


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_O: Any = [[[1.0], [2.0], [3.0]]]
_W: Any = [4.0, 5.0]


FUNCTIONS = (
    Function(
        "expand",
        ("Tensor input, ints size, *, bool implicit=False", expand),
        doc="Repeated along dimensions of size 1, without a copy.",
        ops=(EXPAND,),
        samples=(Sample("x.expand(2, 3, 4)", lambda x: np.broadcast_to(x, (2, 3, 4)), x=_O), Sample("x.expand(2, -1, -1)", None, x=_O)),
        function=False,
    ),
    Function(
        "expand_as",
        ("Tensor input, Tensor other", lambda a, b: expand(a, b.array.shape)),
        doc="Expanded to the shape of other.",
        function=False,
    ),
    Function(
        "broadcast_to",
        ("Tensor input, ints size", expand),
        doc="Repeated to a larger shape, without a copy.",
        samples=(Sample("broadcast_to(x, (2, 2, 3))", lambda x: np.broadcast_to(x, (2, 2, 3)), x=_M),),
    ),
    ListFunction(
        "broadcast_tensors",
        ("Tensors tensors", broadcast_tensors),
        doc="All expanded to their common shape.",
        takes_list=False,
        samples=(Sample("broadcast_tensors(x, y)[0]", None, x=[[1.0], [2.0]], y=_W),),
        method=False,
    ),
    _Shapes("broadcast_shapes", ("any shapes", broadcast_shapes), doc="The common shape of shapes.", method=False),
)
