"""Python's `math` module as a table of functions and numbers.

`Ops.to_number` makes numbers of arguments that are not host values, such as 0-d tensors. The size of the result of an integer
function is estimated before the function runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gradcli import limits
from gradcli.lang.python import arguments
from gradcli.lang.python.numbers import mul
from gradcli.lang.python.object_protocol import HOST_TYPES, Ops, Value, hosted_call, type_error

Function = Callable[..., Value]

CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}

#: names of functions whose results are floats, bools, pairs, or integers with no more digits than their arguments
_BOUNDED = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "degrees", "erf"),
    *("erfc", "exp", "exp2", "expm1", "fabs", "floor", "fmod", "frexp", "gamma", "gcd", "hypot", "isclose", "isfinite", "isinf"),
    *("isnan", "isqrt", "ldexp", "lgamma", "log", "log10", "log1p", "log2", "modf", "nextafter", "pow", "radians", "remainder"),
    *("sin", "sinh", "sqrt", "tan", "tanh", "trunc", "ulp"),
)


def _numbers(ops: Ops, args: tuple[Value, ...], whole: bool = False) -> tuple[Value, ...]:
    """Arguments as Python's numbers; `whole` for functions of integers."""
    convert = ops.to_index if whole else ops.to_number
    return tuple(value if type(value) in HOST_TYPES else convert(value) for value in args)


def _bounded(ops: Ops, primitive: Function) -> Function:
    whole = primitive in (math.gcd, math.isqrt)

    def function(*args: Value, **kwargs: Value) -> Value:
        if len(args) == 1 and not kwargs and type(args[0]) is float:
            return hosted_call(primitive, args, kwargs)
        return hosted_call(primitive, _numbers(ops, args, whole), dict(zip(kwargs, _numbers(ops, tuple(kwargs.values())), strict=True)))

    return function


def _predicted(ops: Ops, primitive: Function, bits: Callable[..., float]) -> Function:
    """A function of integers. Its result has about `bits(*args)` bits, which is checked where all arguments are integers."""

    def function(*args: Value, **kwargs: Value) -> Value:
        values = _numbers(ops, args, True)
        if values and not kwargs and all(isinstance(value, int) for value in values):
            limits.check_digits(bits(*values))
        return hosted_call(primitive, values, kwargs)

    return function


#: below this, a difference of two values of lgamma is exact to a bit
_LGAMMA_RANGE = 1 << 40


def _log2_factorial(n: int) -> float:
    # the factorial of 2**60 is beyond every limit, and the argument of lgamma must fit a float
    return math.lgamma(min(n, 1 << 60) + 1) / math.log(2) if n > 1 else 0


def _perm_bits(n: int, k: int | None = None, *rest: int) -> float:
    k = n if k is None else k
    if not 0 <= k <= n:
        return 0
    if n < _LGAMMA_RANGE:
        return _log2_factorial(n) - _log2_factorial(n - k)
    return min(k, 1 << 60) * math.log2(n)


def _comb_bits(n: int, k: int = 0, *rest: int) -> float:
    if not 0 <= k <= n:
        return 0
    k = min(k, n - k)
    if k == 0:
        return 0
    if n < _LGAMMA_RANGE:
        return _log2_factorial(n) - _log2_factorial(k) - _log2_factorial(n - k)
    # Stirling for k much smaller than n: C(n, k) is close to (e n / k)**k / sqrt(2 pi k).
    return min(k, 1 << 60) * (math.log2(n) - math.log2(k) + math.log2(math.e)) - 0.5 * math.log2(2 * math.pi) - 0.5 * math.log2(k)


def _lcm_bits(*values: int) -> float:
    # an upper bound first; only where it is too large the least common multiple is computed, and checked in each step
    total = sum(value.bit_length() for value in values)
    if total <= 64:
        return 0
    so_far = 1
    for value in values:
        so_far = math.lcm(so_far, value)
        limits.check_digits(so_far.bit_length())
    return so_far.bit_length()


def _elements(ops: Ops, source: Value) -> list[Value]:
    made: list[Value] = []
    for item in ops.iterate(source):
        limits.check_list(len(made) + 1)
        made.append(item if type(item) in HOST_TYPES else ops.to_number(item))
    return made


def _fsum(ops: Ops) -> Function:
    def fsum(*args: Value, **kwargs: Value) -> Value:
        return hosted_call(math.fsum, (_elements(ops, arguments.one("math.fsum", args, kwargs)),), {})

    return fsum


def _dist(ops: Ops) -> Function:
    def dist(*args: Value, **kwargs: Value) -> Value:
        arguments.between("math.dist", args, kwargs, 2, 2)
        return hosted_call(math.dist, [_elements(ops, point) for point in args], {})

    return dist


def _prod(ops: Ops) -> Function:
    def prod(*args: Value, **kwargs: Value) -> Value:
        if len(args) + len(kwargs) > 2:
            raise type_error(f"prod() takes at most 2 arguments ({len(args) + len(kwargs)} given)")
        if len(args) != 1:
            raise type_error(f"prod() takes exactly 1 positional argument ({len(args)} given)")
        for name in kwargs:
            if name != "start":
                raise type_error(f"'{name}' is an invalid keyword argument for prod()")
        result = kwargs.get("start", 1)
        for item in _elements(ops, args[0]):
            result = mul(result, item)
        return result

    return prod


def math_table(ops: Ops) -> dict[str, Function | float]:
    """The names of `math`: functions that take values and raise ProgramError, and numbers."""
    table: dict[str, Function | float] = {name: _bounded(ops, vars(math)[name]) for name in _BOUNDED}
    table.update(CONSTANTS)
    table["comb"] = _predicted(ops, math.comb, _comb_bits)
    table["factorial"] = _predicted(ops, math.factorial, lambda n=0, *rest: _log2_factorial(n))
    table["lcm"] = _predicted(ops, math.lcm, _lcm_bits)
    table["perm"] = _predicted(ops, math.perm, _perm_bits)
    table["dist"] = _dist(ops)
    table["fsum"] = _fsum(ops)
    table["prod"] = _prod(ops)
    return table
