"""Running sums, products and extremes, differences, and the trapezoidal rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels.summation import total
from gradcli.core.ops import checks
from gradcli.core.ops.elementwise import add_multiply, scalars
from gradcli.core.ops.elementwise.comparison import NE
from gradcli.core.ops.index.selection import SCATTER_ADD, Selection, result
from gradcli.core.ops.reduce.common import Typed
from gradcli.core.ops.reduce.sum_mean import sum as sum_along
from gradcli.core.ops.reduce.sum_mean import sum_dtype
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError


def _accumulate(function: np.ufunc) -> Callable[[Array, int], Array]:
    """A running sum or product, carried in double precision as torch carries it."""

    def run(x: Array, dim: int) -> Array:
        if not x.ndim:
            return x.copy()
        wide = np.float64 if x.dtype.kind == "f" else x.dtype
        running = function.accumulate(x, axis=dim, dtype=wide)
        if function is np.add and wide is np.float64:
            running += 0.0  # torch begins with 0, which makes 0 of -0
        return np.asarray(running).astype(x.dtype, order="C", copy=False)

    return run


_add_up, _multiply_up = _accumulate(np.add), _accumulate(np.multiply)


def _backwards(xp: Any, x: Any, dim: int) -> Any:
    """The running sum from the end."""
    if not np.ndim(xp.plain(x)) or xp.plain(x).shape[dim] <= 1:
        return x
    summed = xp.call(CUMSUM, xp.flip(x, dim), dim, dtypes.of(xp.plain(x).dtype) if type(x) is not Tensor else x.dtype)
    return xp.flip(summed, dim)


CUMSUM = Typed(
    "CumsumBackward0",
    lambda x, dim, dtype: _add_up(x, dim),
    "input",
    "dim dtype",
    input=Rule(
        lambda xp, grad, dim, dtype, input_dtype: _backwards(xp, grad if dtype is input_dtype else xp.cast(grad, input_dtype), dim),
        "grad.flip(dim).cumsum(dim).flip(dim)",
    ),
)


def _cumprod_with_zeros(grad: Array, x: Array, dim: int) -> Array:
    """The gradient where some elements are 0: as without zeros before the first, a sum of products at it, 0 behind it."""
    along, g = np.moveaxis(x, dim, -1), np.moveaxis(grad, dim, -1)
    made = np.zeros_like(g)
    for at in np.ndindex(along.shape[:-1]):
        made[at] = _cumprod_row(g[at], along[at])
    return np.moveaxis(made, -1, dim)


def _cumprod_row(grad: Array, x: Array) -> Array:
    zeros = np.flatnonzero(x == 0)
    first, end = (*zeros, len(x), len(x))[:2]
    made = np.zeros_like(grad)
    products = _multiply_up(x, 0)
    made[:first] = _add_up((products * grad)[:first][::-1], 0)[::-1] / x[:first]
    if first < len(x):
        between = x.copy()
        between[: first + 1] = 1
        made[first] = total((_multiply_up(between, 0) * grad)[first:end]) * (products[first - 1] if first else 1)
    return made


def _cumprod_with_zeros_traced(grad: Tensor, x: Tensor, dim: int) -> Any:
    """The same in functions that have derivatives."""
    narrow, cat = catalog.function("narrow"), catalog.function("cat")
    parts: list[Any] = []
    size = x.array.shape[dim]
    before: list[Any] = [None]
    for k in range(size - 1):
        factor = narrow(x, dim, k, 1)
        before.append(factor if before[-1] is None else before[-1] * factor)
    tail: Any = None
    for k in range(size - 1, -1, -1):
        here = narrow(grad, dim, k, 1)
        tail = here if tail is None else here + narrow(x, dim, k + 1, 1) * tail
        parts.append(tail if before[k] is None else before[k] * tail)
    return cat(parts[::-1], dim)


def _cumprod_rule(xp: Any, grad: Any, input: Any, out: Any, dim: int) -> Any:
    x = xp.plain(input)
    if not x.ndim:
        return grad
    if np.all(x):
        return _backwards(xp, out * grad, dim) / input
    if type(input) is Tensor:
        return _cumprod_with_zeros_traced(grad, input, checks.wrap_dim(dim, x.ndim))
    return _cumprod_with_zeros(np.asarray(grad), x, checks.wrap_dim(dim, x.ndim))


CUMPROD = Typed(
    "CumprodBackward0",
    lambda x, dim, dtype: _multiply_up(x, dim),
    "input",
    "dim dtype",
    input=Rule(
        _cumprod_rule,
        # a product is linear in each factor: its derivative is its value with 1 for the factor less that with 0
        "(out * grad).flip(dim).cumsum(dim).flip(dim) / input if input.all() else "
        "stack([(grad * (input.index_fill(dim, tensor(k), 1).cumprod(dim) - input.index_fill(dim, tensor(k), 0).cumprod(dim))).sum(dim) "
        "for k in range(atleast_1d(input).shape[dim])], dim)",
        "at zeros, the products that leave the element out",
    ),
)


def _running(op: Op) -> Callable[..., Any]:
    def run(input: Tensor, dim: int, dtype: DType | None = None) -> Any:
        checks.wrap_dim(dim, input.array.ndim)
        return op(input, dim, sum_dtype(input, dtype))

    return run


cumsum, cumprod = _running(CUMSUM), _running(CUMPROD)


def _logcumsumexp(x: Array, dim: int) -> Array:
    if not x.ndim:
        return x.copy()
    return np.asarray(np.logaddexp.accumulate(x, axis=dim, dtype=np.float64)).astype(x.dtype, order="C")


def _logcumsumexp_rule(xp: Any, grad: Any, input: Any, out: Any, dim: int) -> Any:
    """In logarithms, with the positive and the negative part of grad apart."""
    g = xp.plain(grad)
    if not np.ndim(g):
        return grad
    size = xp.log(xp.abs(grad))
    lowest = float(np.finfo(g.dtype).min)  # not -inf, which would meet its like and make nan
    parts = []
    for mask in (np.greater(g, 0), np.less(g, 0)):
        logarithm = xp.where(mask, size, lowest)
        from_end = xp.flip(xp.call(LOGCUMSUMEXP, xp.flip(logarithm - out, dim), dim), dim)
        parts.append(xp.exp(from_end + input))
    return parts[0] - parts[1]


LOGCUMSUMEXP: Op = Op(
    "LogcumsumexpBackward0",
    _logcumsumexp,
    "input",
    "dim",
    input=Rule(_logcumsumexp_rule, "(grad * exp(-out)).flip(dim).cumsum(dim).flip(dim) * exp(input)"),
)


def logcumsumexp(input: Tensor, dim: int) -> Any:
    """The logarithm of the running sum of exponentials."""
    checks.wrap_dim(dim, input.array.ndim)
    if not input.dtype.is_floating_point:
        raise checks.not_implemented("logcumsumexp_out_cpu", input.dtype)
    return LOGCUMSUMEXP(input, dim)


# --- running extremes ---


def _running_extremum(reduce: np.ufunc, beats: Callable[..., Any]) -> Callable[[Array, int], tuple[Array, Array]]:
    def run(x: Array, dim: int) -> tuple[Array, Array]:
        if not x.size:
            return x.copy(), np.zeros(x.shape, np.int64)
        along = np.moveaxis(x, dim, 0)
        values = reduce.accumulate(along, axis=0)
        hit = np.ones(along.shape, bool)
        # the last of equal elements counts, and so does the last nan
        hit[1:] = np.isnan(along[1:]) | beats(along[1:], values[:-1]) if x.dtype.kind == "f" else beats(along[1:], values[:-1])
        steps = np.arange(len(along)).reshape((-1,) + (1,) * (along.ndim - 1))
        indices = np.maximum.accumulate(np.where(hit, steps, 0), axis=0)
        return np.ascontiguousarray(np.moveaxis(values, 0, dim)), np.ascontiguousarray(np.moveaxis(indices, 0, dim))

    return run


def _extremum_rule(xp: Any, grad: Any, input_shape: Any, dim: int, indices: Any) -> Any:
    return xp.call(SCATTER_ADD, grad, xp.plain(indices), checks.wrap_dim(dim, len(input_shape)), input_shape)


def _running_record(grad_fn: str, reduce: np.ufunc, beats: Callable[..., Any]) -> Selection:
    return Selection(
        grad_fn,
        _running_extremum(reduce, beats),
        "input",
        "dim indices",
        input=Rule(_extremum_rule, "zeros_like(input).scatter_add(dim, indices, grad)", "to the last of equal elements"),
    )


CUMMAX = _running_record("CummaxBackward0", np.maximum, np.greater_equal)
CUMMIN = _running_record("CumminBackward0", np.minimum, np.less_equal)

# --- differences and integrals ---


def _difference(x: Tensor, dim: int) -> Any:
    narrow = catalog.function("narrow")
    size = x.array.shape[dim]
    if not size:
        return narrow(x, dim, 0, 0)
    # the earlier first: the order in which PyTorch makes the two decides the order of their gradients
    earlier, later = narrow(x, dim, 0, size - 1), narrow(x, dim, 1, size - 1)
    return NE(later, earlier) if x.dtype is dtypes.bool_ else add_multiply.sub(later, earlier)


def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Any:
    """Differences of neighbours along dim, n times over."""
    if not input.array.ndim:
        raise ProgramError("RuntimeError", "diff expects input to be at least one-dimensional")
    if n < 0:
        raise ProgramError("RuntimeError", f"order must be non-negative but got {n}")
    dim = checks.wrap_dim(dim, input.array.ndim)
    parts = [p for p in (prepend, input, append) if p is not None]
    if len(parts) > 1:
        input = catalog.function("cat")(parts, dim)
    for _ in range(min(n, input.array.shape[dim])):
        input = _difference(input, dim)
    return input


def _floating(y: Tensor) -> Tensor:
    if y.dtype is dtypes.bool_:
        raise ProgramError("RuntimeError", "trapezoid: received a bool input for `y`, but bool is not supported")
    return y if y.dtype.is_floating_point else to_dtype(y, dtypes.get_default())


def trapezoid(y: Tensor, dx: float, dim: int) -> Any:
    """The trapezoidal rule for evenly spaced points."""
    y = _floating(y)
    at = checks.wrap_dim(dim, y.array.ndim)
    if not y.array.size:
        return wrap(np.zeros((*y.array.shape[:at], *y.array.shape[at + 1 :]), y.dtype.np))
    select = catalog.function("select")
    ends = scalars.times(_TRACED, select(y, at, 0) + select(y, at, -1), 0.5)
    return scalars.times(_TRACED, sum_along(y, (at,)) - ends, dx)


def trapezoid_at(y: Tensor, x: Tensor, dim: int) -> Any:
    """The trapezoidal rule for points x."""
    at = checks.wrap_dim(dim, y.array.ndim)
    narrow = catalog.function("narrow")
    size = y.array.shape[at]
    steps = _steps(y, x, at)
    areas = steps * (narrow(y, at, 0, size - 1) + narrow(y, at, 1, size - 1))
    return scalars.over(_TRACED, sum_along(areas, (at,)), 2.0)


def _steps(y: Tensor, x: Tensor, at: int) -> Any:
    if x.array.ndim == 1 and y.array.ndim > 1:
        if x.array.shape[0] != y.array.shape[at]:
            raise ProgramError("RuntimeError", "trapezoid: There must be one `x` value for each sample point")
        shape = [1] * y.array.ndim
        shape[at] = -1
        x = catalog.function("reshape")(x, tuple(shape))
    return _difference(x, checks.wrap_dim(at - y.array.ndim, x.array.ndim))


def cumulative_trapezoid(y: Tensor, dx: float, dim: int) -> Any:
    """The trapezoidal rule up to each point, for evenly spaced points."""
    y = _floating(y)
    at = checks.wrap_dim(dim, y.array.ndim)
    narrow = catalog.function("narrow")
    size = y.array.shape[at]
    areas = scalars.times(_TRACED, narrow(y, at, 0, size - 1) + narrow(y, at, 1, size - 1), dx / 2.0)
    return cumsum(areas, at)


class _Traced:
    """The namespace that `scalars` needs to work on tensors."""

    @staticmethod
    def call(op: Any, *args: Any) -> Any:
        """Run a record on tensors."""
        return op(*args)


_TRACED = _Traced()

_X = [0.5, -1.5, 2.0, 1.25]
_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]
_DIM = "Tensor input, int dim, *, dtype? dtype=None"


def _extremes(name: str, op: Selection, doc: str, reference: Any) -> Function:
    def run(input: Tensor, dim: int) -> Any:
        if not input.array.ndim and dim not in (0, -1):
            raise ProgramError("IndexError", f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
        return result(name, op(input, dim))

    return Function(
        name,
        ("Tensor input, int dim", run),
        doc=doc,
        ops=(op,),
        samples=(Sample(f"{name}(x, 0).values", reference, x=_X), Sample(f"x.{name}(dim=-1)[0]", lambda x: reference(x, -1), x=_M)),
    )


FUNCTIONS = (
    Function(
        "cumsum",
        (_DIM, cumsum),
        doc="Running sum along dim.",
        ops=(CUMSUM,),
        samples=(Sample("cumsum(x, 0)", np.cumsum, x=_X), Sample("x.cumsum(-1)", lambda x: np.cumsum(x, -1), x=_M)),
        inplace=True,
        out=True,
    ),
    Function(
        "cumprod",
        (_DIM, cumprod),
        doc="Running product along dim.",
        ops=(CUMPROD,),
        samples=(
            Sample("cumprod(x, 0)", np.cumprod, x=_X),
            Sample("x.cumprod(dim=1)", lambda x: np.cumprod(x, 1), x=_M),
            Sample("cumprod(x, 0)", np.cumprod, x=[2.0, 0.0, 3.0, 4.0]),
        ),
        inplace=True,
        out=True,
    ),
    _extremes("cummax", CUMMAX, "Running maximum along dim, and where it is.", np.maximum.accumulate),
    _extremes("cummin", CUMMIN, "Running minimum along dim, and where it is.", np.minimum.accumulate),
    Function(
        "logcumsumexp",
        ("Tensor input, int dim", logcumsumexp),
        doc="log of the running sum of exponentials, without overflow.",
        ops=(LOGCUMSUMEXP,),
        samples=(Sample("logcumsumexp(x, 0)", lambda x: np.log(np.cumsum(np.exp(x))), x=_X),),
        out=True,
    ),
    Function(
        "diff",
        ("Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None", diff),
        doc="Differences of neighbours along dim, n times over.",
        samples=(Sample("diff(x)", np.diff, x=_X), Sample("x.diff(n=2, dim=1)", lambda x: np.diff(x, 2, 1), x=_M)),
        out=True,
    ),
    *(
        Function(
            name,
            ("Tensor y, Tensor x, *, int dim=-1", trapezoid_at),
            ("Tensor y, *, Number dx=1, int dim=-1", trapezoid),
            doc="The integral by the trapezoidal rule, of points dx apart or at x.",
            samples=(
                Sample(f"{name}(x)", np.trapezoid, x=_X),
                Sample(f"{name}(x, dx=0.5, dim=0)", lambda x: np.trapezoid(x, dx=0.5, axis=0), x=_M),
                Sample(f"{name}(x, y)", np.trapezoid, x=_X, y=[0.0, 1.0, 3.0, 4.0]),
            ),
            method=False,
        )
        for name in ("trapezoid", "trapz")
    ),
    Function(
        "cumulative_trapezoid",
        ("Tensor y, *, Number dx=1, int dim=-1", cumulative_trapezoid),
        doc="The integral up to each point by the trapezoidal rule.",
        samples=(Sample("cumulative_trapezoid(x)", lambda x: np.cumsum((x[1:] + x[:-1]) / 2), x=_X),),
        method=False,
    ),
)
