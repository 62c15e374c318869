"""Running sums, products and extremes: cumsum, cumprod, cummax, cummin, logcumsumexp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph import in_place
from gradcli.core.graph.conjugate import CONJ
from gradcli.core.graph.namespaces import as_tensor
from gradcli.core.graph.op_node import short_name
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, elementary
from gradcli.core.kernels.summation import total
from gradcli.core.ops.checks import not_implemented, require_floating, wrap_dim
from gradcli.core.ops.index.gather_scatter import SCATTER_ADD
from gradcli.core.ops.index.selection import Selection, result
from gradcli.core.ops.reduce.common import Typed, sum_dtype
from gradcli.core.ops.rules import check_no_complex_gradient
from gradcli.core.ops.shape.casting import warn_of_discarded
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError, runtime_error

_DIM = "Tensor input, int dim, *, dtype? dtype=None"


def _accumulate(function: np.ufunc) -> Callable[..., Array]:
    """A running sum or product, which PyTorch computes in double precision, that of half precision in single."""

    def run(x: Array, dim: int, dtype: DType | None = None) -> Array:
        if not x.ndim:
            return x.copy()
        kind = x.dtype.kind
        in_half = x.dtype == np.float16 or dtype is dtypes.bfloat16
        wide = x.dtype if kind not in "fc" else np.complex128 if kind == "c" else np.float32 if in_half else np.float64
        if function is np.multiply and kind == "c":
            return np.asarray(elementary.complex_running_product(x, dim)).astype(x.dtype, order="C")
        running = function.accumulate(x, axis=dim, dtype=wide)
        if function is np.add and x.dtype.kind in "fc":
            running += 0.0  # PyTorch begins with 0, and 0 + -0 is 0
        return np.asarray(running).astype(x.dtype, order="C", copy=False)

    return run


_add_up, _multiply_up = _accumulate(np.add), _accumulate(np.multiply)


def _as_input(xp: Any, grad: Any, dtype: DType, input_dtype: DType) -> Any:
    """The gradient of a result of `dtype` in the dtype of the input."""
    if dtype is input_dtype:
        return grad
    warn_of_discarded(xp.plain(grad), input_dtype)
    return xp.cast(grad, input_dtype)


def _backwards(xp: Any, x: Any, dim: int, dtype: DType) -> Any:
    """The running sum of elements of this dtype, begun at the end."""
    if not np.ndim(xp.plain(x)) or xp.plain(x).shape[dim] <= 1:
        return x
    return xp.flip(xp.call(CUMSUM, xp.flip(x, dim), dim, dtype), dim)


CUMSUM = Typed(
    "CumsumBackward0",
    lambda x, dim, dtype: _add_up(x, dim, dtype),
    "input",
    "dim dtype",
    input=Rule(
        lambda xp, grad, dim, dtype, input_dtype: _backwards(xp, _as_input(xp, grad, dtype, input_dtype), dim, input_dtype),
        "grad.flip(dim).cumsum(dim).flip(dim)",
    ),
    complex=True,
)


def _cumprod_with_zeros(grad: Array, x: Array, dim: int, r: Callable[[Array], Array] = np.asarray) -> Array:
    """The gradient along rows that contain zeros; `r` rounds to the dtype.

    Before the first zero of a row it is computed as for other rows; at it, it is a sum of products without it; behind it, it is 0.
    """
    along, g = np.moveaxis(x, dim, -1), np.moveaxis(grad, dim, -1)
    made = np.zeros_like(g)
    for at in np.ndindex(along.shape[:-1]):
        made[at] = _cumprod_row(g[at], along[at], r)
    return np.moveaxis(made, -1, dim)


def _cumprod_row(grad: Array, x: Array, r: Callable[[Array], Array]) -> Array:
    zeros = np.flatnonzero(x == 0)
    first, end = (*zeros, len(x), len(x))[:2]
    made = np.zeros_like(grad)
    products = r(_multiply_up(x, 0))
    made[:first] = r(r(_add_up(r(products * grad)[:first][::-1], 0))[::-1] / x[:first])
    if first < len(x):
        between = x.copy()
        between[: first + 1] = 1
        made[first] = r(r(total(r(r(_multiply_up(between, 0)) * grad)[first:end])) * (products[first - 1] if first else 1))
    return made


def _cumprod_with_zeros_traced(grad: Tensor, x: Tensor, dim: int) -> Any:
    """`_cumprod_with_zeros` made of functions that have derivatives: for each element the products that leave it out."""
    narrow, cat, prod = catalog.function("narrow"), catalog.function("cat"), catalog.function("prod")
    select, sum = catalog.function("select"), catalog.function("sum")
    size = x.array.shape[dim]
    shape = x.array.shape
    one = Tensor(np.ones((*shape[:dim], 1, *shape[dim + 1 :]), x.dtype.np), x.dtype)
    parts = []
    for k in range(size):
        before: Any = prod(narrow(x, dim, 0, k), dim, True) if k else one
        products = before
        if k < size - 1:
            behind: Any = cumprod(narrow(x, dim, k + 1, size - k - 1), dim)
            products = cat([before, before * behind if k else behind], dim)
        parts.append(sum(narrow(grad, dim, k, size - k) * products, dim))
    if state.transforms:
        return catalog.function("stack")(parts, dim)
    made = Tensor(np.zeros(shape, x.dtype.np), x.dtype)
    for k, part in enumerate(parts):
        in_place.copy_(select(made, dim, k), part)
    return made


def _cumprod_rule(xp: Any, grad: Any, input: Any, input_dtype: DType, out: Any, dim: int, dtype: DType) -> Any:
    x, grad = xp.plain(input), _as_input(xp, grad, dtype, input_dtype)
    if x.size <= 1 or x.shape[dim] == 1:
        return grad
    if state.transforms:  # where PyTorch does not look at the elements
        return _cumprod_with_zeros_traced(as_tensor(grad), as_tensor(input), wrap_dim(dim, x.ndim))
    if np.all(x):
        return _backwards(xp, out * grad, dim, dtypes.promote(dtype, input_dtype)) / input
    if type(input) is not Tensor:
        return _cumprod_with_zeros(np.asarray(grad), x, wrap_dim(dim, x.ndim))
    if state.enabled:
        return _cumprod_with_zeros_traced(grad, input, wrap_dim(dim, x.ndim))
    r = dtypes.round_bfloat16 if input.dtype is dtypes.bfloat16 else np.asarray
    return Tensor(_cumprod_with_zeros(xp.plain(grad), x, wrap_dim(dim, x.ndim), r), input.dtype)


def _cumprod_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, out: Any) -> Any:
    """The product times the running sum of tangents over elements; from the first zero of a row on, with its tangent in its place."""
    dim, x, tangent = attrs[0], inputs[0], tangents[0]
    zeros = x.array == 0
    if not x.array.ndim:
        return tangent if zeros else tangent / x * out
    usual = xp.call(CUMSUM, tangent / x, dim, x.dtype) * out
    if not zeros.any():
        return usual
    first = zeros & (np.cumsum(zeros, dim) == 1)
    replaced = xp.call(CUMPROD, xp.where(first, tangent, x), dim, x.dtype)
    return xp.where(np.cumsum(first, dim).astype(bool), replaced, usual)


CUMPROD: Typed = Typed(
    "CumprodBackward0",
    lambda x, dim, dtype: _multiply_up(x, dim, dtype),
    "input",
    "dim dtype",
    jvp=lambda xp, inputs, attrs, tangents, out: xp.cast(_cumprod_jvp(xp, inputs, attrs, tangents, out), out.dtype),
    input=Rule(
        _cumprod_rule,
        # a product is linear in each factor: its derivative is its value for the factor 1 minus its value for the factor 0
        "(out * grad).flip(dim).cumsum(dim).flip(dim) / input if input.all() else "
        "stack([(grad * (input.index_fill(dim, tensor(k), 1).cumprod(dim) - input.index_fill(dim, tensor(k), 0).cumprod(dim))).sum(dim) "
        "for k in range(atleast_1d(input).shape[dim])], dim)",
        "at zeros, the products that leave the element out",
    ),
    complex=True,
    real_part=False,
)


def _running(op: Op, kernel: str) -> Callable[..., Any]:
    def run(input: Tensor, dim: int, dtype: DType | None = None) -> Any:
        wrap_dim(dim, input.array.ndim)
        if dtype is dtypes.bool_ and input.array.ndim and input.array.size:
            raise not_implemented(kernel, dtype)
        return op(input, dim, sum_dtype(input, dtype))

    return run


cumsum, cumprod = _running(CUMSUM, "cumsum_out_cpu"), _running(CUMPROD, "cumprod_out_cpu")


def _written(op: Op, kernel: str) -> Overload:
    """The in-place form of a running sum or product, which is computed in the dtype of the tensor alone."""

    def run(input: Tensor, dim: int, dtype: DType | None = None) -> Any:
        own = input.dtype
        wrap_dim(dim, input.array.ndim)
        if dtype is not None and dtype is not own:
            names = f"input tensor dtype {own.c_name} and output tensor dtype {dtype.c_name}"
            raise runtime_error(f"Bad in-place call: {names} should match")
        return _running(op, kernel)(input, dim, own)

    return _DIM, run


def _logcumsumexp(x: Array, dim: int) -> Array:
    if not x.ndim:
        return x.copy()
    if x.dtype.kind == "c":
        return _complex_logcumsumexp(x, dim)
    running = np.logaddexp.accumulate(x, axis=dim, dtype=np.float64) + 0.0  # PyTorch begins with -inf: -0 becomes 0
    return np.asarray(running).astype(x.dtype, order="C")


def _complex_logcumsumexp(x: Array, dim: int) -> Array:
    """The running logarithm of the sum of exponentials, in double precision and from -inf on, as in PyTorch."""
    along = np.moveaxis(x, dim, 0).astype(np.complex128)
    running = np.empty(along.shape, along.dtype)
    last = np.full(along.shape[1:], complex(-np.inf, 0))
    for at, row in enumerate(along):
        running[at] = last = elementary.complex_logaddexp(row, last)
    return np.moveaxis(running, 0, dim).astype(x.dtype, order="C")


def _logcumsumexp_rule(xp: Any, grad: Any, input: Any, out: Any, dim: int) -> Any:
    """Computed in logarithms, for the positive and the negative elements of a real grad apart."""
    g = xp.plain(grad)
    if not np.ndim(g) or not g.size:
        return grad
    if g.dtype.kind == "c":
        logarithm = xp.log(xp.call(CONJ, grad))
        return xp.call(CONJ, xp.exp(xp.flip(xp.call(LOGCUMSUMEXP, xp.flip(logarithm - out, dim), dim), dim) + input))
    size = xp.log(xp.abs(grad))
    lowest = -dtypes.largest(grad.dtype if type(grad) is Tensor else dtypes.of(g.dtype))  # instead of -inf, since -inf - -inf is nan
    parts = []
    for mask in (np.greater(g, 0), np.less(g, 0)):
        logarithm = xp.where(mask, size, lowest)
        from_end = xp.flip(xp.call(LOGCUMSUMEXP, xp.flip(logarithm - out, dim), dim), dim)
        parts.append(xp.exp(from_end + input))
    return parts[0] - parts[1]


def _logcumsumexp_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, _: Any) -> Any:
    """The running sum of the tangent, weighted by exponentials, over that of the exponentials plus 1e-13."""
    (dim,) = attrs
    x = inputs[0]
    if not x.array.ndim:
        return tangents[0]
    if not x.array.shape[dim]:
        raise ProgramError("IndexError", f"max(): Expected reduction dim {wrap_dim(dim, x.array.ndim)} to have non-zero size.")
    weights = xp.exp(x - Tensor(x.array.max(dim, keepdims=True), x.dtype))
    whole = xp.call(CUMSUM, weights, dim, x.dtype)
    return xp.call(CUMSUM, weights * tangents[0], dim, x.dtype) / (whole + 1e-13)


LOGCUMSUMEXP: Op = Op(
    "LogcumsumexpBackward0",
    _logcumsumexp,
    "input",
    "dim",
    jvp=_logcumsumexp_jvp,
    complex=True,
    wirtinger=True,
    input=Rule(_logcumsumexp_rule, "(grad * exp(-out).conj()).flip(dim).cumsum(dim).flip(dim) * exp(input).conj()"),
)


def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the running sum of exponentials along dim."""
    wrap_dim(dim, input.array.ndim)
    if not input.dtype.is_complex:
        require_floating("logcumsumexp_out_cpu", input.dtype)
    return LOGCUMSUMEXP(input, dim)  # type: ignore[no-any-return]


# --- running extremes ---


def _running_extremum(reduce: np.ufunc, beats: Callable[..., Any]) -> Callable[[Array, int], tuple[Array, Array]]:
    def run(x: Array, dim: int) -> tuple[Array, Array]:
        if not x.size:
            return x.copy(), np.zeros(x.shape, np.int64)
        along = np.moveaxis(x, dim, 0)
        values = reduce.accumulate(along, axis=0)
        hit = np.ones(along.shape, bool)
        # the index of the last of equal elements is returned, also of the last nan
        hit[1:] = np.isnan(along[1:]) | beats(along[1:], values[:-1]) if x.dtype.kind == "f" else beats(along[1:], values[:-1])
        steps = np.arange(len(along)).reshape((-1,) + (1,) * (along.ndim - 1))
        indices = np.maximum.accumulate(np.where(hit, steps, 0), axis=0)
        if x.dtype.kind == "f":  # among zeros of both signs, the value is the one at the index
            values = np.take_along_axis(along, indices, 0)
        return np.moveaxis(values, 0, dim), np.moveaxis(indices, 0, dim)

    return run


def _extremum_rule(xp: Any, grad: Any, input: Any, input_shape: Any, input_dtype: Any, dim: int, indices: Any) -> Any:
    if 0 in input_shape:
        return input  # PyTorch returns the input itself
    zeros = xp.zeros(input_shape, input_dtype)
    return xp.call(SCATTER_ADD, zeros, grad, wrap_dim(dim, len(input_shape)), xp.plain(indices))


class _Running(Selection):
    """A selection along a dimension that PyTorch only copies where there is one element, 0-d, or none, and no tangent."""

    __slots__ = ()

    def __call__(self, *args: Any) -> tuple[Tensor, Tensor]:
        x = args[0]
        if (x.array.size and x.array.ndim) or (state.dual is not None and not state.dual.paused):
            return super().__call__(*args)
        check_no_complex_gradient(short_name(self.grad_fn).lower(), x)
        out, index = Tensor(x.array.copy(), x.dtype), wrap(np.zeros(x.array.shape, np.int64))
        if state.enabled:
            self.record(out, (x,), (*args[1:], index))
        return out, index


def _running_record(grad_fn: str, reduce: np.ufunc, beats: Callable[..., Any]) -> Selection:
    return _Running(
        grad_fn,
        _running_extremum(reduce, beats),
        "input",
        "dim indices",
        saved="indices> self dim",
        layout="contiguous",
        input=Rule(_extremum_rule, "zeros_like(input).scatter_add(dim, indices, grad)", "to the last of equal elements"),
    )


CUMMAX = _running_record("CummaxBackward0", np.maximum, np.greater_equal)
CUMMIN = _running_record("CumminBackward0", np.minimum, np.less_equal)

_RUNNING_DTYPE = "expected scalar_type {result} but found {out}"
_X = [0.5, -1.5, 2.0, 1.25]
_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]


def _running_extremes(name: str, op: Selection, doc: str, reference: Any) -> Function:
    def shape(values: Sequence[Any]) -> tuple[int, ...]:
        input, dim = values
        if not input.array.ndim and dim not in (0, -1):
            raise ProgramError("IndexError", f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
        return input.array.shape  # type: ignore[no-any-return]

    def run(input: Tensor, dim: int) -> Any:
        shape((input, dim))
        if input.array.size:
            wrap_dim(dim, input.array.ndim)
        return result(name, op(input, dim))

    fields = dict.fromkeys(("values", "indices"), _RUNNING_DTYPE)
    return Function(
        name,
        ("Tensor input, int dim |2 outs", run),
        doc=doc,
        ops=(op,),
        samples=(Sample(f"{name}(x, 0).values", reference, x=_X), Sample(f"x.{name}(dim=-1)[0]", lambda x: reference(x, -1), x=_M)),
        out=Out(fields, first=True, memory="unchecked", overlap="partial", shape=shape),
    )


FUNCTIONS = (
    Function(
        "cumsum",
        (_DIM, cumsum),
        doc="Running sum along dim.",
        ops=(CUMSUM,),
        samples=(Sample("cumsum(x, 0)", np.cumsum, x=_X), Sample("x.cumsum(-1)", lambda x: np.cumsum(x, -1), x=_M)),
        written=(_written(CUMSUM, "cumsum_out_cpu"),),
        out=Out(EXACT, own_dtype=True, overlap="partial"),
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
        written=(_written(CUMPROD, "cumprod_out_cpu"),),
        out=Out(EXACT, own_dtype=True, overlap="partial"),
    ),
    _running_extremes("cummax", CUMMAX, "Running maximum along dim, and where it is.", np.maximum.accumulate),
    _running_extremes("cummin", CUMMIN, "Running minimum along dim, and where it is.", np.minimum.accumulate),
    Function(
        "logcumsumexp",
        ("Tensor input, int dim", logcumsumexp),
        doc="log of the running sum of exponentials, without overflow.",
        ops=(LOGCUMSUMEXP,),
        samples=(Sample("logcumsumexp(x, 0)", lambda x: np.log(np.cumsum(np.exp(x))), x=_X),),
        out=Out(_RUNNING_DTYPE, first=True, kernel_first=True, overlap="partial"),
    ),
)
