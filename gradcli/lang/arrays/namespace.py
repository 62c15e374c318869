"""The names of `numpy`, `numpy.random` and `numpy.linalg`. Nothing else of numpy can be reached."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcli.core.kernels import Array
from gradcli.lang.arrays import creation, dtypes, elementwise, index_tricks, linear_algebra, methods, printing, reductions, shaping
from gradcli.lang.arrays.values import NumpyArray, wrap
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.types import exception_type
from gradcli.lang.values.value_classes import MISSING, Builtin, Namespace, register

methods.install()
register(dtypes.NumberInfo)


def _builtins(functions: dict[str, Callable[..., Value]], shown: str = "<function {}>") -> dict[str, Value]:
    return {name: Builtin(name, function, shown.format(name)) for name, function in functions.items()}


_TEXTS: dict[str, Callable[..., Value]] = {
    "array2string": printing.array2string,
    "array_repr": printing.array_text,
    "array_str": printing.array_plain_text,
    "finfo": dtypes.float_info,
    "get_printoptions": printing.get_options,
    "iinfo": dtypes.integer_info,
    "issubdtype": dtypes.is_sub_dtype,
    "printoptions": printing.PrintOptions,
    "result_type": dtypes.result_type,
    "set_printoptions": printing.set_options,
}

LINALG = Namespace("numpy.linalg", {**_builtins(linear_algebra.LINALG), "LinAlgError": exception_type("LinAlgError")})


def _random_members() -> dict[str, Value]:
    from gradcli.lang.arrays import random  # numpy.random takes long to load

    return random.MEMBERS


RANDOM = Namespace("numpy.random", {}, lambda name: _random_members().get(name, MISSING), lambda: list(_random_members()))
MEMBERS: dict[str, Value] = {
    **_builtins(elementwise.FUNCTIONS, "<ufunc '{}'>"),
    **_builtins(reductions.FUNCTIONS),
    **_builtins(shaping.FUNCTIONS),
    **_builtins(creation.FUNCTIONS),
    **_builtins(linear_algebra.FUNCTIONS),
    **_builtins(_TEXTS),
    **dtypes.TYPES,
    **index_tricks.MEMBERS,
    "True_": wrap(np.True_),
    "False_": wrap(np.False_),
    "euler_gamma": 0.5772156649015329,
    "newaxis": None,
    "linalg": LINALG,
    "random": RANDOM,
}


def array_value(array: Array) -> NumpyArray:
    """An array as a value that shares its memory."""
    return NumpyArray(array.view())
