"""int(), float(), abs() and round() of host values, with Python's texts and the limit on digits."""

from __future__ import annotations

from typing import Any

from gradcli import limits
from gradcli.lang.python.object_protocol import HOST_ERRORS, from_host


def to_int(*args: Any, **kwargs: Any) -> int:
    """`int(x)` or `int(text, base)` of host values.

    CPython counts decimal digits before it reads them, which from_host turns into our limit; what passes is measured again,
    because other bases are read whatever their length (in linear time, where the base is a power of two).
    """
    try:
        value = int(*args, **kwargs)
    except HOST_ERRORS as error:
        raise from_host(error) from None
    if value.bit_length() > 64:
        limits.check_integer(value)
    return value


def to_float(*args: Any, **kwargs: Any) -> float:
    """`float(x)` of a host value."""
    try:
        return float(*args, **kwargs)
    except HOST_ERRORS as error:
        raise from_host(error) from None


def host_abs(value: Any) -> Any:
    """`abs(x)` of a host value."""
    try:
        return abs(value)
    except HOST_ERRORS as error:
        raise from_host(error) from None


def host_round(number: Any, ndigits: Any = None) -> Any:
    """`round(x[, ndigits])` of a host value. Python would compute 10**-ndigits, however large."""
    if isinstance(number, int) and isinstance(ndigits, int) and -ndigits > number.bit_length() + 1:
        return 0
    try:
        return round(number, ndigits)
    except HOST_ERRORS as error:
        raise from_host(error) from None
