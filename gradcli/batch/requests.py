"""One request of a batch: its JSON object, and its answer by a session of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any, NoReturn

from gradcli import limits
from gradcli.errors import DataError, UsageError
from gradcli.limits import Limits
from gradcli.results.answers import Answer
from gradcli.session import Session
from gradcli.source import Source, Span

WANTS = ("value", "grad", "grad_fn", "jacobian", "hessian")
DTYPES = ("float32", "float64")
_KEYS = ("id", "expr", "script", "vars", "vector", "wrt", "want", "seed", "dtype", "limits")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: strings that stand for the numbers that JSON does not have
_WORDS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


@dataclass(slots=True)
class Request:
    """A request: an expression, a script, or both. `want` is what the answer has of the expression, see `WANTS`."""

    expr: str | None = None
    script: str | None = None
    variables: Mapping[str, object] = field(default_factory=dict)
    vector: Any = None
    wrt: list[str] | None = None
    want: tuple[str, ...] = ()
    seed: int | None = None
    dtype: str | None = None
    bounds: Limits = field(default_factory=Limits)


# --- reading ---


def decode(line: bytes) -> dict[str, Any]:
    """The JSON object on a line. Raises DataError."""
    try:
        content = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise DataError(f"the line is not UTF-8 text (byte {error.start + 1})") from None
    except json.JSONDecodeError as error:
        raise DataError(f"the line is not JSON: {error.msg} (column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).partition(";")[0]
        raise DataError(f"the line is not JSON that can be read: {what}") from None
    if not isinstance(content, dict):
        raise DataError("the line is not a JSON object")
    return content


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON; write it as a string")


def read(content: dict[str, Any], bounds: Limits) -> Request:
    """The request that a JSON object describes; its bounds are at most `bounds`. Raises UsageError."""
    for key in content:
        if key not in _KEYS:
            raise UsageError(f"unknown key {key!r}; a request has {', '.join(_KEYS)}")
    request = Request(
        expr=_text(content, "expr"),
        script=_text(content, "script"),
        variables=_variables(content.get("vars")),
        vector=content.get("vector"),
        wrt=_names(content.get("wrt")),
        seed=_seed(content.get("seed")),
        dtype=content.get("dtype"),
        bounds=_tightened(content.get("limits"), bounds),
    )
    if request.expr is None and request.script is None:
        raise UsageError("a request needs expr or script")
    if request.dtype not in (None, *DTYPES):
        raise UsageError(f"dtype is one of {', '.join(DTYPES)}, not {request.dtype!r}")
    for name in request.wrt or ():
        if name not in request.variables:
            raise UsageError(f"wrt names {name!r}, which is not among vars")
    request.want = _wants(content.get("want"), request)
    return request


def _text(content: dict[str, Any], key: str) -> str | None:
    value = content.get(key)
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"{key} is a string")


def _variables(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError("vars is an object of names and values")
    for name, item in value.items():
        if not _NAME.fullmatch(name) or iskeyword(name):
            raise UsageError(f"{name!r} is not a name: names are ASCII letters, digits and _, and begin with no digit")
        if item is None:
            raise UsageError(f"{name} has no value")
    return value


def _names(value: object) -> list[str] | None:
    if value is None or (isinstance(value, list) and all(isinstance(name, str) for name in value)):
        return value
    raise UsageError("wrt is a list of names")


def _seed(value: object) -> int | None:
    if value is None or type(value) is int:
        return value
    raise UsageError("seed is an integer")


def _tightened(value: object, bounds: Limits) -> Limits:
    """`bounds` with the bounds of a request, which can only be tighter."""
    if value is None:
        return bounds
    if not isinstance(value, dict):
        raise UsageError("limits is an object of names and values")
    changes = {}
    for name, wanted in value.items():
        if isinstance(wanted, bool) or not isinstance(wanted, (int, float, str)):
            raise UsageError(f"the limit {name!r} is a number, or a string such as '64MiB'")
        name, amount = limits.parse(f"{name}={wanted}") if isinstance(wanted, str) else _amount(name, wanted)
        if amount > getattr(bounds, name):
            raise UsageError(f"the limit {name!r} can only be tightened here; it is {getattr(bounds, name):,.0f}")
        changes[name] = amount
    return bounds.changed(**changes)


def _amount(name: str, wanted: float) -> tuple[str, float]:
    known, _ = limits.parse(f"{name}=0")
    if not 0 <= wanted <= 1e300:
        raise UsageError(f"the limit {name!r} cannot be {wanted}")
    return known, float(wanted)


def _wants(value: object, request: Request) -> tuple[str, ...]:
    if value is None:
        if request.expr is None:
            return ()
        return ("value", "grad") if request.variables or request.vector is not None else ("value",)
    if not isinstance(value, list) or not all(isinstance(one, str) and one in WANTS for one in value):
        raise UsageError(f"want is a list of {', '.join(WANTS)}")
    if request.expr is None:
        raise UsageError("want needs expr: a script alone answers what it prints")
    return tuple(value)


# --- answering ---


def answer(request: Request) -> Answer:
    """The answer to a request, by a new session. Raises what sessions raise."""
    printed: list[str] = []
    warnings: list[str] = []

    def warn(category: str, message: str, span: Span | None) -> None:
        warnings.append(f"{category}: {message}")

    session = Session(
        bounds=request.bounds,
        write=printed.append,
        warn=warn,
        read_stdin=_no_input,
        dtype=request.dtype,
        seed=request.seed,
    )
    for name, value in request.variables.items():
        session.bind_data(name, _numbers(name, value))
    if request.script is not None:
        session.run(Source("<script>", request.script), reuse=True)
    output = None if request.script is None else "".join(printed)
    if request.expr is None:
        return Answer(output, tuple(warnings), None, None, None, None, ())
    evaluation, table, first, second = session.several(
        Source("<expression>", request.expr),
        request.wrt,
        _numbers("vector", request.vector),
        gradient="grad" in request.want,
        jacobian="jacobian" in request.want,
        hessian="hessian" in request.want,
    )
    return Answer(output, tuple(warnings), evaluation, table, first, second, request.want)


def _no_input() -> NoReturn:
    raise DataError("a request reads no files")


def _numbers(name: str, value: object) -> Any:
    """A value of JSON with numbers for "nan", "inf" and "-inf". Raises UsageError for what is no number and no text."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return _WORDS.get(value, value)
    if not isinstance(value, list):
        raise UsageError(f"{name} is a number, a boolean, nested arrays of these, or the text of an expression")
    made = [_WORDS.get(item, item) if isinstance(item, str) else _numbers(name, item) if isinstance(item, list) else item for item in value]
    if any(item is None or isinstance(item, (str, dict)) for item in made):
        raise UsageError(f"{name} has an item that is no number")
    return made
