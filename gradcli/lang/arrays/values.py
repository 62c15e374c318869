"""The values of numpy: arrays, scalars, dtypes. The host's objects stay inside of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import NamedTuple, named_tuple
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import MOST_DIMENSIONS
from gradcli.errors import ProgramError
from gradcli.lang.arrays.running import refused
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.value_classes import NumpyValue, register

Specials = Mapping[str, Callable[..., Value]]
_EMPTY: Mapping[str, Any] = MappingProxyType({})

#: kinds of dtypes that arrays may have: bool, integers, floats
KINDS = "biuf"


def check_dimensions(count: int) -> None:
    """Raise ValueError for an array of more dimensions than all of numpy can work with."""
    if count > MOST_DIMENSIONS:
        raise ProgramError("ValueError", f"maximum supported dimension for an ndarray is currently {MOST_DIMENSIONS}, found {count}")


class NumpyArray(NumpyValue):
    """`numpy.ndarray`: a value that refers to an array. Two of them may refer to the same memory."""

    __slots__ = ("__weakref__", "array")

    SCRIPT_NAME = "numpy.ndarray"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES: Mapping[str, Callable[[Any], Value]] = _EMPTY
    SCRIPT_SETTERS: Mapping[str, Callable[[Any, Value], None]] = _EMPTY
    SCRIPT_METHODS: Mapping[str, Callable[..., Value]] = _EMPTY
    #: by name, the special methods, called with the value first
    SPECIALS: Specials = _EMPTY

    def __init__(self, array: Array) -> None:
        check_dimensions(array.ndim)
        self.array = array

    def as_array(self) -> Array:
        """The array itself."""
        return self.array

    def copied(self, deep: bool) -> Value:
        """A copy in memory of its own, in the same order."""
        return self.SCRIPT_METHODS["copy"](self, "K")

    def __hash__(self) -> int:
        raise ProgramError("TypeError", "unhashable type: 'numpy.ndarray'")

    def __eq__(self, other: object) -> bool:
        return self is other

    def special(self, name: str) -> Callable[..., Value] | None:
        """The special method `name`, bound."""
        found = self.SPECIALS.get(name)
        return None if found is None else partial(found, self)

    def __repr__(self) -> str:
        return str(self.SPECIALS["__repr__"](self))

    def __str__(self) -> str:
        return str(self.SPECIALS["__str__"](self))


class NumpyScalar(NumpyValue):
    """A scalar of numpy, such as `numpy.float64(3.0)`. Its classes derive from Python's float or int too, and hold the number so."""

    __slots__ = ()

    SCRIPT_NAME = "numpy.generic"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES: Mapping[str, Callable[[Any], Value]] = _EMPTY
    SCRIPT_METHODS: Mapping[str, Callable[..., Value]] = _EMPTY
    SPECIALS: Specials = _EMPTY
    #: numpy's class
    HOST: type[np.generic]

    def generic(self) -> Any:
        """numpy's scalar."""
        return self.HOST(self)

    def as_array(self) -> Array:
        """The scalar as an array without dimensions."""
        return np.asarray(self.generic())

    def number(self) -> float:
        """The Python number: a bool, an int or a float."""
        return self.generic().item()  # type: ignore[no-any-return]

    def is_float(self) -> bool:
        """Whether this is numpy's float64, which is a Python float."""
        return self.HOST is np.float64

    def special(self, name: str) -> Callable[..., Value] | None:
        """The special method `name`, bound."""
        if name == "__index__" and not issubclass(self.HOST, np.integer):
            return None
        found = self.SPECIALS.get(name)
        return None if found is None else partial(found, self)

    def __repr__(self) -> str:
        return repr(self.generic())

    def __str__(self) -> str:
        return str(self.generic())


class NumpyDType(NumpyValue):
    """`numpy.dtype`."""

    __slots__ = ("__weakref__", "dtype")

    SCRIPT_NAME = "numpy.dtype"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES: Mapping[str, Callable[[Any], Value]] = _EMPTY
    SPECIALS: Specials = _EMPTY

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype

    def special(self, name: str) -> Callable[..., Value] | None:
        """The special method `name`, bound."""
        found = self.SPECIALS.get(name)
        return None if found is None else partial(found, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumpyDType) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return repr(self.dtype)

    def __str__(self) -> str:
        return str(self.dtype)


def _scalar_class(host: type[np.generic]) -> type[NumpyScalar]:
    base = float if issubclass(host, np.floating) else int
    name = np.dtype(host).name
    fields = {"__slots__": (), "HOST": host, "SCRIPT_NAME": f"numpy.{name}", "__module__": __name__}
    fields |= {"__eq__": base.__eq__, "__hash__": base.__hash__}
    return type(name.capitalize(), (NumpyScalar, base), fields)


#: gradcli's classes by numpy's
SCALARS: dict[type[np.generic], type[NumpyScalar]] = {
    host: _scalar_class(host)
    for host in (
        *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64),
    )
}
register(NumpyArray, NumpyDType, *SCALARS.values())


def wrap(found: Any) -> Value:
    """What numpy returned as a value. Raises TypeError for arrays of kinds that gradcli leaves out."""
    if isinstance(found, np.ndarray):
        if found.dtype.kind not in KINDS or found.dtype.itemsize > 8:
            raise refused(f"arrays of dtype {found.dtype.name}")
        return NumpyArray(found if type(found) is np.ndarray else np.asarray(found))
    if isinstance(found, np.generic):
        kind = SCALARS.get(_plain_type(found.dtype))
        if kind is None:
            raise refused(f"numbers of dtype {found.dtype.name}")
        return kind(found.item())  # type: ignore[call-arg]
    if isinstance(found, tuple):
        made = tuple([wrap(one) for one in found])
        fields = getattr(found, "_fields", None)
        return made if fields is None else _named(type(found).__name__, fields)(made)
    if isinstance(found, list):
        return [wrap(one) for one in found]
    if isinstance(found, np.dtype):
        return NumpyDType(found)
    if found is None or isinstance(found, bool | int | float | str):
        return found
    raise ProgramError("TypeError", f"a result of the type {type(found).__name__} is not part of gradcli")


@cache
def _named(name: str, fields: tuple[str, ...]) -> type[NamedTuple]:
    """The class of named tuples such as `SVDResult`."""
    return named_tuple(f"numpy.linalg._linalg.{name}", lambda *values: values, *fields)


def _plain_type(dtype: np.dtype[Any]) -> type[np.generic]:
    """The class of a dtype's scalars; `long long` is int64, as `long` is."""
    return np.dtype(dtype.str).type
