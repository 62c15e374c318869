"""One request of a batch: what its message asks for, and its answer by a session of its own."""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import Any, NoReturn

from msgspec import UNSET

from gradcli import limits
from gradcli.batch.messages import Request
from gradcli.errors import DataError, UsageError
from gradcli.limits import Limits
from gradcli.results.answers import Answer
from gradcli.session import Session
from gradcli.source import Source, Span

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = frozenset((bool, int, float))
#: strings that stand for the numbers that JSON does not have
_WORDS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def check(request: Request) -> None:
    """Refuse what the types of a request cannot say. Raises UsageError."""
    for name, item in (request.vars or {}).items():
        if not _NAME.fullmatch(name) or iskeyword(name):
            raise UsageError(f"{name!r} is not a name: names are ASCII letters, digits and _, and begin with no digit")
        if item is None:
            raise UsageError(f"{name} has no value")
    if request.expr is None and request.script is None:
        raise UsageError("a request needs expr or script")
    for name in request.wrt or ():
        if name not in (request.vars or {}):
            raise UsageError(f"wrt names {name!r}, which is not among vars")
    if request.want is not None and request.expr is None:
        raise UsageError("want needs expr: a script alone answers what it prints")


def tightened(request: Request, bounds: Limits) -> Limits:
    """`bounds` with the bounds of a request, which can only be tighter. Raises UsageError."""
    changes = {}
    for name, wanted in (request.limits or {}).items():
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


def _wants(request: Request) -> tuple[str, ...]:
    if request.want is not None or request.expr is None:
        return tuple(request.want or ())
    return ("value", "grad") if request.vars or request.vector is not None else ("value",)


# --- answering ---


def answer(request: Request, bounds: Limits, *, dtype: str | None, seed: int | None) -> Answer:
    """The answer to a request, by a new session with `dtype` and `seed` where the request has none. Raises what sessions raise."""
    printed: list[str] = []
    warnings: list[str] = []

    def warn(category: str, message: str, span: Span | None) -> None:
        warnings.append(f"{category}: {message}")

    session = Session(
        bounds=bounds,
        write=printed.append,
        warn=warn,
        read_stdin=_no_input,
        dtype=dtype if request.dtype is UNSET else request.dtype,
        seed=seed if request.seed is UNSET else request.seed,
    )
    with session.state:  # once for all methods
        return _answered(request, session, printed, warnings)


def _answered(request: Request, session: Session, printed: list[str], warnings: list[str]) -> Answer:
    for name, value in (request.vars or {}).items():
        session.bind_data(name, _numbers(name, value))
    if request.script is not None:
        session.run(Source("<script>", request.script), reuse=True)
    output = None if request.script is None else "".join(printed)
    if request.expr is None:
        return Answer(output, tuple(warnings), None, None, None, None, ())
    want = _wants(request)
    evaluation, table, first, second = session.several(
        Source("<expression>", request.expr),
        request.wrt,
        _numbers("vector", request.vector),
        gradient="grad" in want,
        jacobian="jacobian" in want,
        hessian="hessian" in want,
    )
    return Answer(output, tuple(warnings), evaluation, table, first, second, want)


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
    if _PLAIN.issuperset(map(type, value)):
        return value
    made = [_WORDS.get(item, item) if isinstance(item, str) else _numbers(name, item) if isinstance(item, list) else item for item in value]
    if any(item is None or isinstance(item, (str, dict)) for item in made):
        raise UsageError(f"{name} has an item that is no number")
    return made
