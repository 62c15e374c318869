"""The operators of numpy's arrays and scalars, as special methods."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.ops import operators as core
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.tensor import wrap as tensor_of
from gradcli.lang.arrays.conversion import as_index, is_sequence, operand, tensor_array
from gradcli.lang.arrays.running import broadcast_size, check_size, check_work, run, type_error
from gradcli.lang.arrays.values import NumpyArray, NumpyScalar, wrap
from gradcli.lang.python.numbers import AUGMENTED
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED, OPERATORS

#: how a torch tensor takes part in numpy's functions
ARRAY_WRAP = "__array_wrap__ must accept context and return_scalar arguments (positionally) in the future. (Deprecated NumPy 2.0)"

_HOST: dict[str, Callable[[Any, Any], Any]] = {
    symbol: divmod if symbol == "divmod" else getattr(operator, f"__{stem}__") for symbol, stem in OPERATORS.items()
}
_COMPARE: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "__eq__": ("==", operator.eq),
    "__ne__": ("!=", operator.ne),
    "__lt__": ("<", operator.lt),
    "__le__": ("<=", operator.le),
    "__gt__": (">", operator.gt),
    "__ge__": (">=", operator.ge),
}
_CONCATENATION = (
    "Concatenation operation is not implemented for NumPy arrays, use np.concatenate() instead. Please do not rely on this error; "
    "it may not be given on all Python implementations."
)


def is_operand(value: Value) -> bool:
    """Whether numpy computes with the value."""
    return type(value) in (float, int, bool) or isinstance(value, NumpyArray | NumpyScalar) or is_sequence(value)


def check_product(a: Any, b: Any) -> None:
    """Refuse a matrix product that is too large. Raises LimitError."""
    rows, columns = getattr(a, "shape", ()), getattr(b, "shape", ())
    if not rows or not columns:
        check_size(broadcast_size((a, b)))
        return
    inner = rows[-1]
    left = math.prod(rows[:-1])
    right = columns[-1] if len(columns) > 1 else 1
    batch = math.prod(columns[:-2])
    check_size(left * right * (batch if len(rows) < 3 else max(1, batch)))
    check_work(left * right * batch * inner)


def check_operands(symbol: str, a: Any, b: Any) -> None:
    """Refuse operands whose result is too large. Raises LimitError."""
    if symbol == "@":
        check_product(a, b)
    else:
        check_size(broadcast_size((a, b)))


def as_tensor_result(found: Any) -> Tensor:
    """A result of numpy as a tensor, which is what operations with a tensor give; numpy's masks become uint8."""
    warnings.emit(ARRAY_WRAP, "DeprecationWarning")
    array = np.asarray(found)
    return tensor_of(array.astype(np.uint8) if array.dtype.kind == "b" else array)


def _with_tensor(symbol: str, array: Value, tensor: Tensor, reflected: bool) -> Value:
    """An array and a tensor: the tensor on the left computes as numpy does, and on the right only `/` is known."""
    if isinstance(array, NumpyScalar):
        number: Any = array.number()
        number = float(number) if type(number) is bool else number
        if symbol == "@":
            return NOT_IMPLEMENTED
        return core.BINARY[symbol](tensor, number) if reflected else core.BINARY[symbol](number, tensor)
    if reflected:
        given = tensor_array(tensor)
        check_operands(symbol, given, array.array)
        return as_tensor_result(run(_HOST[symbol], given, array.array))
    if symbol == "+":
        raise type_error(_CONCATENATION)
    if symbol == "/":
        inverse = tensor_array(core.BINARY["/"](1, tensor))
        return tensor_of(run(operator.mul, inverse, array.array))
    return NOT_IMPLEMENTED


def _repeated(value: NumpyScalar, sequence: Value) -> Value:
    """`[1, 2] * np.int64(2)`. Raises TypeError for a scalar that is no integer."""
    if isinstance(value, float):
        raise type_error(f"can't multiply sequence by non-int of type '{value.SCRIPT_NAME}'")
    times = as_index(value)
    check = limits.check_string if isinstance(sequence, str) else limits.check_list
    check(len(sequence) * max(times, 0))
    if not isinstance(sequence, str):
        check_size(len(sequence) * max(times, 0))
    return sequence * times


def _binary(symbol: str, reflected: bool) -> Callable[[Value, Value], Value]:
    host = _HOST[symbol]

    def operate(value: Value, other: Value) -> Value:
        if type(other) is Tensor:
            return NOT_IMPLEMENTED if symbol == "divmod" else _with_tensor(symbol, value, other, reflected)
        if isinstance(value, NumpyScalar) and symbol == "*" and isinstance(other, list | tuple | str):
            return _repeated(value, other)
        if not is_operand(other):
            return NOT_IMPLEMENTED
        a, b = operand(value), operand(other)
        if reflected:
            a, b = b, a
        check_operands(symbol, a, b)
        return wrap(run(host, a, b))

    return operate


def _inplace(symbol: str) -> Callable[[Value, Value], Value]:
    host = AUGMENTED[symbol]

    def operate(value: Value, other: Value) -> Value:
        if not is_operand(other):
            return NOT_IMPLEMENTED
        b = operand(other)
        check_operands(symbol, value.array, b)
        found = run(host, value.array, b)
        return value if found is value.array else wrap(found)

    return operate


def _compare(name: str) -> Callable[[Value, Value], Value]:
    symbol, host = _COMPARE[name]

    def compare(value: Value, other: Value) -> Value:
        if type(other) is Tensor:
            if isinstance(value, NumpyScalar):
                return core.COMPARE[symbol](value.number(), other)
            if symbol == "!=":
                return True  # PyTorch leaves it to Python, which compares the objects
            return core.COMPARE[symbol](other, tensor_of(value.array)) if symbol == "==" else NOT_IMPLEMENTED
        if not is_operand(other) and type(other) is not complex:
            if symbol not in ("==", "!="):
                return NOT_IMPLEMENTED
            if isinstance(value, NumpyScalar) or other is not None:
                return NOT_IMPLEMENTED
            return wrap(np.full(value.array.shape, symbol == "!="))
        a, b = operand(value), other if type(other) is complex else operand(other)
        check_size(broadcast_size((a, b)), 1)
        return wrap(run(host, a, b))

    return compare


def _unary(host: Callable[[Any], Any]) -> Callable[[Value], Value]:
    def operate(value: Value) -> Value:
        a = operand(value)
        check_size(getattr(a, "size", 1))
        return wrap(run(host, a))

    return operate


_BOTH: dict[str, Callable[..., Value]] = {
    **{f"__{stem}__": _binary(symbol, False) for symbol, stem in OPERATORS.items()},
    **{f"__r{stem}__": _binary(symbol, True) for symbol, stem in OPERATORS.items()},
    **{name: _compare(name) for name in _COMPARE},
    "__neg__": _unary(operator.neg),
    "__pos__": _unary(operator.pos),
    "__invert__": _unary(operator.invert),
    "__abs__": _unary(operator.abs),
    "__bool__": lambda value: run(bool, operand(value)),
    "__int__": lambda value: run(int, operand(value)),
    "__float__": lambda value: run(float, operand(value)),
}

#: special methods of arrays that compute
ARRAY = {**_BOTH, **{f"__i{stem}__": _inplace(symbol) for symbol, stem in OPERATORS.items() if symbol in AUGMENTED}}
#: and of scalars
SCALAR = _BOTH
