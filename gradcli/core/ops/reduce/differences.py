"""Differences and integrals along a dimension: diff, gradient, trapezoid, cumulative_trapezoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph import in_place
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.write_checks import check_unread
from gradcli.core.kernels import memory_format
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import add, sub
from gradcli.core.ops.elementwise.comparison import NE
from gradcli.core.ops.reduce import sum_mean
from gradcli.core.ops.reduce.cumulative import cumsum
from gradcli.core.ops.shape.joining import cat
from gradcli.core.ops.shape.slicing import narrow, select
from gradcli.core.ops.shape.views import reshape, view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def _difference(x: Tensor, dim: int) -> Any:
    _refuse_slice(x)
    size = x.array.shape[dim]
    count = max(size - 1, 0)
    # PyTorch makes the earlier part first, which decides the order in which the gradients are added
    earlier, later = narrow(x, dim, 0, count), narrow(x, dim, min(size, 1), count)
    return NE(later, earlier) if x.dtype is dtypes.bool_ else sub(later, earlier)


def _copied(input: Tensor) -> Tensor:
    """A tensor of zeros that the input is written into, as PyTorch does."""
    return in_place.copy_(Tensor(memory_format.zeros_like(input.array), input.dtype), input)


def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Any:
    """The differences of neighbours along dim, taken n times; `prepend` and `append` are joined to the input first."""
    if not input.array.ndim:
        raise shape_error("diff expects input to be at least one-dimensional")
    if n < 0:
        raise runtime_error(f"order must be non-negative but got {n}")
    parts = [p for p in (prepend, input, append) if p is not None]
    if n == 0 and len(parts) == 1:  # PyTorch looks at the dim of a single tensor only when it subtracts
        return _copied(input)
    given, dim = dim, wrap_dim(dim, input.array.ndim)
    for part in parts:
        if part.array.ndim != input.array.ndim:
            raise shape_error("diff expects prepend or append to be the same dimension as input")
        for d, (n_input, n_part) in enumerate(zip(input.array.shape, part.array.shape, strict=True)):
            if d != dim and n_input != n_part:
                raise shape_error(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; "
                    f"input.size({d}) = {n_input}, but got tensor.size({d}) = {n_part}"
                )
    if n == 0:
        return _copied(input)
    if len(parts) > 1:
        input = cat(parts, given)
    for _ in range(min(n, input.array.shape[dim])):
        input = _difference(input, dim)
    return input


# --- slopes ---


def _slope(x: Tensor, at: int, spacing: float, edge_order: int) -> Any:
    """Central differences along one dimension, one-sided at the ends."""
    size = x.array.shape[at]

    def part(start: int, length: int = 1) -> Any:
        return narrow(x, at, start, length)

    def over(value: Any, number: float) -> Any:
        return scalars.over(traced, value, number)

    def times(value: Any, number: float) -> Any:
        return scalars.times(traced, value, number)

    def rise(low: int, high: int, length: int = 1) -> Any:
        # PyTorch makes the subtrahend first
        less = part(low, length)
        return part(high, length) - less

    centre = over(over(rise(0, 2, size - 2), 2), spacing) if size > 1 else None
    if edge_order == 1:
        first, last = over(rise(0, 1), spacing), over(rise(size - 2, size - 1), spacing)
    else:
        first = over(times(part(0), -1.5) + times(part(1), 2) - times(part(2), 0.5), spacing)
        last = over(times(part(size - 3), 0.5) - times(part(size - 2), 2) + times(part(size - 1), 1.5), spacing)
    return cat([first, last] if centre is None else [first, centre, last], at)


def _count_error(count: int, dims: int, rank: int | None) -> ProgramError:
    """The error for spacings that are not as many as the dimensions; `rank` where no dimensions are given."""
    text = (
        f" or it's spacing and dim arguments to have the same length, but got a spacing argument of length {count} and a dim argument of "
    )
    if rank is not None:
        text = f", or a list of length equal to 'self.dim() = {rank}', since dim argument was not given, but got a list of "
        dims = count
    return runtime_error(f"torch.gradient expected spacing to be unspecified, a scalar{text}length {dims}{'.' if rank is None else ''}")


def _slopes_at(input: Tensor, coordinates: Sequence[Tensor], places: Sequence[int], edge_order: int) -> tuple[Tensor, ...]:
    """The slopes of values at places that are given along each dimension."""
    if any(input.array.shape[at] <= edge_order for at in places):
        raise shape_error("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(_slope_at(input, at, x, edge_order) for at, x in zip(places, coordinates, strict=True))


def _slice(x: Tensor, at: int, start: int, stop: int | None = None) -> Any:
    """`x[start:stop]` along dimension `at`."""
    start, stop, _ = slice(start, stop).indices(x.array.shape[at])
    return narrow(x, at, start, max(stop - start, 0))


def _slope_at(y: Tensor, at: int, x: Tensor, edge_order: int) -> Any:
    if x.array.ndim != 1:
        found = f"but got an element with {x.array.ndim} dimensions!"
        raise shape_error(f"torch.gradient expected each element of spacing to have one dimension, {found}")
    if not x.dtype.is_floating_point:
        x = traced.cast(x, dtypes.get_default())
    shape = tuple(-1 if d == at else 1 for d in range(y.array.ndim))
    steps = diff(x, 1, 0)

    def part(start: int, stop: int | None = None) -> Any:
        return _slice(y, at, start, stop)

    def weighted(weights: Sequence[Any], parts: Sequence[Any]) -> Any:
        first, second, third = (weight * values for weight, values in zip(weights, parts, strict=True))
        return first + second + third

    low, high = _slice(steps, 0, 0, -1), _slice(steps, 0, 1)
    factors = (-high / (low * (low + high)), (high - low) / (low * high), low / (high * (low + high)))
    centre = weighted([reshape(factor, shape) for factor in factors], [part(0, -2), part(1, -1), part(2)])
    if edge_order == 1:
        first, last = (part(1, 2) - part(0, 1)) / select(steps, 0, 0), (part(-1) - part(-2, -1)) / select(steps, 0, -1)
    else:
        a, b = select(steps, 0, 0), select(steps, 0, 1)
        first = weighted((-(a * 2.0 + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))), [part(k, k + 1) for k in range(3)])
        a, b = select(steps, 0, -1), select(steps, 0, -2)
        weights = (a / (b * (a + b)), -(a + b) / (a * b), (a * 2 + b) / (a * (a + b)))
        last = weighted(weights, [part(-3, -2), part(-2, -1), part(-1)])
    return cat([first, centre, last], at)


def gradient(input: Tensor, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The slopes along each dimension of values whose points are `spacing` apart: a number, or one for each dimension."""
    rank = input.array.ndim
    if input.dtype is dtypes.uint8:
        raise runtime_error("torch.gradient does not support uint8 input.")
    dims = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
    if isinstance(spacing, Sequence) and len(spacing) != len(dims):
        raise _count_error(len(spacing), len(dims), rank if dim is None else None)
    if edge_order not in (1, 2):
        raise runtime_error("torch.gradient only supports edge_order=1 and edge_order=2.")
    places = [wrap_dim(d, rank) for d in dims]
    for d in places:
        if places.count(d) > 1:
            raise runtime_error(f"dim {d} appears multiple times in the list of dims")
    if not rank and places:
        raise ProgramError("IndexError", f"Dimension specified as {dims[0]} but tensor has no dimensions")
    if not isinstance(spacing, Sequence):
        steps = [1.0 if spacing is None else float(spacing)] * len(places)
    elif spacing and type(spacing[0]) is Tensor:
        return _slopes_at(input, spacing, places, edge_order)
    else:
        steps = [float(s) for s in spacing]
    for at in places:
        if input.array.shape[at] <= edge_order:
            raise shape_error("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(_slope(input, at, step, edge_order) for at, step in zip(places, steps, strict=True))


# --- integrals ---


def _refuse_bool(name: str, y: Tensor, x: Tensor | None = None) -> None:
    """Raise RuntimeError for bool, of which there are no sums here."""
    if dtypes.bool_ in (y.dtype, y.dtype if x is None else x.dtype):
        which = "`y`" if x is None else "`x` or `y`"
        raise runtime_error(f"{name}: received a bool input for {which}, but bool is not supported")


def _refuse_number(y: Tensor, dim: int) -> None:
    if not y.array.ndim:
        raise ProgramError("IndexError", f"Dimension specified as {dim} but tensor has no dimensions")


def _check_distance(name: str, dx: Any) -> None:
    if type(dx) not in (int, float):
        raise runtime_error(f"{name}: Currently, we only support dx as a real number.")


def trapezoid(y: Tensor, dx: float, dim: int) -> Tensor:
    """The integral along dim by the trapezoidal rule, for points that are dx apart."""
    _refuse_number(y, dim)
    at = wrap_dim(dim, y.array.ndim)
    if not y.array.shape[at]:
        return _no_area(y, at)
    _refuse_bool("trapezoid", y)
    _check_distance("trapezoid", dx)
    ends = scalars.times(traced, add(select(y, dim, 0), select(y, dim, -1)), 0.5)
    return scalars.times(traced, sub(sum_mean.sum(y, (dim,)), ends), float(dx))  # type: ignore[no-any-return]


def trapezoid_at(y: Tensor, x: Tensor, dim: int) -> Tensor:
    """The integral along dim by the trapezoidal rule, for points x: a vector, or a tensor that broadcasts with y."""
    at = wrap_dim(dim, y.array.ndim)
    _refuse_number(y, at)
    if not y.array.shape[at]:
        return _no_area(y, at)
    _refuse_bool("trapezoid", y, x)
    areas = _areas("trapezoid", y, x, at)
    return scalars.over(traced, sum_mean.sum(areas, (at,)), 2.0)  # type: ignore[no-any-return]


def _refuse_slice(x: Tensor) -> None:
    if not x.array.ndim:
        raise ProgramError("IndexError", "slice() cannot be applied to a 0-dim tensor.")


def _sums_of_neighbours(y: Tensor, at: int) -> Any:
    _refuse_slice(y)
    size = y.array.shape[at]
    return add(narrow(y, at, 0, max(size - 1, 0)), narrow(y, at, min(size, 1), max(size - 1, 0)))


def _areas(name: str, y: Tensor, x: Tensor, at: int) -> Any:
    """Twice the areas between neighbours along dimension `at` of y; the steps of x are made first."""
    steps = _steps(name, y, x, at)
    return _sums_of_neighbours(y, at) * steps


def _no_area(y: Tensor, at: int) -> Tensor:
    """The integrals over no points."""
    return Tensor(np.zeros((*y.array.shape[:at], *y.array.shape[at + 1 :]), y.dtype.np), y.dtype)


def _steps(name: str, y: Tensor, x: Tensor, at: int) -> Any:
    """The distances of the points x along dimension `at` of y."""
    if x.array.ndim == 1:
        if not y.array.ndim:
            raise ProgramError("IndexError", "Dimension specified as 0 but tensor has no dimensions")
        if x.array.shape[0] != y.array.shape[at]:
            raise runtime_error(f"{name}: There must be one `x` value for each sample point")
        shape = [1] * y.array.ndim
        shape[at] = -1
        x = view(x, shape)
    elif x.array.ndim < y.array.ndim:
        x = view(x, (*(1,) * (y.array.ndim - x.array.ndim), *x.array.shape))
    return _difference(x, at)  # x may have more dimensions than y


def cumulative_trapezoid(y: Tensor, dx: float, dim: int) -> Any:
    """The integral up to each point along dim by the trapezoidal rule, for points that are dx apart."""
    _refuse_bool("cumulative_trapezoid", y)
    _check_distance("cumulative_trapezoid", dx)
    _refuse_slice(y)
    at = wrap_dim(dim, y.array.ndim)
    return cumsum(scalars.times(traced, _sums_of_neighbours(y, at), dx / 2.0), dim)


def cumulative_trapezoid_at(y: Tensor, x: Tensor, dim: int) -> Any:
    """The integral up to each point along dim by the trapezoidal rule, for points x: a vector, or a tensor that broadcasts with y."""
    at = wrap_dim(dim, y.array.ndim)
    _refuse_bool("cumulative_trapezoid", y, x)
    areas = _areas("cumulative_trapezoid", y, x, at)
    return scalars.over(traced, cumsum(areas, at), 2.0)


_AT: Overload = ("Tensor y, Tensor x, *, int dim=-1", trapezoid_at)
_APART: Overload = ("Tensor y, *, Number dx=1, int dim=-1", trapezoid)
_APART_FLOAT: Overload = ("Tensor y, *, float dx=1, int dim=-1", trapezoid)
_X = [0.5, -1.5, 2.0, 1.25]
_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]


def _diff_out(input: Tensor, n: int, dim: int, prepend: Tensor | None, append: Tensor | None) -> Out:
    if n:
        # what is subtracted are parts of the tensor, or of a new one; of parts with gaps PyTorch does not see that memory is shared
        shape = input.array.shape
        if prepend is None and append is None and shape and n >= shape[dim % len(shape)]:
            return Out(operator="sub", late=True)  # nothing is left, which shares no memory
        whole = prepend is None and append is None and n == 1 and all(size == 1 for size in shape[: dim % max(len(shape), 1)])
        check = None if whole else lambda out, _: check_unread(out, (input,))
        return Out(operator="sub", late=True, memory="first", overlap="any" if whole else "", check=check)

    def check_resized(out: Tensor, result: Tensor) -> None:
        if out.array.shape != result.array.shape:  # PyTorch copies the tensor into `out` once that has its shape
            check_unread(out, (input,))

    return Out("expected scalar_type {result} but found {out}", autograd="composed", counted=True, check=check_resized)


FUNCTIONS = (
    Function(
        "diff",
        ("Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None", diff),
        doc="Differences of neighbours along dim, n times over.",
        samples=(Sample("diff(x)", np.diff, x=_X), Sample("x.diff(n=2, dim=1)", lambda x: np.diff(x, 2, 1), x=_M)),
        out=_diff_out,
    ),
    Function(
        "gradient",
        ("Tensor input, *, ints dim, int edge_order=1", lambda x, dim, order: gradient(x, None, dim, order)),
        ("Tensor input, *, Number spacing, ints dim, int edge_order=1", gradient),
        ("Tensor input, *, Number? spacing=None, int? dim=None, int edge_order=1", gradient),
        ("Tensor input, *, scalars spacing, int? dim=None, int edge_order=1", gradient),
        ("Tensor input, *, scalars spacing, ints dim, int edge_order=1", gradient),
        ("Tensor input, *, Tensors spacing, int? dim=None, int edge_order=1", gradient),
        ("Tensor input, *, Tensors spacing, ints dim, int edge_order=1", gradient),
        doc="The slope along each dimension of values at even distances.",
        samples=(
            Sample("torch.gradient(x)[0]", np.gradient, x=_X),
            Sample("torch.gradient(x, spacing=2.)[1]", lambda x: np.gradient(x, 2.0)[1], x=_M),
            Sample("torch.gradient(x, edge_order=2)[0]", lambda x: np.gradient(x, edge_order=2), x=_X),
        ),
        method=False,
    ),
    *(
        Function(
            name,
            *overloads,
            doc="The integral by the trapezoidal rule, of points dx apart or at x.",
            samples=(
                Sample(f"{name}(x)", np.trapezoid, x=_X),
                Sample(f"{name}(x, dx=0.5, dim=0)", lambda x: np.trapezoid(x, dx=0.5, axis=0), x=_M),
                Sample(f"{name}(x, y)", np.trapezoid, x=_X, y=[0.0, 1.0, 3.0, 4.0]),
            ),
            method=False,
        )
        for name, overloads in (("trapezoid", (_AT, _APART)), ("trapz", (_APART_FLOAT, _AT)))
    ),
    Function(
        "cumulative_trapezoid",
        ("Tensor y, Tensor x, *, int dim=-1", cumulative_trapezoid_at),
        ("Tensor y, *, Number dx=1, int dim=-1", cumulative_trapezoid),
        doc="The integral up to each point by the trapezoidal rule.",
        samples=(
            Sample("cumulative_trapezoid(x)", lambda x: np.cumsum((x[1:] + x[:-1]) / 2), x=_X),
            Sample("cumulative_trapezoid(x, y)", lambda x, y: np.cumsum((x[1:] + x[:-1]) * np.diff(y) / 2), x=_X, y=[0.0, 1.0, 3.0, 4.0]),
        ),
        method=False,
    ),
)
