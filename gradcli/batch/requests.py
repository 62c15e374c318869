"""One request of a batch: what its message asks for, and its answer by a session of its own."""

from __future__ import annotations

from keyword import iskeyword
from typing import Any, NoReturn

from msgspec import UNSET

from gradcli import limits
from gradcli.batch.messages import Request
from gradcli.errors import DataError, UsageError
from gradcli.limits import Limits
from gradcli.render.json_text import tensor
from gradcli.results.derivatives import Derivatives
from gradcli.results.values import TensorValue
from gradcli.session import Session
from gradcli.source import Source, Span

#: the keys of messages.Answer with their values
Content = dict[str, object]

_PLAIN = frozenset((bool, int, float))
#: strings that stand for the numbers that JSON does not have
_WORDS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def check(request: Request) -> None:
    """Refuse what the types of a request cannot say. Raises UsageError."""
    for name, item in (request.vars or {}).items():
        if not (name.isascii() and name.isidentifier()) or iskeyword(name):
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
    if not request.limits:
        return bounds
    changes = {}
    for name, wanted in request.limits.items():
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


def answer(request: Request, bounds: Limits, *, dtype: str | None, seed: int | None, held: int | None = None) -> Content:
    """What the answer to a request has beside `id`, `line` and `ok`, by a new session. Raises what sessions raise.

    `dtype` and `seed` are for a request that has none. `held` is the memory that the process holds, in bytes, where that is known.
    """
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
        held=held,
    )
    with session.state:  # once for all methods
        return _answered(request, session, printed, warnings)


def _answered(request: Request, session: Session, printed: list[str], warnings: list[str]) -> Content:
    for name, value in (request.vars or {}).items():
        session.bind_data(name, _numbers(name, value))
    if request.script is not None:
        session.run(Source("<script>", request.script), reuse=True)
    made: Content = {}
    if request.expr is not None:
        want = _wants(request)
        value, grad_fn, table, first, second = session.several(
            Source("<expression>", request.expr),
            request.wrt,
            _numbers("vector", request.vector),
            gradient="grad" in want,
            jacobian="jacobian" in want,
            hessian="hessian" in want,
        )
        if "value" in want:
            made = tensor(value) if isinstance(value, TensorValue) else {"value": value.data, "type": value.type_name}
        if "grad_fn" in want:
            made["grad_fn"] = grad_fn
        if table is not None:
            made["grad"] = {name: None if gradient is None else gradient.tolist() for name, gradient in table.items()}
        if first is not None:
            made["jacobian"] = {block.column: block.value.array.tolist() for block in first.blocks}
        if second is not None:
            made["hessian"] = _squares(second)
    if request.script is not None:
        made["output"] = "".join(printed)
    if warnings:
        made["warnings"] = warnings
    return made


def _squares(hessian: Derivatives) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for block in hessian.blocks:
        found.setdefault(block.row, {})[block.column] = block.value.array.tolist()
    return found


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
