"""The functions of torch.masked. They are composed of public functions, in PyTorch's order, so that their graphs are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling.routines import Routine
from gradcli.core.functions.catalog import function
from gradcli.core.ops.create.leaf import leaf
from gradcli.core.ops.masked.masks import dims_of, dtype_of, filled, mask_of, to
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

#: the dtypes whose sums and products are counted in int64
_SMALL = (dtypes.uint8, dtypes.bool_, dtypes.int8, dtypes.int16, dtypes.int32)


def _summed_dtype(input: Tensor, dtype: DType | None) -> DType:
    found = dtype_of(input, dtype, "layout")
    return dtypes.int64 if dtype is None and found in _SMALL else found


def _sum(input: Tensor, dim: Any = None, *, keepdim: Any = False, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
    dtype = _summed_dtype(input, dtype)
    dims = dims_of(dim, input.array.ndim)
    return function("sum")(filled("sum", input, mask), dims, bool(keepdim), dtype=dtype)


def _prod(input: Tensor, dim: Any = None, *, keepdim: Any = False, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
    dtype = _summed_dtype(input, dtype)
    dims = dims_of(dim, input.array.ndim)
    made = to(filled("prod", input, mask), dtype)
    for d in reversed(dims):
        made = function("prod")(made, dim=d, keepdim=bool(keepdim))
    return made


def _cumulative(name: str, of: str) -> Callable[..., Any]:
    def run(input: Tensor, dim: Any, *, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
        dtype = dtype_of(input, dtype)
        first = dims_of(dim, input.array.ndim)[0]
        return to(function(name)(filled(of, input, mask), first, dtype=dtype), dtype)

    return run


def _extreme(name: str) -> Callable[..., Any]:
    def run(input: Tensor, dim: Any = None, *, keepdim: Any = False, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
        dtype = dtype_of(input, dtype)
        chosen = filled(name, input, mask)
        return to(function(name)(chosen, dims_of(dim, chosen.array.ndim), bool(keepdim)), dtype)

    return run


def _position(name: str) -> Callable[..., Any]:
    def run(input: Tensor, dim: Any = None, *, keepdim: Any = False, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
        dtype = dtype_of(input, dtype)
        return to(function(name)(filled(name, input, mask), dim, bool(keepdim)), dtype)

    return run


def _mean(input: Tensor, dim: Any = None, *, keepdim: Any = False, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
    source = "Optional" if dtype else "Input"
    dtype = dtype_of(input, dtype)
    if not dtype.is_differentiable:
        wanted = f"{source} dtype must be either a floating point or complex dtype. Got: {dtype}"
        raise ProgramError("ValueError", f"mean(): Could not infer output dtype. {wanted}")
    count, total = _count_and_sum(input, dim, keepdim, dtype, None if mask is None else mask_of(input, mask))
    return total / count


def _count_and_sum(input: Tensor, dim: Any, keepdim: Any, dtype: DType, mask: Tensor | None) -> tuple[Any, Any]:
    """How many elements are selected, and their sum; the mask has the shape of the input."""
    if mask is None:
        count = _sum(leaf(np.ones(input.shape, np.int64), dtypes.int64), dim, keepdim=keepdim)
    else:
        count = function("sum")(mask, dim=dim, keepdim=bool(keepdim))
    return count, _sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)


def _median(input: Tensor, dim: Any = -1, *, keepdim: Any = False, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
    dtype = dtype_of(input, dtype)
    first = dims_of(dim, input.array.ndim)[0]
    is_float = input.dtype.is_floating_point
    chosen = filled("median", input if is_float else to(input, dtypes.float32), mask)
    made = function("nanmedian")(chosen, first, keepdim)[0]
    if is_float:
        return made
    if np.isnan(made.array).any():
        raise ProgramError("ValueError", "masked median expects no fully masked out rows if dtype is not floating point")
    return to(made, dtype)


def _logsumexp(input: Tensor, dim: Any = None, *, keepdim: Any = False, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
    dtype = dtype_of(input, dtype)
    dims = dims_of(dim, input.array.ndim)
    return to(function("logsumexp")(filled("logsumexp", input, mask), dims, keepdim=keepdim), dtype)


def _logaddexp(
    input: Tensor, other: Tensor, *, dtype: DType | None = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None
) -> Any:
    dtype = dtype_of(input, dtype)
    return to(function("logaddexp")(filled("logaddexp", input, input_mask), filled("logaddexp", other, other_mask)), dtype)


def _norm(
    input: Tensor, ord: Any = 2.0, dim: Any = None, *, keepdim: Any = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Any:
    dtype = dtype_of(input, dtype)
    chosen = filled("norm", input, mask, ord)
    return function("linalg.vector_norm")(chosen, ord, dims_of(dim, input.array.ndim), bool(keepdim), dtype=dtype)


def _variance(name: str) -> Callable[..., Any]:
    def run(
        input: Tensor,
        dim: Any = None,
        unbiased: Any = None,
        *,
        correction: Any = None,
        keepdim: Any = False,
        dtype: DType | None = None,
        mask: Tensor | None = None,
    ) -> Any:
        if unbiased is not None and correction is not None:
            raise ProgramError("AssertionError", "Only one of unbiased and correction may be given")
        if correction is None:
            correction = 1.0 if unbiased is None or unbiased else 0.0
        found = dtype_of(input, dtype)
        dtype = found if dtype or found.is_differentiable else dtypes.float32
        made = _variance_of(input, dim, float(correction), keepdim, dtype, None if mask is None else mask_of(input, mask))
        return function("sqrt")(made) if name == "std" else made

    return run


def _variance_of(input: Tensor, dim: Any, correction: float, keepdim: Any, dtype: DType, mask: Tensor | None) -> Tensor:
    computed = dtype if dtype.is_differentiable else dtypes.float32
    count, total = _count_and_sum(input, dim, True, dtype, mask)
    deviation = function("subtract")(input, function("divide")(total, count))
    total = _sum(deviation * function("conj")(deviation), dim, keepdim=keepdim, dtype=computed, mask=mask)
    if not keepdim:
        count = function("reshape")(count, total.shape)
    if correction != 0:
        count = function("subtract")(to(count, computed.real), correction)
        count = function("maximum")(count, leaf(np.zeros((), count.array.dtype), count.dtype))
    return to(function("divide")(total, count), dtype)


def _normalised(name: str, of: str) -> Callable[..., Any]:
    def run(input: Tensor, dim: Any, *, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
        dtype = dtype_of(input, dtype)
        first = dims_of(dim, input.array.ndim)[0]
        return function(f"nn.functional.{name}")(filled(of, input, mask), first, dtype=dtype)

    return run


def _normalize(input: Tensor, ord: Any, dim: Any, *, eps: Any = 1e-12, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
    dtype = dtype_of(input, dtype)
    chosen = filled("sum", input, mask)
    norm = _norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    least = leaf(dtypes.cast(np.asarray(eps), norm.dtype), norm.dtype)
    return function("divide")(chosen, function("maximum")(norm, least))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _sum,
    "prod": _prod,
    "cumsum": _cumulative("cumsum", "sum"),
    "cumprod": _cumulative("cumprod", "prod"),
    "amax": _extreme("amax"),
    "amin": _extreme("amin"),
    "argmax": _position("argmax"),
    "argmin": _position("argmin"),
    "mean": _mean,
    "median": _median,
    "logsumexp": _logsumexp,
    "logaddexp": _logaddexp,
    "norm": _norm,
    "var": _variance("var"),
    "std": _variance("std"),
    "softmax": _normalised("softmax", "amax"),
    "log_softmax": _normalised("log_softmax", "amax"),
    "softmin": _normalised("softmin", "amin"),
    "normalize": _normalize,
}
#: the functions by name
ROUTINES = {name: Routine(run, name) for name, run in _FUNCTIONS.items()}
