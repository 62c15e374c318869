"""`statistics`: means and spreads of plain numbers."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from gradcli import limits
from gradcli.errors import ProgramError
from gradcli.lang.python.comparing import check_hashable
from gradcli.lang.python.object_protocol import Value, hosted
from gradcli.lang.values.object_operations import collect, to_number
from gradcli.lang.values.types import exception_type
from gradcli.lang.values.value_classes import Builtin

#: types that Python's functions take as they are; containers would be compared without a bound
_PLAIN = frozenset((int, float, bool, str))


def _numbers(data: Value) -> list[Value]:
    return [value if type(value) in _PLAIN else to_number(value) for value in collect(data)]


def _keys(data: Value) -> list[Value]:
    """The values, which may be of any type that has a hash."""
    values = collect(data)
    for value in values:
        check_hashable(value)
    return values


def _run(name: str, *args: Value) -> Value:
    try:
        return hosted(getattr(statistics, name), *args)
    except AttributeError as error:
        raise ProgramError("AttributeError", str(error)) from None


def _of_data(name: str) -> Callable[[Value], Value]:
    values = _keys if name in ("mode", "multimode") else _numbers

    def run(data: Value) -> Value:
        return _run(name, values(data))

    return run


def _spread(name: str) -> Callable[..., Value]:
    def run(data: Value, xbar: Value = None) -> Value:
        return _run(name, _numbers(data), None if xbar is None else to_number(xbar) if type(xbar) not in _PLAIN else xbar)

    return run


def _quantiles(data: Value, *, n: Value = 4, method: Value = "exclusive") -> Value:
    if type(n) is int:
        limits.check_list(n)
    return hosted(lambda: statistics.quantiles(_numbers(data), n=n, method=method))


_OF_DATA = ("mean", "fmean", "median", "median_low", "median_high", "mode", "multimode", "geometric_mean", "harmonic_mean")

MEMBERS: dict[str, Value] = {
    **{name: Builtin(name, _of_data(name)) for name in _OF_DATA},
    **{name: Builtin(name, _spread(name)) for name in ("stdev", "variance", "pstdev", "pvariance")},
    "quantiles": Builtin("quantiles", _quantiles),
    "StatisticsError": exception_type("StatisticsError"),
}
