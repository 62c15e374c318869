"""Several tensors brought to a common shape: broadcast_tensors, atleast_nd, meshgrid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import hooks
from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.graph.record import broadcast_error
from gradcli.core.ops.shape.slicing import STACK
from gradcli.core.ops.shape.view_records import VIEW
from gradcli.core.ops.shape.views import expand, flatten, reshape, unsqueeze
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import ProgramError


def common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all broadcast to; PyTorch's error where there is none."""
    shape: tuple[int, ...] = ()
    for other in shapes:
        try:
            shape = np.broadcast_shapes(shape, other)
        except ValueError:
            raise broadcast_error(shape, other) from None
    return shape


def broadcast_tensors(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """All expanded to their common shape."""
    shape = common_shape([t.array.shape for t in tensors])
    return tuple(t if t.array.shape == shape else expand(t, shape) for t in tensors)


def broadcast_shapes(shapes: Sequence[Any]) -> Size:
    """The common shape of shapes."""
    tuples = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    rank = max((len(t) for t in tuples), default=0)
    result = [1] * rank
    for index, shape in enumerate(tuples):
        for back in range(-1, -1 - len(shape), -1):
            n = shape[back]
            if n < 0:
                raise ProgramError("RuntimeError", f"Trying to create tensor with negative dimension ({n}): ({n})")
            if n == 1 or n == result[back]:
                continue
            if result[back] != 1:
                raise ProgramError(
                    "RuntimeError",
                    f"Attempting to broadcast a dimension of length {n} at {back}! Mismatching argument at index {index} had "
                    f"{shape}; but expected shape should be broadcastable to {result}",
                )
            result[back] = n
    return Size(result)


def atleast_1d(input: Tensor) -> Tensor:
    """With at least one dimension."""
    return reshape(input, (1,)) if input.array.ndim == 0 else input


def atleast_2d(input: Tensor) -> Tensor:
    """With at least two dimensions; vectors become rows."""
    rank = input.array.ndim
    if rank == 0:
        return reshape(input, (1, 1))
    return unsqueeze(input, 0) if rank == 1 else input


def atleast_3d(input: Tensor) -> Tensor:
    """With at least three dimensions; new ones around."""
    rank = input.array.ndim
    if rank == 0:
        return reshape(input, (1, 1, 1))
    if rank == 1:
        return unsqueeze(unsqueeze(input, 0), -1)
    return unsqueeze(input, -1) if rank == 2 else input


def meshgrid(tensors: Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Each vector expanded to the grid of all."""
    if indexing is None:
        from gradcli.core.calling import warnings

        warnings.emit(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument. (Triggered internally at "
            "/__w/pytorch/pytorch/aten/src/ATen/native/TensorShape.cpp:4215.)",
            once="meshgrid",
        )
        indexing = "ij"
    if not tensors:
        raise ProgramError("RuntimeError", "meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.array.ndim > 1:
            raise ProgramError("RuntimeError", f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t.array.ndim}D")
        if t.dtype is not tensors[0].dtype:
            raise ProgramError("RuntimeError", "torch.meshgrid expects all tensors to have the same dtype")
    if indexing not in ("ij", "xy"):
        raise ProgramError("RuntimeError", f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    # the grid's dimensions: with "xy" the second vector's comes first
    place = [1, 0, *range(2, len(tensors))] if indexing == "xy" and len(tensors) > 1 else list(range(len(tensors)))
    shape = tuple(tensors[place[k]].array.size for k in range(len(tensors)))
    count = 1
    for n in shape:
        count *= n
    limits.check_elements(count, tensors[0].dtype.itemsize)
    rank = len(shape)
    return tuple(expand(VIEW(t, (1,) * k + (-1,) + (1,) * (rank - 1 - k)), shape) for t, k in zip(tensors, place, strict=True))


def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor:
    """All combinations of the vectors' elements, one a row."""
    if len(tensors) == 1:
        return tensors[0]
    flat = [flatten(g) for g in meshgrid(tensors, "ij")]
    return STACK(flat, 1)  # type: ignore[no-any-return]


class ListFunction(Function):
    """A function whose last positional arguments are tensors, given one by one or as one list."""

    __slots__ = ("lead",)

    def __init__(self, name: str, *overloads: Overload, lead: int = 0, **more: Any) -> None:
        super().__init__(name, *overloads, **more)
        #: how many arguments come before the tensors
        self.lead = lead

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        rest = args[self.lead :]
        if len(rest) != 1 or not isinstance(rest[0], (list, tuple)):
            args = (*args[: self.lead], list(rest))
        check_tensors(args[self.lead])
        return self.parser.call(args, kwargs)


def check_tensors(values: Sequence[Any]) -> None:
    """All are tensors; PyTorch's error otherwise."""
    for i, value in enumerate(values):
        if type(value) is not Tensor:
            raise ProgramError("TypeError", f"expected Tensor as element {i} in argument 0, but got {hooks.type_name(value)}")


class _AtLeast(ListFunction):
    """atleast_1d and its kin: a tensor for a tensor, a tuple for several."""

    __slots__ = ("run",)

    def __init__(self, name: str, run: Callable[[Tensor], Tensor], sample: Sample) -> None:
        super().__init__(name, ("Tensors tensors", self._all), doc=run.__doc__ or "", samples=(sample,), method=False)
        self.run = run

    def _all(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return tuple(self.run(t) for t in tensors)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) is Tensor and not kwargs:
            return self.run(args[0])
        return super().__call__(*args, **kwargs)


class _Shapes(Function):
    """broadcast_shapes takes any number of shapes."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for shape in args:
            for n in (shape,) if not isinstance(shape, (tuple, list)) else shape:
                if type(n) is not int:
                    raise type_error("'<' not supported between instances of '{}' and 'int'", n)
        return self.parser.call((list(args),), kwargs)


_V: Any = [1.0, 2.0, 3.0]
_W: Any = [4.0, 5.0]

FUNCTIONS = (
    ListFunction(
        "broadcast_tensors",
        ("Tensors tensors", broadcast_tensors),
        doc="All expanded to their common shape.",
        samples=(Sample("broadcast_tensors(x, y)[0]", None, x=[[1.0], [2.0]], y=_W),),
        method=False,
    ),
    _Shapes("broadcast_shapes", ("any shapes", broadcast_shapes), doc="The common shape of shapes.", method=False),
    _AtLeast("atleast_1d", atleast_1d, Sample("atleast_1d(x)", np.atleast_1d, x=_V)),
    _AtLeast("atleast_2d", atleast_2d, Sample("atleast_2d(x)", np.atleast_2d, x=_V)),
    _AtLeast("atleast_3d", atleast_3d, Sample("atleast_3d(x)", np.atleast_3d, x=_V)),
    ListFunction(
        "meshgrid",
        ("Tensors tensors, *, str? indexing=None", meshgrid),
        doc="Each vector expanded to the grid of all.",
        samples=(Sample("meshgrid(x, y, indexing='xy')[1]", lambda x, y: np.meshgrid(x, y)[1], x=_V, y=_W),),
        method=False,
    ),
    ListFunction(
        "cartesian_prod",
        ("Tensors tensors", cartesian_prod),
        doc="All combinations of the vectors' elements, one a row.",
        samples=(Sample("cartesian_prod(x, y)", None, x=_V, y=_W),),
        method=False,
    ),
)
