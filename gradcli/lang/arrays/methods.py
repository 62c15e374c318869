"""The methods and attributes of numpy's arrays and scalars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.kernels import Array
from gradcli.errors import ProgramError
from gradcli.lang.arrays import dtypes, indexing, operators, printing
from gradcli.lang.arrays.conversion import as_decimals, as_index, as_shape, operand
from gradcli.lang.arrays.parameters import Declared, moderate, repeats, sizes
from gradcli.lang.arrays.running import broadcast_size, check_size, check_work, run, type_error
from gradcli.lang.arrays.values import NumpyArray, NumpyDType, NumpyScalar, wrap
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.value_classes import IteratorValue

_REDUCE = "axis axis=, dtype dtype=, target out=, bool keepdims=, number initial=, array where="
_EXTREME = "axis axis=, target out=, bool keepdims=, number initial=, array where="
_MOMENT = "axis axis=, dtype dtype=, target out=, number ddof=, bool keepdims=, *, array where=, number mean="
_TRUTH = "axis axis=, target out=, bool keepdims=, *, array where="
_ACCUMULATE = "int axis=, dtype dtype=, target out="


def _named(name: str) -> Callable[..., Any]:
    def call(a: Any, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(a, name)(*args, **kwargs)

    return call


def _dot(converted: Mapping[str, Any]) -> None:
    a, b = np.asarray(converted["self"]), np.asarray(converted["b"])
    inner = max(1, a.shape[-1] if a.ndim else 1)
    columns = b.size // max(1, (b.shape[-2] if b.ndim > 1 else b.shape[0]) if b.ndim else 1)
    check_size(a.size // inner * columns)
    check_work(a.size * columns)


def _take(converted: Mapping[str, Any]) -> None:
    array, axis = np.asarray(converted["self"]), converted.get("axis")
    length = 1 if axis is None or not -array.ndim <= axis < array.ndim else max(1, array.shape[axis])
    check_size(np.size(converted["indices"]) * (1 if axis is None else array.size // length))


def _clip(converted: Mapping[str, Any]) -> None:
    check_size(broadcast_size([one for one in converted.values() if one is not None]))


def _sorting(converted: Mapping[str, Any]) -> None:
    check_size(sizes(converted))
    check_work(sizes(converted) * 64)


_DECLARED: dict[str, tuple[str, Callable[[Mapping[str, Any]], None]]] = {
    "all": (_TRUTH, moderate),
    "any": (_TRUTH, moderate),
    "argmax": ("int axis=, target out=, *, bool keepdims=", moderate),
    "argmin": ("int axis=, target out=, *, bool keepdims=", moderate),
    "argsort": ("int axis=, str kind=", _sorting),
    "astype": ("dtype dtype, str order=, str casting=, bool subok=, bool copy=", moderate),
    "clip": ("number min=, number max=, target out=", _clip),
    "compress": ("array condition, int axis=", moderate),
    "copy": ("str order=", moderate),
    "cumprod": (_ACCUMULATE, moderate),
    "cumsum": (_ACCUMULATE, moderate),
    "diagonal": ("int offset=, int axis1=, int axis2=", moderate),
    "dot": ("array b, target out=", _dot),
    "flatten": ("str order=", moderate),
    "max": (_EXTREME, moderate),
    "mean": ("axis axis=, dtype dtype=, target out=, bool keepdims=, *, array where=", moderate),
    "min": (_EXTREME, moderate),
    "nonzero": ("", moderate),
    "prod": (_REDUCE, moderate),
    "ravel": ("str order=", moderate),
    "repeat": ("array repeats, int axis=", repeats),
    "round": ("decimals decimals=, target out=", moderate),
    "searchsorted": ("array v, str side=, array sorter=", _sorting),
    "squeeze": ("axis axis=", moderate),
    "std": (_MOMENT, moderate),
    "sum": (_REDUCE, moderate),
    "swapaxes": ("int axis1, int axis2", moderate),
    "take": ("array indices, int axis=, target out=, str mode=", _take),
    "trace": ("int offset=, int axis1=, int axis2=, dtype dtype=", moderate),
    "var": (_MOMENT, moderate),
    "view": ("", moderate),
    "conj": ("", moderate),
}
#: methods that write to the array
_WRITING: dict[str, tuple[str, Callable[[Mapping[str, Any]], None]]] = {
    "fill": ("number value", moderate),
    "partition": ("int kth, int axis=", _sorting),
    "put": ("array indices, array values, str mode=", moderate),
    "sort": ("int axis=, str kind=, *, bool stable=", _sorting),
}


#: how numpy's errors name methods
_SHOWN = {name: f"_{name}" for name in ("all", "any", "clip", "mean", "prod", "std", "sum", "var")} | {"max": "_amax", "min": "_amin"}


def _method(name: str, text: str, check: Callable[[Mapping[str, Any]], None]) -> Declared:
    return Declared(_SHOWN.get(name, name), _named(name), "array self" + (", " * bool(text)) + text, check)


def _shape_from(args: tuple[Value, ...]) -> Any:
    """The shape in `a.reshape(2, 3)` or `a.reshape((2, 3))`."""
    if len(args) == 1:
        return as_shape(args[0])
    return tuple([as_index(one) for one in args])


def _reshape(value: Value, /, *args: Value, **kwargs: Value) -> Value:
    order = kwargs.pop("order", "C")
    args = (kwargs.pop("shape"),) if "shape" in kwargs and not args else args
    if kwargs or type(order) is not str:
        raise type_error("reshape() takes a shape and order='C', 'F' or 'A' here")
    if not args:
        raise type_error("reshape() takes exactly 1 argument (0 given)")
    array = operand(value)
    check_size(array.size)
    return wrap(run(array.reshape, _shape_from(args), order=order))


def _transpose(value: Value, *args: Value) -> Value:
    array = operand(value)
    if not args or (len(args) == 1 and args[0] is None):
        return wrap(array.transpose())
    return wrap(run(array.transpose, _shape_from(args)))


def _tolist(value: Value) -> Value:
    array = operand(value)
    limits.check_list(array.size)
    check_size(array.size, 32)
    return array.tolist()


def _item(value: Value, *args: Value) -> Value:
    array = operand(value)
    if not args and array.size != 1:
        raise ProgramError("ValueError", "can only convert an array of size 1 to a Python scalar")
    places = [tuple([as_index(one) for one in arg]) if isinstance(arg, tuple) else as_index(arg) for arg in args]
    return run(array.item, *places)


def _type_of(value: Value) -> NumpyDType:
    return NumpyDType(operand(value).dtype)


def _flat(value: Value) -> IteratorValue:
    array = value.array

    def each() -> Iterator[Value]:
        for at in np.ndindex(array.shape):
            yield wrap(array[at])

    return IteratorValue("numpy.flatiter", each())


def _imaginary(value: Value) -> Value:
    check_size(np.size(operand(value)))
    return wrap(np.zeros_like(operand(value))[()])


def _set_shape(value: Value, new: Value) -> None:
    array: Array = value.array
    found = run(array.reshape, as_shape(new))
    if not np.shares_memory(found, array) and array.size:
        raise ProgramError("AttributeError", "Incompatible shape for in-place modification. Use `.reshape()` to make a copy.")
    value.array = found


def _real_part(value: Value) -> Value:
    return wrap(operand(value).real)


_ATTRIBUTES: dict[str, Callable[[Any], Value]] = {
    "dtype": _type_of,
    "itemsize": lambda value: operand(value).itemsize,
    "nbytes": lambda value: operand(value).nbytes,
    "ndim": lambda value: operand(value).ndim,
    "shape": lambda value: operand(value).shape,
    "size": lambda value: operand(value).size,
    "strides": lambda value: operand(value).strides,
    "T": lambda value: wrap(operand(value).T),
    "real": _real_part,
    "imag": _imaginary,
}
_WRITTEN: dict[str, Callable[..., Value]] = {"item": _item, "reshape": _reshape, "tolist": _tolist, "transpose": _transpose}
_METHODS: dict[str, Callable[..., Value]] = {
    **{name: _method(name, text, check) for name, (text, check) in _DECLARED.items()},
    **{name: Routine(function, name, hide_first=True) for name, function in _WRITTEN.items()},
}


def _round_scalar(value: Value, digits: Value = None) -> Value:
    """`round(scalar)`, `round(scalar, digits)`."""
    given = operand(value)
    return wrap(run(round, given) if digits is None else run(round, given, as_decimals(digits)))


def _index_of_array(value: Value) -> Value:
    array = value.array
    if array.ndim or array.dtype.kind not in "iu":
        raise type_error("only integer scalar arrays can be converted to a scalar index")
    return int(array)


def _is_integer(value: Value) -> Value:
    return bool(operand(value).is_integer())


def _as_integer_ratio(value: Value) -> Value:
    return run(operand(value).as_integer_ratio)


_FLOAT_METHODS: dict[str, Callable[..., Value]] = {
    **_METHODS,
    "is_integer": Routine(_is_integer, "is_integer", hide_first=True),
    "as_integer_ratio": Routine(_as_integer_ratio, "as_integer_ratio", hide_first=True),
}


def install() -> None:
    """Give the classes of values their tables."""
    NumpyArray.SCRIPT_ATTRIBUTES = {**_ATTRIBUTES, "flat": _flat, "mT": lambda value: wrap(run(getattr, value.array, "mT"))}
    NumpyArray.SCRIPT_SETTERS = {"shape": _set_shape}
    NumpyArray.SCRIPT_METHODS = {**_METHODS, **{name: _method(name, *row) for name, row in _WRITING.items()}}
    NumpyArray.SPECIALS = {
        **operators.ARRAY,
        "__getitem__": indexing.getitem,
        "__setitem__": indexing.setitem,
        "__delitem__": indexing.delitem,
        "__len__": indexing.length,
        "__iter__": indexing.iterate,
        "__contains__": indexing.contains,
        "__index__": _index_of_array,
        "__hash__": hash,
        "__repr__": printing.array_repr,
        "__str__": printing.array_str,
        "__format__": printing.array_format,
        "__round__": lambda value, digits=0: wrap(run(value.array.round, as_decimals(digits))),
    }
    NumpyScalar.SCRIPT_ATTRIBUTES = _ATTRIBUTES
    NumpyScalar.SCRIPT_METHODS = _FLOAT_METHODS
    NumpyScalar.SPECIALS = {
        **operators.SCALAR,
        "__getitem__": indexing.scalar_item,
        "__index__": lambda value: value.number(),
        "__repr__": repr,
        "__str__": str,
        "__format__": printing.scalar_format,
        "__round__": _round_scalar,
        "__hash__": hash,
    }
    NumpyDType.SCRIPT_ATTRIBUTES = dtypes.DTYPE_ATTRIBUTES
    NumpyDType.SPECIALS = dtypes.DTYPE_SPECIALS
