"""Functions of numpy that reduce, accumulate, sort and count."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.arrays.elementwise import Elementwise
from gradcli.lang.arrays.parameters import Declared, moderate, sizes
from gradcli.lang.arrays.running import broadcast_size, check_size, check_work, type_error
from gradcli.lang.python.object_protocol import Value

_REDUCE = "array a, axis axis=, dtype dtype=, target out=, bool keepdims=, number initial=, array where="
_EXTREME = "array a, axis axis=, target out=, bool keepdims=, number initial=, array where="
_MOMENT = "array a, axis axis=, dtype dtype=, target out=, number ddof=, bool keepdims=, *, array where=, number mean=, number correction="
_TRUTH = "array a, axis axis=, target out=, bool keepdims=, *, array where="
_QUANTILE = "array a, array q, axis axis=, target out=, bool overwrite_input=, str method=, bool keepdims="

#: for tensors numpy calls the tensor's own method, with keywords that PyTorch does not take
_METHODS_OF_TENSORS: dict[str, tuple[Callable[..., Any], str]] = {
    "sum": (np.sum, _REDUCE),
    "mean": (np.mean, "array a, axis axis=, dtype dtype=, target out=, bool keepdims=, *, array where="),
    "prod": (np.prod, _REDUCE),
    "std": (np.std, _MOMENT),
    "var": (np.var, _MOMENT),
    "max": (np.max, _EXTREME),
    "min": (np.min, _EXTREME),
    "amax": (np.amax, _EXTREME),
    "amin": (np.amin, _EXTREME),
    "any": (np.any, _TRUTH),
    "all": (np.all, _TRUTH),
}
#: functions that give tensors for tensors
_WRAPPING: dict[str, tuple[Callable[..., Any], str]] = {
    "argmax": (np.argmax, "array a, int axis=, target out=, *, bool keepdims="),
    "argmin": (np.argmin, "array a, int axis=, target out=, *, bool keepdims="),
    "argsort": (np.argsort, "array a, int axis=, str kind=, *, bool stable="),
    "cumsum": (np.cumsum, "array a, int axis=, dtype dtype=, target out="),
    "cumprod": (np.cumprod, "array a, int axis=, dtype dtype=, target out="),
}


def _differences(a: Any, n: int = 1, axis: int = -1) -> Any:
    # more than an axis is long leave nothing, however many
    return np.diff(a, min(n, a.shape[axis] if -a.ndim <= axis < a.ndim else 1), axis)


_OTHERS: dict[str, tuple[Callable[..., Any], str]] = {
    "average": (np.average, "array a, axis axis=, array weights=, bool returned=, *, bool keepdims="),
    "median": (np.median, "array a, axis axis=, target out=, bool overwrite_input=, bool keepdims="),
    "ptp": (np.ptp, "array a, axis axis=, target out=, bool keepdims="),
    "nansum": (np.nansum, _REDUCE),
    "nanmean": (np.nanmean, "array a, axis axis=, dtype dtype=, target out=, bool keepdims="),
    "nanmax": (np.nanmax, _EXTREME),
    "nanmin": (np.nanmin, _EXTREME),
    "nanstd": (np.nanstd, _MOMENT),
    "nanvar": (np.nanvar, _MOMENT),
    "nanargmax": (np.nanargmax, "array a, int axis="),
    "nanargmin": (np.nanargmin, "array a, int axis="),
    "count_nonzero": (np.count_nonzero, "array a, axis axis=, *, bool keepdims="),
    "sort": (np.sort, "array a, int axis=, str kind=, *, bool stable="),
    "partition": (np.partition, "array a, int kth, int axis="),
    "argpartition": (np.argpartition, "array a, int kth, int axis="),
    "lexsort": (np.lexsort, "arrays keys, int axis="),
    "unique": (np.unique, "array ar, bool return_index=, bool return_inverse=, bool return_counts=, int axis=, *, bool equal_nan="),
    "searchsorted": (np.searchsorted, "array a, array v, str side=, array sorter="),
    "digitize": (np.digitize, "array x, array bins, bool right="),
    "nonzero": (np.nonzero, "array a"),
    "flatnonzero": (np.flatnonzero, "array a"),
    "argwhere": (np.argwhere, "array a"),
    "diff": (_differences, "array a, int n=, int axis="),
    "ediff1d": (np.ediff1d, "array ary"),
    "cov": (np.cov, "array m, array y=, bool rowvar=, bool bias=, int ddof="),
    "corrcoef": (np.corrcoef, "array x, array y=, bool rowvar="),
    "trapezoid": (np.trapezoid, "array y, array x=, number dx=, int axis="),
    "intersect1d": (np.intersect1d, "array ar1, array ar2"),
    "setdiff1d": (np.setdiff1d, "array ar1, array ar2"),
    "union1d": (np.union1d, "array ar1, array ar2"),
}


def _sorting(converted: Mapping[str, Any]) -> None:
    count = sizes(converted)
    check_size(count)
    check_work(count * max(1.0, math.log2(count + 1)))


class _OwnMethod(Declared):
    """A function for which numpy calls the method of a tensor, which refuses numpy's keywords."""

    __slots__ = ()

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        if args and type(args[0]) is Tensor:
            name = self.name.removeprefix("a") if self.name in ("amax", "amin") else self.name
            if name in ("sum", "mean"):
                raise type_error(f"{name}() got an unexpected keyword argument 'axis'")
            if name in ("prod", "max", "min"):
                raise type_error(f"{name}(): argument 'dim' must be int, not NoneType")
            raise type_error(f"{name}() received an invalid combination of arguments: numpy calls the tensor's own method")
        return super().__call__(*args, **kwargs)


def _covariance(converted: Mapping[str, Any]) -> None:
    array = np.atleast_2d(converted["m"] if "m" in converted else converted["x"])
    rows = array.shape[0] if converted.get("rowvar", True) else array.shape[-1]
    if converted.get("y") is not None:
        rows *= 2
    check_size(sizes(converted) + rows * rows)
    check_work(rows * array.size)


def _broadcast(converted: Mapping[str, Any]) -> None:
    check_size(max(sizes(converted), broadcast_size([one for one in converted.values() if one is not None])))


def _quantile(converted: Mapping[str, Any]) -> None:
    check_size(np.size(converted["a"]) * max(1, np.size(converted["q"])))


def _diff(converted: Mapping[str, Any]) -> None:
    check_size(sizes(converted))
    check_work(np.size(converted["a"]) * min(converted.get("n") or 1, np.size(converted["a"])))


def _bins(converted: Mapping[str, Any]) -> None:
    bins = converted.get("bins")
    check_size(sizes(converted) + (int(bins) if isinstance(bins, int) else 0))
    data = np.asarray(converted["a"])
    if isinstance(bins, str) and data.size:
        _check_automatic(data, converted)


def _check_automatic(data: Any, converted: Mapping[str, Any]) -> None:
    """With an automatic width, one far value makes very many bins. Raises LimitError."""
    given = data[np.isfinite(data)] if data.dtype.kind == "f" else data
    span = converted.get("range")
    low, high = (given.min(initial=np.inf), given.max(initial=-np.inf)) if span is None else (min(span), max(span))
    width = np.diff(np.quantile(given, (0.25, 0.75)))[0] if given.size else 0
    if width > 0 and high > low:
        check_size(float(high - low) / float(width) * given.size)


def _bincount(converted: Mapping[str, Any]) -> None:
    array = np.asarray(converted["x"])
    top = int(array.max(initial=0)) if array.dtype.kind in "iub" and array.size else 0
    check_size(max(top + 1, converted.get("minlength") or 0))


_MORE = {
    "bincount": Declared("bincount", np.bincount, "array x, array weights=, int minlength=", _bincount),
    "cov": Declared("cov", *_OTHERS.pop("cov"), _covariance),
    "corrcoef": Declared("corrcoef", *_OTHERS.pop("corrcoef"), _covariance),
    "diff": Declared("diff", *_OTHERS.pop("diff"), _diff),
    "average": Declared("average", *_OTHERS.pop("average"), _broadcast),
    "trapezoid": Declared("trapezoid", *_OTHERS.pop("trapezoid"), _broadcast),
    "histogram": Declared("histogram", np.histogram, "array a, bins bins=, array range=, bool density=, array weights=", _bins),
    "quantile": Declared("quantile", np.quantile, _QUANTILE, _quantile),
    "percentile": Declared("percentile", np.percentile, _QUANTILE, _quantile),
    "nanpercentile": Declared("nanpercentile", np.nanpercentile, _QUANTILE, _quantile),
}

FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: _OwnMethod(name, function, text, moderate) for name, (function, text) in _METHODS_OF_TENSORS.items()},
    **{name: Elementwise(name, function, text, _sorting) for name, (function, text) in _WRAPPING.items()},
    **{name: Declared(name, function, text, _sorting) for name, (function, text) in _OTHERS.items()},
    **_MORE,
}
