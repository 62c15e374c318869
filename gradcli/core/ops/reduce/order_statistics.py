"""Medians, modes and quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.named_tuples import NamedResult
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import warn_of_samples
from gradcli.core.kernels import Array, memory_format, selection
from gradcli.core.ops.checks import not_implemented, wrap_dim
from gradcli.core.ops.elementwise import add_multiply
from gradcli.core.ops.elementwise.lerp import LERP_TENSOR
from gradcli.core.ops.index.gather_scatter import GATHER
from gradcli.core.ops.index.masked import MASKED_FILL
from gradcli.core.ops.index.selection import (
    SHARED,
    check_nonempty,
    check_sorting,
    of_nothing,
    read_evenly,
    reducing,
    result,
    spread_evenly,
    with_dimension,
)
from gradcli.core.ops.index.sorting import SORT
from gradcli.core.ops.reduce.common import shape_of
from gradcli.core.ops.rules import check_no_complex_gradient
from gradcli.core.ops.shape.squeeze import unsqueeze
from gradcli.core.ops.shape.transpose import transpose
from gradcli.core.ops.shape.views import VIEW
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error

# --- medians and modes ---


#: in more elements the zero that is the median is any
_PARTITIONED = 4096


def _middle(x: Array, skip_nan: bool) -> Array:
    """The lower median of all elements."""
    flat = x.ravel("K")  # PyTorch partitions a copy in the order of memory
    kind = flat.dtype.kind
    if not flat.size and kind != "f":
        return np.asarray(np.iinfo(flat.dtype).min, flat.dtype)
    if kind == "f":
        missing = np.isnan(flat)
        if not flat.size or missing.all() or (missing.any() and not skip_nan):
            return np.asarray(np.nan, flat.dtype)
        count = flat.size - int(missing.sum())
    else:
        count = flat.size
    limits.check_work(flat.size * 4)
    at = (count - 1) // 2
    found = np.partition(flat, at)[at]  # nan is sorted last
    if not found and kind == "f" and flat.size <= _PARTITIONED:  # the sign of a zero depends on the moves
        values, order = flat.tolist(), list(range(flat.size))
        selection.nth_element(order, at, lambda i, j: values[i] < values[j] or (values[i] == values[i] and values[j] != values[j]))
        found = flat[order[at]]
    return np.asarray(found)


def _median(skip_nan: bool) -> Callable[[Array, int], tuple[Array, Array]]:
    def run(x: Array, dim: int) -> tuple[Array, Array]:
        check_sorting(x)
        if not x.size:
            return of_nothing(x, dim)
        order = np.argsort(x, axis=dim, kind="stable")
        missing = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
        count = np.add.reduce(missing, axis=dim, keepdims=True)
        place = np.maximum(x.shape[dim] - np.where(skip_nan, count, 0) - 1, 0) // 2
        index = np.take_along_axis(order, place, dim)
        if not skip_nan:
            index = np.where(count > 0, np.expand_dims(np.argmax(missing, axis=dim), dim), index)
        return np.take_along_axis(x, index, dim), index

    return run


def _median_records(name: str, skip_nan: bool) -> tuple[Op, Any]:
    note = "shared equally among the elements that equal the median"
    whole = Op(
        f"{name}Backward0",
        lambda x: _middle(x, skip_nan),
        "input",
        jvp=read_evenly,
        input=Rule(lambda xp, grad, input, out, input_dtype: spread_evenly(xp, grad, input, out, input_dtype), SHARED, note),
    )
    return whole, reducing(f"{name}Backward1", _median(skip_nan), note="to the element whose index is returned")


MEDIAN, MEDIAN_DIM = _median_records("Median", False)
NANMEDIAN, NANMEDIAN_DIM = _median_records("Nanmedian", True)


def _refuse(kernel: str, dtype: DType) -> None:
    """Raise NotImplementedError for bool and complex numbers."""
    if dtype is dtypes.bool_ or dtype.is_complex:
        raise not_implemented(kernel, dtype)


def _median_functions(name: str, whole: Op, along: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def of_all(input: Tensor) -> Any:
        if not input.array.size and (input.dtype is dtypes.bool_ or input.dtype.is_complex):
            check_no_complex_gradient(name, input)
            return Tensor(np.asarray(np.nan).astype(input.dtype.np), input.dtype)
        _refuse("median_cpu", input.dtype)
        return whole(input)

    def of_dim(input: Tensor, dim: int, keepdim: bool) -> NamedResult:
        check_nonempty("median", input, dim)
        _refuse("median_out", input.dtype)
        return result(name, along(input, dim, keepdim))

    return of_all, of_dim


def _mode_of_row(row: Array) -> int:
    order = list(range(len(row)))
    values = row.tolist()
    try:
        if len(row) > 4096:
            raise IndexError
        selection.sort(order, 0, len(row), lambda i, j: bool(values[i] < values[j]))
    except IndexError:  # PyTorch sorts with <, which is false on both sides of a nan: its sort may leave the row
        order = np.argsort(row, kind="stable").tolist()
    best, most, run = order[0], 0, 0
    for i, at in enumerate(order):
        run += 1
        if i + 1 == len(order) or values[at] != values[order[i + 1]]:
            if run > most:
                best, most = at, run
            run = 0
    return best


def _mode(x: Array, dim: int) -> tuple[Array, Array]:
    check_sorting(x)
    if not x.size:
        return of_nothing(x, dim)
    index = selection.rows(x, dim, 1, _mode_of_row)
    return np.take_along_axis(x, index, dim), index


MODE = reducing("ModeBackward0", _mode, note="to the element whose index is returned")


def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> NamedResult:
    """The most frequent value along dim, the smallest of several, and its index."""
    check_nonempty("mode", input, dim)
    if input.dtype.is_complex and not (input.array.size and input.array.ndim):  # PyTorch's kernel, which refuses them, is not reached
        check_no_complex_gradient("mode", input)
        indices = MODE(Tensor(input.array.real, dtypes.float32), dim, keepdim)[1]
        return result("mode", (Tensor(input.array.reshape(indices.array.shape).copy(), input.dtype), indices))
    return result("mode", MODE(input, dim, keepdim))


# --- quantiles ---

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _weights(ranks: Array, interpolation: str) -> tuple[Array, Array, Array]:
    """For each rank (a position that may lie between two elements) the positions below and above, and the weight of the upper."""
    if interpolation == "lower":
        ranks = np.floor(ranks)
    elif interpolation == "higher":
        ranks = np.ceil(ranks)
    elif interpolation == "nearest":
        ranks = np.rint(ranks)
    below = np.floor(ranks)
    weight = np.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
    return below.astype(np.int64), np.ceil(ranks).astype(np.int64), weight


def nanquantile(input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Any:
    """The quantiles of the elements that are not nan."""
    return quantile(input, q, dim, keepdim, interpolation, True)


def quantile(input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool = False) -> Any:
    """The values below which a share q of the elements lies, all or along dim; between two elements they are interpolated."""
    warn_of_samples(("nan" if skip_nan else "") + "quantile" + ("" if type(q) is Tensor else ".scalar"), input, q)
    _check_shares(input, q, interpolation)
    rank = input.array.ndim
    at = 0 if dim is None else wrap_dim(dim, rank)
    wanted = np.asarray(q.array if type(q) is Tensor else q, input.dtype.np)
    if wanted.size and not ((wanted >= 0) & (wanted <= 1)).all():
        raise runtime_error("quantile() q values must be in the range [0, 1]")
    flat: Any = catalog.function("flatten")(input) if dim is None else input
    if dim is not None and at != rank - 1:
        flat = transpose(unsqueeze(input, -1), at, -1)
    moving = type(q) is Tensor and (q.requires_grad or state.dual is not None)
    kept = shape_of(input, dim, keepdim)
    values = _quantiles(flat, kept, wanted.reshape(-1), interpolation, skip_nan, q if moving else None)
    squeeze, transpose_, unsqueeze_ = (catalog.method(name) for name in ("squeeze_", "transpose_", "unsqueeze_"))
    return squeeze(transpose_(unsqueeze_(values, 0), 0, -1) if wanted.ndim else values, -1)


def _quantile_shape(values: list[Any]) -> tuple[int, ...]:
    """The shape of the quantiles, which `out` has before PyTorch looks at the numbers: of an input too that is `out` itself."""
    input, q, dim, keepdim, _ = values
    return (*(q.array.shape if type(q) is Tensor else ()), *shape_of(input, dim, keepdim))


def _check_shares(input: Tensor, q: Any, interpolation: str) -> None:
    """Raise RuntimeError for shares, an interpolation or an input that PyTorch refuses before it looks at dimensions."""
    if type(q) is not Tensor and not 0 <= q <= 1:
        raise runtime_error(f"quantile() q must be in the range [0, 1] but got {q:g}")
    if interpolation not in _INTERPOLATIONS:
        raise runtime_error("quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got " + interpolation)
    if not input.array.size:
        raise runtime_error("quantile() input tensor must be non-empty")
    if type(q) is Tensor and q.array.ndim > 1:
        raise runtime_error("quantile() q must be a scalar or 1D tensor")
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise runtime_error("quantile() input tensor must be either float or double dtype")
    if type(q) is Tensor and q.dtype is not input.dtype:
        raise runtime_error("quantile() q tensor must be same dtype as the input tensor")


def _quantiles(x: Tensor, kept: Sequence[int], q: Array, interpolation: str, skip_nan: bool, moving: Tensor | None) -> Any:
    """Quantiles along the last dimension, shape (*kept, number of quantiles). A row with a nan has the quantile nan, unless nan is skipped.

    `moving` is q as a tensor that has a gradient or a tangent.
    """
    size = x.array.shape[-1]
    ordered = VIEW(SORT(x, -1, False)[0], (*kept, size))
    missing = np.isnan(ordered.array)
    if skip_nan:
        last = np.maximum(np.add.reduce(~missing, axis=-1, keepdims=True) - 1, 0).astype(x.dtype.np)
        ranks = np.asarray(q * last)
    else:
        ranks = np.broadcast_to(q * x.dtype.np.type(size - 1), (*kept, q.size))
        ranks = np.where(missing.any(-1, keepdims=True), x.dtype.np.type(size - 1), ranks)  # nan is sorted last
    below, above, weight = map(memory_format.contiguous, _weights(ranks, interpolation))
    low = GATHER(ordered, -1, below)
    if interpolation in ("lower", "higher", "nearest"):
        return low
    weights = wrap(weight.astype(x.dtype.np))
    if moving is not None and interpolation == "linear":
        ranks_of_q: Any = moving * wrap(last) if skip_nan else add_multiply.MUL_NUMBER(moving, size - 1)
        if not skip_nan:
            ranks_of_q = MASKED_FILL(ranks_of_q, missing.any(-1, keepdims=True), size - 1)
        weights = ranks_of_q - wrap(below.astype(x.dtype.np))
    return LERP_TENSOR(low, GATHER(ordered, -1, above), weights)


_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]


def _medians(name: str, whole: Op, along: Any, doc: str) -> Function:
    of_all, of_dim = _median_functions(name, whole, along)
    return Function(
        name,
        ("Tensor input |no out", of_all),
        ("Tensor input, int dim, bool keepdim=False |2 outs", of_dim),
        doc=doc,
        ops=(whole, along),
        samples=(Sample(f"{name}(x)", np.median, x=[0.5, -1.5, 2.0]), Sample(f"x.{name}(1).values", lambda x: np.median(x, 1), x=_M)),
        out=_MEDIANS,
    )


def _mode_out(input: Tensor, dim: int, keepdim: bool) -> Out:
    rank = input.array.ndim
    # PyTorch resizes by other code where there are no elements
    compared = with_dimension(lambda own, rank, at: own >= at, rank, dim, keepdim) if rank and input.array.size else None
    text = "expected scalar type '{result}' but got '{out}' for {field} output"
    return Out(text, first=True, compared=compared, silent=not rank, memory="resized", overlap="any")


_MEDIANS = Out(
    {
        "indices": "Expected tensor for argument #1 'indices' to have scalar type Long; but got {out_type} instead "
        "(while checking arguments for median)",
        "values": "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type {out_type} does "
        "not equal {result_type} (while checking arguments for median)",
    }
)


def _check_quantile(values: list[Any], out: Tensor) -> None:
    _check_shares(values[0], values[1], values[-1])
    if out.dtype is not values[0].dtype:
        raise runtime_error("quantile() out tensor must be same dtype as the input tensor")


_QUANTILE = Out(autograd="composed", inspect=_check_quantile, shape=_quantile_shape)
_Q = "int? dim=None, bool keepdim=False, *, str interpolation='linear'"

FUNCTIONS = (
    _medians("median", MEDIAN, MEDIAN_DIM, "The middle element, the lower of two; along dim with its index."),
    _medians("nanmedian", NANMEDIAN, NANMEDIAN_DIM, "The middle element, nan left out."),
    Function(
        "mode",
        ("Tensor input, int dim=-1, bool keepdim=False |2 outs", mode),
        doc="The most frequent value along dim, and its index.",
        ops=(MODE,),
        samples=(Sample("mode(x).values", None, x=[[1.0, 2.0, 0.5], [3.0, -1.0, 0.0]]),),
        out=_mode_out,
    ),
    Function(
        "quantile",
        (f"Tensor input, Tensor q, {_Q}", quantile),
        (f"Tensor input, float q, {_Q}", quantile),
        doc="The value below which a share q of the elements lies.",
        samples=(
            Sample("quantile(x, 0.3)", lambda x: np.quantile(x, 0.3), x=_M),
            Sample("x.quantile(0.6, 1)", lambda x: np.quantile(x, 0.6, 1), x=_M),
        ),
        out=_QUANTILE,
    ),
    Function(
        "nanquantile",
        (f"Tensor input, Tensor q, {_Q}", nanquantile),
        (f"Tensor input, float q, {_Q}", nanquantile),
        doc="The value below which a share q of the elements lies, nan left out.",
        samples=(Sample("nanquantile(x, 0.3)", lambda x: np.quantile(x, 0.3), x=_M),),
        out=_QUANTILE,
    ),
)
