"""Functions of numpy that make arrays: from data, of a shape, ranges, grids."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.core.calling.signature import language
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.arrays.conversion import array_of, as_bool, as_dtype, as_index
from gradcli.lang.arrays.parameters import Declared, moderate
from gradcli.lang.arrays.running import check_size, run, type_error
from gradcli.lang.arrays.values import NumpyArray, check_dimensions, wrap
from gradcli.lang.python.object_protocol import Value


def _array(*args: Value, **kwargs: Value) -> Value:
    """`np.array(object, dtype=None, copy=True, ndmin=0)`."""
    names = ("object", "dtype")
    if len(args) > len(names):
        raise type_error(f"array() takes from 1 to 2 positional arguments but {len(args)} were given")
    given = dict(zip(names, args, strict=False)) | kwargs
    for key in given:
        if key not in (*names, "copy", "ndmin"):
            raise type_error(f"array() got an unexpected keyword argument '{key}'")
    if "object" not in given:
        raise type_error("array() missing required argument 'object' (pos 0)")
    copy = given.get("copy", True)
    made = array_of(given["object"], as_dtype(given.get("dtype")), copy is not None and as_bool(copy))
    least = as_index(given.get("ndmin", 0))
    return NumpyArray(run(np.array, made, ndmin=least, copy=None) if least > made.ndim else made)


def _asarray(a: Value, dtype: Value = None) -> Value:
    """`np.asarray(a, dtype)`: the array itself where nothing changes."""
    wanted = as_dtype(dtype)
    if type(a) is NumpyArray and wanted in (None, a.array.dtype):
        return a
    return NumpyArray(array_of(a, wanted, copy=False))


def _ascontiguous(a: Value, dtype: Value = None) -> Value:
    made = array_of(a, as_dtype(dtype), copy=False)
    check_size(made.size, made.itemsize)
    return NumpyArray(run(np.ascontiguousarray, made))


def _count(shape: Any) -> int:
    if shape is None:
        raise type_error("Use () not None as shape arguments")
    sizes_ = shape if isinstance(shape, tuple) else (shape,)
    return 0 if any(n < 0 for n in sizes_) else math.prod(sizes_)


def _shaped(converted: Mapping[str, Any]) -> None:
    dtype = converted.get("dtype")
    check_size(_count(converted["shape"]), 8 if dtype is None else dtype.itemsize)


def _like(converted: Mapping[str, Any]) -> None:
    shape = converted.get("shape")
    check_size(np.size(converted["a"]) if shape is None else _count(shape))


def _square(converted: Mapping[str, Any]) -> None:
    rows = converted["N"] if "N" in converted else converted["n"]
    columns = converted.get("M")
    check_size(max(rows, 0) * max(rows if columns is None else columns, 0))


def _diagonal(converted: Mapping[str, Any]) -> None:
    array = np.asarray(converted["v"])
    k = abs(converted.get("k") or 0)
    check_size((array.size + k) ** 2 if array.ndim != 2 else array.size)


def _range(converted: Mapping[str, Any]) -> None:
    given = [converted.get(name) for name in ("start", "stop", "step")]
    start, stop, step = given
    if stop is None:
        start, stop = 0, start
    if start is None or stop is None:
        return
    step = 1 if step is None else step
    if not all(np.ndim(one) == 0 for one in (start, stop, step)):
        raise type_error("arange() takes numbers")
    if step:
        count = (float(stop) - float(start)) / float(step)
        if math.isfinite(count):
            check_size(max(0, math.ceil(count)))


def _spaced(converted: Mapping[str, Any]) -> None:
    num = converted.get("num", 50)
    check_size(max(0, num) * max(np.size(converted["start"]), np.size(converted["stop"])))


def _grid(converted: Mapping[str, Any]) -> None:
    arrays = converted["arrays"]
    total = math.prod(np.size(one) for one in arrays)
    check_size(total * max(1, len(arrays)))


def _vandermonde(converted: Mapping[str, Any]) -> None:
    array = np.asarray(converted["x"])
    columns = converted.get("N")
    check_size(array.size * (array.size if columns is None else max(columns, 0)))


def _meshgrid(*args: Value, **kwargs: Value) -> Value:
    """`np.meshgrid(*xi, indexing="xy", sparse=False)`."""
    check_dimensions(len(args))
    return _MESHGRID(list(args), **kwargs)


def _make_meshgrid(arrays: list[Any], indexing: str = "xy", sparse: bool = False) -> Any:
    return np.meshgrid(*arrays, indexing=indexing, sparse=sparse)  # type: ignore[call-overload]


_MESHGRID = Declared("meshgrid", _make_meshgrid, "arrays arrays, *, str indexing=, bool sparse=", _grid)


def _full(converted: Mapping[str, Any]) -> None:
    _shaped(converted)
    if converted["fill_value"] is None:
        raise ProgramError("TypeError", "np.full() needs a number to fill with")


_SHAPED = "shape shape, dtype dtype="
_LIKE = "array a, dtype dtype=, *, shape shape="
_DECLARED = (
    ("zeros", np.zeros, _SHAPED, _shaped),
    ("ones", np.ones, _SHAPED, _shaped),
    # zeros: memory that is not set would differ from run to run
    ("empty", np.zeros, _SHAPED, _shaped),
    ("full", np.full, "shape shape, number fill_value, dtype dtype=", _full),
    ("zeros_like", np.zeros_like, _LIKE, _like),
    ("ones_like", np.ones_like, _LIKE, _like),
    ("empty_like", np.zeros_like, _LIKE, _like),
    ("full_like", np.full_like, "array a, number fill_value, dtype dtype=, *, shape shape=", _like),
    ("eye", np.eye, "int N, int M=, int k=, dtype dtype=", _square),
    ("identity", np.identity, "int n, dtype dtype=", _square),
    ("tri", np.tri, "int N, int M=, int k=, dtype dtype=", _square),
    ("diag", np.diag, "array v, int k=", _diagonal),
    ("diagflat", np.diagflat, "array v, int k=", _diagonal),
    ("linspace", np.linspace, "array start, array stop, int num=, bool endpoint=, bool retstep=, dtype dtype=, int axis=", _spaced),
    ("logspace", np.logspace, "array start, array stop, int num=, bool endpoint=, number base=, dtype dtype=, int axis=", _spaced),
    ("geomspace", np.geomspace, "array start, array stop, int num=, bool endpoint=, dtype dtype=, int axis=", _spaced),
    ("vander", np.vander, "array x, int N=, bool increasing=", _vandermonde),
    ("tril", np.tril, "array m, int k=", moderate),
    ("triu", np.triu, "array m, int k=", moderate),
)
_ARANGE = Declared("arange", np.arange, "number start=, number stop=, number step=, dtype dtype=", _range)


def _copy(a: Value) -> Value:
    """`np.copy(a)`."""
    return NumpyArray(array_of(a))


def _shape(a: Value) -> Value:
    """`np.shape(a)`: of a tensor its own shape."""
    return a.shape if type(a) is Tensor else wrap(np.shape(array_of(a, copy=False)))


def _ndim(a: Value) -> Value:
    return array_of(a, copy=False).ndim


def _from_dlpack(x: Value, /) -> Value:
    """The memory of a tensor or of an array as an array."""
    if type(x) is not Tensor and type(x) is not NumpyArray:
        raise ProgramError("AttributeError", f"'{language.type_name(x)}' object has no attribute '__dlpack__'")
    if type(x) is Tensor and x.requires_grad:
        raise ProgramError("BufferError", "Can't export tensors that require gradient, use tensor.detach()")
    return _asarray(x)


def _size(a: Value, axis: Value = None) -> Value:
    array = array_of(a, copy=False)
    return wrap(run(np.size, array, None if axis is None else as_index(axis)))


def _indices(dimensions: Value) -> Value:
    return _INDICES(dimensions)


def _indices_check(converted: Mapping[str, Any]) -> None:
    shape = converted["shape"]
    check_size(_count(shape) * (len(shape) if isinstance(shape, tuple) else 1))


_INDICES = Declared("indices", np.indices, "shape shape", _indices_check)

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "array": _array,
    "asarray": _asarray,
    "ascontiguousarray": _ascontiguous,
    "arange": _ARANGE,
    "copy": _copy,
    "from_dlpack": _from_dlpack,
    "indices": _indices,
    "meshgrid": _meshgrid,
    "ndim": _ndim,
    "shape": _shape,
    "size": _size,
    **{name: Declared(name, function, text, check) for name, function, text, check in _DECLARED},
}
