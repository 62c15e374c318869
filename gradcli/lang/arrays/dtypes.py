"""numpy's dtypes and types of scalars as programs name them: `np.float32`, `np.dtype("int64")`, `np.ndarray`, `np.floating`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling.script_types import ScriptType
from gradcli.errors import ProgramError
from gradcli.lang.arrays.conversion import as_dtype, as_shape, operand
from gradcli.lang.arrays.running import check_size, run, type_error
from gradcli.lang.arrays.values import SCALARS, NumpyArray, NumpyDType, NumpyScalar, wrap
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED

#: names of types of scalars, with numpy's class
_NAMED: dict[str, type[np.generic]] = {
    **{host.__name__: host for host in SCALARS},
    "bool": np.bool_,
    "bool_": np.bool_,
    "byte": np.byte,
    "double": np.double,
    "half": np.half,
    "int_": np.int_,
    "intc": np.intc,
    "intp": np.intp,
    "long": np.int64,
    "longlong": np.int64,
    "short": np.short,
    "single": np.single,
    "ubyte": np.ubyte,
    "uint": np.uint64,
    "uintp": np.uintp,
    "ushort": np.ushort,
}
_ABSTRACT: dict[str, Any] = {
    "floating": np.floating,
    "generic": np.generic,
    "inexact": np.inexact,
    "integer": np.integer,
    "number": np.number,
    "signedinteger": np.signedinteger,
    "unsignedinteger": np.unsignedinteger,
}


def _maker(host: type[np.generic]) -> Callable[[Value], Value]:
    def construct(value: Value = 0, /) -> Value:
        if type(value) is str:
            return _from_text(host, value)
        given = operand(value)
        check_size(getattr(given, "size", 1))
        return wrap(run(host, given))

    return construct


def _from_text(host: type[np.generic], text: str) -> Value:
    if len(text) > 4300:
        raise ProgramError("ValueError", "a text this long is not made into a number")
    return wrap(run(host, text))


def _scalar_type(kind: type[NumpyScalar]) -> ScriptType:
    name = kind.SCRIPT_NAME.removeprefix("numpy.")
    made = ScriptType(name, "numpy", _maker(kind.HOST), lambda value: type(value) is kind)
    made.instances = kind
    kind.SCRIPT_TYPE = made
    return made


def _abstract_type(name: str, host: Any) -> ScriptType:
    return ScriptType(name, "numpy", None, lambda value: isinstance(value, NumpyScalar) and issubclass(value.HOST, host))


def _make_array(*args: Value) -> Value:
    shape = as_shape(args[0]) if args else 0
    found = np.prod(shape, dtype=float)
    check_size(max(0.0, float(found)))
    return NumpyArray(run(np.zeros, shape, dtype=as_dtype(args[1]) if len(args) > 1 else None))


def _make_dtype(dtype: Value) -> NumpyDType:
    found = as_dtype(dtype)
    return NumpyDType(np.dtype(np.float64) if found is None else found)


NDARRAY = ScriptType("ndarray", "numpy", _make_array, lambda value: type(value) is NumpyArray)
DTYPE = ScriptType("dtype", "numpy", _make_dtype, lambda value: type(value) is NumpyDType)
_BY_HOST = {host: _scalar_type(kind) for host, kind in SCALARS.items()}
_ABSTRACT_TYPES = {name: _abstract_type(name, host) for name, host in _ABSTRACT.items()}
NumpyArray.SCRIPT_TYPE = NDARRAY
NumpyDType.SCRIPT_TYPE = DTYPE

TYPES: dict[str, ScriptType] = {
    **{name: _BY_HOST[np.dtype(np.dtype(host).str).type] for name, host in _NAMED.items()},
    **_ABSTRACT_TYPES,
    "ndarray": NDARRAY,
    "dtype": DTYPE,
}


def type_of_dtype(dtype: np.dtype[Any]) -> ScriptType:
    """`dtype.type`."""
    return _BY_HOST[np.dtype(dtype.str).type]


def _host_type(value: Value) -> Any:
    """numpy's class or dtype that a type stands for, for `np.issubdtype`. Raises TypeError."""
    for name, made in _ABSTRACT_TYPES.items():
        if value is made:
            return _ABSTRACT[name]
    return as_dtype(value)


def is_sub_dtype(arg1: Value, arg2: Value) -> bool:
    """`np.issubdtype(arg1, arg2)`."""
    return bool(run(np.issubdtype, _host_type(arg1), _host_type(arg2)))


def result_type(*args: Value) -> Value:
    """`np.result_type(...)` of arrays, numbers and dtypes."""
    given = [as_dtype(one) if isinstance(one, NumpyDType | ScriptType | str) else operand(one) for one in args]
    return wrap(run(np.result_type, *given))


class NumberInfo:
    """`np.finfo(dtype)` or `np.iinfo(dtype)`: what numbers of a dtype can hold."""

    __slots__ = ("__weakref__", "fields", "text")

    SCRIPT_NAME = "finfo"

    def __init__(self, info: Any, names: tuple[str, ...]) -> None:
        self.fields = {name: wrap(getattr(info, name)) for name in names}
        self.text = repr(info)

    def __repr__(self) -> str:
        return self.text

    SCRIPT_ATTRIBUTES = {
        name: (lambda value, name=name: value.field(name))
        for name in ("bits", "dtype", "eps", "epsneg", "max", "min", "precision", "resolution", "smallest_normal", "tiny")
    }

    def field(self, name: str) -> Value:
        """One of the limits. Raises AttributeError where integers have none of that name."""
        if name not in self.fields:
            raise ProgramError("AttributeError", f"'iinfo' object has no attribute '{name}'")
        return self.fields[name]


def float_info(dtype: Value) -> NumberInfo:
    """`np.finfo(dtype)`."""
    names = ("bits", "dtype", "eps", "epsneg", "max", "min", "precision", "resolution", "smallest_normal", "tiny")
    return NumberInfo(run(np.finfo, _dtype_or_array(dtype)), names)


def integer_info(dtype: Value) -> NumberInfo:
    """`np.iinfo(dtype)`."""
    return NumberInfo(run(np.iinfo, _dtype_or_array(dtype)), ("bits", "dtype", "max", "min"))


def _dtype_or_array(value: Value) -> Any:
    found = operand(value).dtype if isinstance(value, NumpyArray | NumpyScalar) else as_dtype(value)
    if found is None:
        raise type_error("dtype must not be None")
    return found


# --- dtypes as values ---


def _same(value: Value, other: Value) -> Value:
    if type(other) is NumpyDType:
        return bool(value.dtype == other.dtype)
    try:
        return bool(value.dtype == as_dtype(other)) if other is not None else False
    except ProgramError:
        return False


def _differs(value: Value, other: Value) -> Value:
    found = _same(value, other)
    return found if found is NOT_IMPLEMENTED else not found


DTYPE_SPECIALS: dict[str, Callable[..., Value]] = {
    "__eq__": _same,
    "__ne__": _differs,
    "__hash__": lambda value: hash(value.dtype),
    "__repr__": repr,
    "__str__": str,
}
DTYPE_ATTRIBUTES: dict[str, Callable[[Any], Value]] = {
    "name": lambda value: value.dtype.name,
    "kind": lambda value: value.dtype.kind,
    "char": lambda value: value.dtype.char,
    "str": lambda value: value.dtype.str,
    "itemsize": lambda value: value.dtype.itemsize,
    "type": lambda value: type_of_dtype(value.dtype),
}
