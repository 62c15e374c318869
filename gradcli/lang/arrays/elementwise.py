"""numpy's universal functions, and functions like them. With a tensor among the arguments the result is a tensor, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.tensor import wrap as tensor_of
from gradcli.lang.arrays.conversion import as_bool, as_dtype, operand
from gradcli.lang.arrays.operators import as_tensor_result, check_product
from gradcli.lang.arrays.parameters import KINDS, Declared
from gradcli.lang.arrays.running import broadcast_size, check_size, run, type_error
from gradcli.lang.arrays.values import wrap
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.type_names import type_name

_UFUNCS: tuple[np.ufunc, ...] = (
    *(np.absolute, np.add, np.arccos, np.arccosh, np.arcsin, np.arcsinh, np.arctan, np.arctan2, np.arctanh, np.bitwise_and),
    *(np.bitwise_or, np.bitwise_xor, np.cbrt, np.ceil, np.copysign, np.cos, np.cosh, np.deg2rad, np.degrees, np.divide, np.divmod),
    *(np.equal, np.exp, np.exp2, np.expm1, np.fabs, np.float_power, np.floor, np.floor_divide, np.fmax, np.fmin, np.fmod),
    *(np.gcd, np.greater, np.greater_equal, np.heaviside, np.hypot, np.invert, np.isfinite, np.isinf, np.isnan, np.lcm),
    *(np.left_shift, np.less, np.less_equal, np.log, np.log10, np.log1p, np.log2, np.logaddexp, np.logaddexp2, np.logical_and),
    *(np.logical_not, np.logical_or, np.logical_xor, np.matmul, np.maximum, np.minimum, np.mod, np.modf, np.multiply, np.negative),
    *(np.nextafter, np.not_equal, np.positive, np.power, np.rad2deg, np.radians, np.reciprocal, np.remainder, np.right_shift),
    *(np.rint, np.sign, np.signbit, np.sin, np.sinh, np.spacing, np.sqrt, np.square, np.subtract, np.tan, np.tanh, np.trunc),
)
#: other names of universal functions
_ALIASES = {
    "abs": np.absolute,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "bitwise_not": np.invert,
    "mod": np.remainder,
    "pow": np.power,
    "true_divide": np.true_divide,
}


class Universal:
    """A universal function as programs call it."""

    __slots__ = ("name", "ufunc")

    def __init__(self, name: str, ufunc: np.ufunc) -> None:
        self.name = name
        self.ufunc = ufunc

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        ufunc = self.ufunc
        if not ufunc.nin <= len(args) <= ufunc.nargs:
            takes = f"from {ufunc.nin} to {ufunc.nargs} positional arguments but {len(args)} were given"
            raise type_error(f"{ufunc.__name__}() takes {takes}")
        operands = [self._operand(value, at) for at, value in enumerate(args[: ufunc.nin])]
        out = args[ufunc.nin] if len(args) > ufunc.nin else None
        options = self._options(kwargs)
        if ufunc is np.matmul:
            check_product(*operands)
        else:
            check_size(broadcast_size(operands))
        if out is not None:
            options["out"] = KINDS["target"](out)
        target = out if out is not None else kwargs.get("out")
        found = run(ufunc, *operands, **options)
        if target is not None:
            return target
        if Tensor in map(type, args):
            return tuple([as_tensor_result(one) for one in found]) if isinstance(found, tuple) else as_tensor_result(found)
        return wrap(found)

    def _operand(self, value: Value, at: int) -> Any:
        """An operand. Raises TypeError for what is no number, and for integers that 64 bits cannot hold."""
        if type(value) is int and not -(1 << 63) <= value < 1 << 64:
            raise type_error(f"loop of ufunc does not support argument {at} of type int which has no callable {self.name} method")
        if value is None or isinstance(value, str | dict | set | frozenset):
            raise type_error(f"numpy.{self.name} of a {type_name(value)} is not part of gradcli")
        return operand(value)

    def _options(self, kwargs: dict[str, Value]) -> dict[str, Any]:
        options: dict[str, Any] = {}
        for key, value in kwargs.items():
            if key == "out":
                options["out"] = KINDS["target"](value)
            elif key == "dtype":
                options["dtype"] = as_dtype(value)
            elif key == "where":
                options["where"] = as_bool(value) if type(value) is bool else operand(value)
            else:
                raise type_error(f"{self.ufunc.__name__}() got an unexpected keyword argument '{key}'")
        return options


def _broadcast(converted: Any) -> None:
    check_size(broadcast_size(converted.values()))


class Elementwise(Declared):
    """A function that is not universal and gives tensors for tensors."""

    __slots__ = ()

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        if not args or type(args[0]) is not Tensor:
            return super().__call__(*args, **kwargs)
        array = np.asarray(operand(super().__call__(*args, **kwargs)))
        return tensor_of(array)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, **more: Any) -> Any:
    return np.clip(a, more.pop("min", a_min), more.pop("max", a_max), **more)


#: bound of numpy's search for an element that two arrays share, which is exponential for some strides
_LITTLE_WORK: Any = 100_000

_WRAPPING: dict[str, tuple[Callable[..., Any], str]] = {
    "around": (np.around, "array a, decimals decimals=, target out="),
    "clip": (_clip, "array a, number a_min=, number a_max=, target out=, *, number min=, number max="),
    "round": (np.round, "array a, decimals decimals=, target out="),
    "fix": (np.fix, "array x, target out="),
}
_DECLARED: dict[str, tuple[Callable[..., Any], str]] = {
    "angle": (np.angle, "array z, bool deg="),
    "allclose": (np.allclose, "array a, array b, number rtol=, number atol=, bool equal_nan="),
    "isclose": (np.isclose, "array a, array b, number rtol=, number atol=, bool equal_nan="),
    "array_equal": (np.array_equal, "array a1, array a2, bool equal_nan="),
    "isin": (np.isin, "array element, array test_elements"),
    "interp": (np.interp, "array x, array xp, array fp, number left=, number right="),
    "shares_memory": (partial(np.shares_memory, max_work=_LITTLE_WORK), "array a, array b"),
    "isneginf": (np.isneginf, "array x"),
    "isposinf": (np.isposinf, "array x"),
    "nan_to_num": (np.nan_to_num, "array x, bool copy=, number nan=, number posinf=, number neginf="),
    "sinc": (np.sinc, "array x"),
    "i0": (np.i0, "array x"),
}

FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{ufunc.__name__: Universal(ufunc.__name__, ufunc) for ufunc in _UFUNCS},
    **{name: Universal(name, ufunc) for name, ufunc in _ALIASES.items()},
    **{name: Elementwise(name, function, text, _broadcast) for name, (function, text) in _WRAPPING.items()},
    **{name: Declared(name, function, text, _broadcast) for name, (function, text) in _DECLARED.items()},
}
