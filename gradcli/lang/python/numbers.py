"""Arithmetic of host values: `BINARY[op](a, b)`, `UNARY[op](a)`, and `int`, `float`, `abs`, `round`.

The size of a result is estimated before it is computed. Integers of at most 64 bits are never refused.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial

from gradcli import limits
from gradcli.errors import InternalFault, ProgramError
from gradcli.lang.python import comparing
from gradcli.lang.python.dict_views import ItemsView, KeysView
from gradcli.lang.python.dicts_and_sets import fill_dict
from gradcli.lang.python.object_protocol import Ops, Value, hosted, hosted_call, type_error
from gradcli.lang.python.percent_formatting import percent_format
from gradcli.lang.python.sequences import extend

Binary = Callable[[Value, Value], Value]

_WORD = 1 << 63
_HALF = 1 << 31
_INTEGERS = (int, bool)
_SEQUENCES = (str, list, tuple)


def _checked(value: int) -> int:
    if not -_WORD < value < _WORD:
        limits.check_integer(value)
    return value


# --- + - * ----------------------------------------------------------------------------------------------------


def add(a: Value, b: Value) -> Value:
    """`a + b`."""
    kind = type(a)
    if kind is type(b):
        if kind is float:
            return a + b
        if kind is int:
            result = a + b
            return result if -_WORD < result < _WORD else _checked(result)
    if isinstance(a, str) and isinstance(b, str):
        limits.check_string(len(a) + len(b))
    elif (isinstance(a, list) and isinstance(b, list)) or (isinstance(a, tuple) and isinstance(b, tuple)):
        limits.check_list(len(a) + len(b))
    return _number(hosted(operator.add, a, b))


def _number(value: Value) -> Value:
    return _checked(value) if type(value) is int else value


def sub(a: Value, b: Value) -> Value:
    """`a - b`."""
    kind = type(a)
    if kind is type(b):
        if kind is float:
            return a - b
        if kind is int:
            result = a - b
            return result if -_WORD < result < _WORD else _checked(result)
    return _number(_set_operation(operator.sub, a, b))


def mul(a: Value, b: Value) -> Value:
    """`a * b`; sequences repeat on either side."""
    kind = type(a)
    if kind is type(b):
        if kind is float:
            return a * b
        if kind is int:
            if -_HALF < a < _HALF and -_HALF < b < _HALF:
                return a * b
            limits.check_digits(a.bit_length() + b.bit_length() - 1)
            return _checked(a * b)
    if isinstance(a, _SEQUENCES) and isinstance(b, _INTEGERS):
        _check_repeated(a, b)
    elif isinstance(b, _SEQUENCES) and isinstance(a, _INTEGERS):
        _check_repeated(b, a)
    return _number(hosted(operator.mul, a, b))


def _check_repeated(value: Value, times: int) -> None:
    length = len(value) * max(times, 0)
    if isinstance(value, str):
        limits.check_string(length)
    else:
        limits.check_list(length)


# --- division -------------------------------------------------------------------------------------------------


def truediv(a: Value, b: Value) -> Value:
    """`a / b`."""
    return a / b if type(a) is float and type(b) is float and b else hosted(operator.truediv, a, b)


def mod(a: Value, b: Value) -> Value:
    """`a % b` where `a` is not a string. `modulo` formats strings: Python's own formatting must not see a program's templates."""
    if isinstance(a, str):
        raise InternalFault("text is formatted by the operator of binary_table")
    return hosted(operator.mod, a, b)


def modulo(ops: Ops) -> Binary:
    """The `%` operator, which formats when the left operand is a string."""

    def either(a: Value, b: Value) -> Value:
        return percent_format(ops, a, b) if isinstance(a, str) else mod(a, b)

    return either


# --- powers and shifts ------------------------------------------------------------------------------------------


def _check_power(a: int, b: int) -> None:
    if b > 1 and not -2 < a < 2:
        # at most 2**62, so that the product fits a float; the limit is far below that
        limits.check_digits(math.log2(abs(a)) * min(b, 1 << 62))


def power(a: Value, b: Value) -> Value:
    """`a ** b`."""
    if isinstance(a, _INTEGERS) and isinstance(b, _INTEGERS):
        _check_power(a, b)
        return _number(hosted(operator.pow, a, b))
    return hosted(operator.pow, a, b)


def host_pow(a: Value, b: Value, modulus: Value = None) -> Value:
    """The builtin `pow(a, b[, modulus])`."""
    return power(a, b) if modulus is None else hosted(pow, a, b, modulus)


def lshift(a: Value, b: Value) -> Value:
    """`a << b`."""
    if isinstance(a, _INTEGERS) and isinstance(b, _INTEGERS) and a and b > 0:
        limits.check_digits(a.bit_length() + min(b, 1 << 62))
    return _number(hosted(operator.lshift, a, b))


# --- sets, dictionaries, bits -----------------------------------------------------------------------------------


def _set_operation(primitive: Callable[[Value, Value], Value], a: Value, b: Value) -> Value:
    """Run an operator that is also defined for sets, dictionaries and views of dictionaries."""
    a, b = _set_operands(a, b)
    if isinstance(a, (set, frozenset, dict)) and isinstance(b, (set, frozenset, dict)) and len(a) + len(b) > limits.current.list:
        # the result has at most as many items as the union of the keys
        limits.check_list(len(hosted(primitive, set(a), set(b))))
    return hosted(primitive, a, b)


def _set_operands(a: Value, b: Value) -> tuple[Value, Value]:
    """Both operands as sets where one is a set-like view of a dictionary, otherwise as they are."""
    if isinstance(a, (KeysView, ItemsView)) or isinstance(b, (KeysView, ItemsView)):
        return _as_set(a), _as_set(b)
    return a, b


def _as_set(value: Value) -> Value:
    if isinstance(value, KeysView):
        return set(value.mapping)
    if isinstance(value, (list, tuple, ItemsView)):
        items = list(value)
        for item in items:
            comparing.check_hashable(item)
        return set(items)
    return value


bit_and: Binary = partial(_set_operation, operator.and_)
bit_or: Binary = partial(_set_operation, operator.or_)

#: the binary operators, without `%` for strings, which `binary_table` adds
BINARY: dict[str, Binary] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": truediv,
    "//": partial(hosted, operator.floordiv),
    "%": mod,
    "**": power,
    "<<": lshift,
    ">>": partial(hosted, operator.rshift),
    "&": bit_and,
    "|": bit_or,
    "^": partial(_set_operation, operator.xor),
    "@": partial(hosted, operator.matmul),
}

UNARY: dict[str, Callable[[Value], Value]] = {
    "-": lambda a: -a if type(a) is float else hosted(operator.neg, a),
    "+": partial(hosted, operator.pos),
    "~": partial(hosted, operator.invert),
}


def binary_table(ops: Ops) -> dict[str, Binary]:
    """The binary operators, `%` on strings among them."""
    return {**BINARY, "%": modulo(ops)}


# --- augmented assignment ---------------------------------------------------------------------------------------

#: run after the plain operator has refused the operands: they are refused again, and the message names the operator with its `=`
AUGMENTED: dict[str, Binary] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "<<": operator.ilshift,
    ">>": operator.irshift,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
    "@": operator.imatmul,
}


def augmented(ops: Ops, table: dict[str, Binary], op: str, a: Value, b: Value) -> Value:
    """`a op= b`: lists, sets and dicts change in place. `table` has the plain operators, as `binary_table` makes it."""
    if isinstance(a, list) and op == "+":
        extend(ops, a, b)
        return a
    if isinstance(a, list) and op == "*" and isinstance(b, _INTEGERS):
        _check_repeated(a, b)
        a *= b
        return a
    if isinstance(a, dict) and op == "|":
        fill_dict(ops, a, (b,), {})
        return a
    if op == "*" and isinstance(a, (set, frozenset, dict, range)):  # CPython does not try the right operand's repetition here
        names = (type(a).__name__, type(b).__name__)
        raise type_error("unsupported operand type(s) for *=: '{}' and '{}'".format(*names), *names)
    try:
        result = table[op](a, b)
    except ProgramError as error:
        if error.type_name != "TypeError" or (isinstance(a, str) and op == "%"):
            raise
        return hosted_call(AUGMENTED[op], _set_operands(a, b), {}, ops)
    if isinstance(a, set) and isinstance(result, set):
        a.clear()
        a.update(result)
        return a
    return result


# --- divmod(), abs(), int(), float(), round() -------------------------------------------------------------------


#: `divmod` and `abs` of host values
host_divmod: Binary = partial(hosted, divmod)
host_abs: Callable[[Value], Value] = partial(hosted, abs)


def to_int(*args: Value, **kwargs: Value) -> int:
    """`int(x)` or `int(text, base)` of host values.

    CPython refuses too many decimal digits before it reads them, and `from_host` makes a LimitError of that. The result is
    checked again, because in other bases CPython reads any number of digits, in linear time if the base is a power of two.
    """
    value: int = hosted_call(int, args, kwargs)
    if value.bit_length() > 64:
        limits.check_integer(value)
    return value


def to_float(*args: Value, **kwargs: Value) -> float:
    """`float(x)` of a host value."""
    return hosted_call(float, args, kwargs)  # type: ignore[no-any-return]


def to_complex(*args: Value, **kwargs: Value) -> complex:
    """`complex(real, imag)` or `complex(text)` of host values."""
    return hosted_call(complex, args, kwargs)  # type: ignore[no-any-return]


def host_round(number: Value, ndigits: Value = None) -> Value:
    """`round(x[, ndigits])` of a host value. Python would compute 10**-ndigits, however large."""
    if isinstance(number, int) and isinstance(ndigits, int) and -ndigits > number.bit_length() + 1:
        return 0
    return hosted(round, number, ndigits)
