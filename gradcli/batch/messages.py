"""Requests and answers as JSON has them: one object a line, and their JSON Schema."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gradcli.errors import DataError, GradcliError, UsageError

Message = TypeVar("Message", bound=Struct)


class Request(Struct, kw_only=True, forbid_unknown_fields=True):
    """A request: an expression, a script, or both."""

    id: Annotated[Any, Meta(description="comes back with the answer")] = None
    expr: Annotated[str | None, Meta(description="the expression that is answered, after the script")] = None
    script: Annotated[str | None, Meta(description="statements that run first")] = None
    vars: Annotated[
        dict[str, Any] | None, Meta(description='numbers, "nan", "inf", "-inf", booleans, nested arrays, texts of expressions, by name')
    ] = None
    vector: Annotated[Any, Meta(description="the gradient of the output, as a value of vars")] = None
    wrt: Annotated[list[str] | None, Meta(description="the names among vars whose gradients are wanted; all unless given")] = None
    want: Annotated[
        list[Literal["value", "grad", "grad_fn", "jacobian", "hessian"]] | None, Meta(description="what the answer has of the expression")
    ] = None
    seed: int | UnsetType | None = UNSET
    dtype: Annotated[Literal["float32", "float64"] | UnsetType | None, Meta(description="of vars that are numbers")] = UNSET
    limits: Annotated[dict[str, int | float | str] | None, Meta(description='tighter bounds by name, such as "64MiB"')] = None


class Answer(Struct, kw_only=True):
    """The answer to a request: what was wanted, and no other key. Numbers that JSON does not have are "nan", "inf" and "-inf"."""

    id: Any
    line: int
    ok: bool
    value: Any = UNSET
    shape: list[int] | UnsetType = UNSET
    dtype: str | UnsetType = UNSET
    type: Annotated[str | UnsetType, Meta(description="the type of a value that is no tensor")] = UNSET
    grad_fn: str | UnsetType | None = UNSET
    grad: Annotated[dict[str, Any] | UnsetType, Meta(description="by name; null where there is none")] = UNSET
    jacobian: dict[str, Any] | UnsetType = UNSET
    hessian: dict[str, dict[str, Any]] | UnsetType = UNSET
    output: Annotated[str | UnsetType, Meta(description="what the script printed")] = UNSET
    warnings: list[str] | UnsetType = UNSET


class Place(Struct):
    """A place in a text: characters start to end, and the line and column of the first, from 1."""

    source: str
    start: int
    end: int
    line: int
    column: int
    text: str


class Error(Struct):
    """Why a line cannot be answered. `exit` is the exit code that the command for one expression would have."""

    kind: str
    message: str
    span: Place | None
    exit: int
    hints: list[str] | UnsetType = UNSET


class Failure(Struct):
    """The answer to a line that cannot be answered."""

    id: Any
    line: int
    ok: bool
    error: Error


class Identity(Struct):
    """The key of a request that its answer repeats, whatever the others are."""

    id: Any = None


class Number(Struct):
    """The key of an answer that says which line it answers."""

    line: int


_decoders: dict[type[Struct], msgspec.json.Decoder[Any]] = {kind: msgspec.json.Decoder(kind) for kind in (Request, Identity, Number)}


def decode(line: bytes, kind: type[Message]) -> Message:
    """The message on a line. Raises DataError for what is no JSON object, and UsageError for an object that is no such message.

    What msgspec refuses is read again by json, which knows the column of a mistake, and which reads two things more: half of a
    surrogate pair, and a number beyond the largest float, which is infinite.
    """
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"the line is not UTF-8 text (byte {error.start + 1})") from None
    try:
        return _decoders[kind].decode(text)  # type: ignore[no-any-return]
    except (msgspec.MsgspecError, RecursionError):
        content = _read(text)
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise UsageError(str(error).replace("`", ""), hints=["gradcli batch --schema says what a request has"]) from None


def identity(line: bytes) -> object:
    """The `id` of a line, whatever else it has; None where there is none."""
    try:
        return decode(line, Identity).id
    except GradcliError:
        return None


def _read(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
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


def schema() -> str:
    """The JSON Schema of requests and answers, as JSON: `$defs` has `Request`, `Answer` and `Failure`."""
    _, parts = msgspec.json.schema_components((Request, Answer, Failure), ref_template="#/$defs/{name}")
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": parts}, indent=2) + "\n"
