"""`torch.sym_max` and its kin: functions for the sizes of traced programs, here of Python's own numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.errors import ProgramError

_COMPARED = (np.integer, np.floating, int, float)


def _check(name: str, *values: Any) -> None:
    for value in values:
        if not isinstance(value, (int, float)):
            raise ProgramError("NotImplementedError", f"torch.{name} of {language.type_name(value)} is not part of gradcli")


def _extreme(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        for value in (a, b):
            if not isinstance(value, (int, float)):
                raise ProgramError("AssertionError", f"expected {_COMPARED}, got {language.type_repr(value)}")
        found = choose(a, b)
        return float(found) if isinstance(a, float) or isinstance(b, float) else found

    return run


def _not(a: Any) -> bool:
    _check("sym_not", a)
    return not a


def _int(a: Any) -> int:
    _check("sym_int", a)
    return int(a)


def _float(a: Any) -> float:
    _check("sym_float", a)
    return float(a)


def _sqrt(a: Any) -> float:
    _check("sym_sqrt", a)
    if a < 0:
        raise ProgramError("ValueError", "math domain error")
    return math.sqrt(a)


def _sum(*args: Any) -> Any:
    values = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    _check("sym_sum", *values)
    return sum(values)


def _ite(b: Any, t: Any, f: Any) -> Any:
    if type(b) is not bool:
        raise ProgramError("AssertionError", f"expected SymBool or bool, got {language.type_repr(b)}")
    if (kinds := (language.type_repr(t), language.type_repr(f)))[0] != kinds[1]:
        raise ProgramError("AssertionError", f"type mismatch: {kinds[0]} vs {kinds[1]}")
    return t if b else f


SYM_MAX = Routine(_extreme(max), "sym_max")
SYM_MIN = Routine(_extreme(min), "sym_min")
SYM_NOT = Routine(_not, "sym_not")
SYM_INT = Routine(_int, "sym_int")
SYM_FLOAT = Routine(_float, "sym_float")
SYM_SQRT = Routine(_sqrt, "_sym_sqrt")
SYM_SUM = Routine(_sum, "sym_sum")
SYM_ITE = Routine(_ite, "sym_ite")
