"""Words of the command line as values: files, ranges, escaped strings, expressions; and leaves made of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli import data
from gradcli.core.ops.create.from_data import from_data
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import Code, DataError, GradcliError, LanguageError, ProgramError, Repair
from gradcli.lang.values.type_names import type_name
from gradcli.source import Source, Span

if TYPE_CHECKING:
    from gradcli.data.pieces import Rows

#: numbers as JSON has them; a boolean is a number
Numbers = float | Sequence["Numbers"]

#: LO..HI or LO..HI:N; `...` and what is inside strings are no ranges
_RANGE = r"(?s)([^'\"]*?[^'\".])\.\.([^'\".][^'\"]*?)(?::\s*([0-9]{1,9})\s*)?"
_RANGE_POINTS = 101


class Files:
    """How a session reads files: standard input, the form of tables, and what is told of them."""

    __slots__ = ("form", "read_stdin", "warn")

    def __init__(self, read_stdin: data.ReadStdin, form: data.Form, warn: Callable[[str, str, Span | None], None]) -> None:
        self.read_stdin = read_stdin
        self.form = form
        self.warn = warn


def range_of(text: str, name: str) -> tuple[str, str, int | None] | None:
    """The texts of both ends of LO..HI or LO..HI:N, and N or None; None for a word that is no range.

    `name` is that of the source in errors. Raises LanguageError.
    """
    found = re.fullmatch(_RANGE, text) if ".." in text and not text.startswith(("@", "\\@")) else None
    if found is None:
        return None
    if ":" in found[2] and "[" not in found[2]:
        low, _, count = text.rpartition(":")
        place = Span(Source(name, text), len(low) + 1, len(text))
        error = LanguageError(f"LO..HI:N takes how many points, a whole number, not {count.strip()}", span=place)
        error.repairs = [Repair(place, number[0] if (number := re.match(r"[1-9][0-9]{0,8}", count.strip())) else str(_RANGE_POINTS))]
        raise error
    return found[1], found[2], int(found[3]) if found[3] else None


def read(text: str, name: str, files: Files, evaluate: Callable[[Source], object]) -> tuple[Any, Span | None]:
    """The value of a word, and its place where it is an expression.

    `@FILE` is the data of a file, `\\@TEXT` the string `@TEXT`, LO..HI:N evenly spaced points. Raises DataError, LimitError and what
    `evaluate` raises.
    """
    if text.startswith("\\@"):
        return text[1:], None
    if text.startswith("@"):
        return _from_file(text, files), None
    if interval := range_of(text, name):
        text = f"linspace({interval[0]}, {interval[1]}, {interval[2] or _RANGE_POINTS})"
    source = Source(name, text)
    return evaluate(source), whole(source)


def whole(source: Source) -> Span:
    """The place of an expression, without the blanks around it."""
    text = source.text
    return Span(source, len(text) - len(text.lstrip()), len(text.rstrip()) or len(text))


def at(span: Span | None, make: Callable[[], Tensor]) -> Tensor:
    """The result of `make`; its errors without a place get `span`."""
    try:
        return make()
    except GradcliError as error:
        error.span = error.span or span
        raise


def _from_file(reference: str, files: Files) -> Tensor:
    """The data of a file; a table has the default dtype, and its columns have names. Columns that are left out get a warning."""
    found = data.load(reference, files.read_stdin, files.form)
    if found.left_out:
        files.warn("UserWarning", f"{reference[1:]}: left out, because it is text: {', '.join(found.left_out[:20])}", None)
    try:
        made = wrap(found.array)
    except KeyError:
        raise DataError(f"{reference[1:]}: an array of {found.array.dtype} is not supported") from None
    if found.is_table:
        dtype = dtypes.get_default()
        made = wrap(dtypes.cast(found.array, dtype), dtype)
        made.set_property("columns", found.columns)
    return made


def of_rows(array: np.ndarray[Any, np.dtype[Any]], rows: Rows, *, exact: bool) -> Tensor:
    """Some rows of files as data: of the default dtype, or (`exact`) of the file's, but float64 of the default one. Raises DataError."""
    try:
        made = wrap(array)
    except KeyError:
        raise DataError(f"{rows.names[0]}: an array of {array.dtype} is not supported") from None
    if not exact or rows.is_table or made.dtype is dtypes.float64:
        dtype = dtypes.get_default()
        made = wrap(dtypes.cast(array, dtype), dtype)
    if rows.columns:
        made.set_property("columns", rows.columns)
    return made


def of_default_dtype(value: Tensor, reference: str, files: Files) -> Tensor:
    """The data of a file; float64, which is what numpy writes, as the default dtype, with a warning where that is another."""
    dtype = dtypes.get_default()
    if value.dtype is not dtypes.float64 or dtype is dtypes.float64:
        return value
    files.warn("UserWarning", f"{reference[1:]}: float64 is read as {dtype.name}; --dtype float64 keeps it", None)
    return wrap(dtypes.cast(value.array, dtype), dtype)


def is_numbers(value: object) -> bool:
    """Whether `value` is a list or tuple with nothing but numbers and such lists or tuples in it."""
    if not isinstance(value, (list, tuple)):
        return False
    stack = [value]
    while stack:
        for item in stack.pop():
            if isinstance(item, (list, tuple)):
                stack.append(item)
            elif not isinstance(item, (bool, int, float)):
                return False
    return True


def has_graph(value: object) -> bool:
    """Whether `value` is a tensor with a graph, or a list, tuple or dict that holds such a tensor."""
    stack = [value]
    while stack:
        one = stack.pop()
        if type(one) is Tensor and one.grad_fn is not None:
            return True
        if isinstance(one, (list, tuple)):
            stack += one
        elif isinstance(one, dict):
            stack += one.values()
    return False


def leaf(name: str, value: object, span: Span | None) -> Tensor:
    """A new leaf of floating dtype that requires grad, with the numbers of `value`.

    It has the default dtype; the value of an expression, which has a `span`, keeps a floating dtype of its own. Raises ProgramError.
    """
    if type(value) is Tensor:
        dtype = value.dtype if span is not None and value.dtype.is_floating_point else dtypes.get_default()
        made = wrap(np.array(dtypes.cast(value.array, dtype)), dtype)
        if columns := value.property_of("columns"):
            made.set_property("columns", columns)
    elif isinstance(value, (bool, int, float, list, tuple, range)):
        dtype = dtypes.get_default()
        made = from_data(value, dtype) if span is None else at(span, lambda: from_data(value, dtype))
    else:
        message = f"{name}=... takes numbers, not {type_name(value)}"
        raise ProgramError("TypeError", message, span=span, hints=[f"{name}:=... takes any value"])
    made.requires_grad = True
    return made


def weights(value: object, out: Tensor, span: Span | None) -> Tensor:
    """The weights of a backward pass from `out`, of its dtype. Raises ProgramError for what is no number."""
    if type(value) is Tensor:
        return wrap(dtypes.cast(value.array, out.dtype), out.dtype)
    return at(span, lambda: from_data(value, out.dtype))


def as_tensor(value: object, span: Span) -> Tensor:
    """The value of an expression as a tensor, to differentiate it. Raises ProgramError for what is no tensor and no number."""
    if type(value) is Tensor:
        return value
    if isinstance(value, (bool, int, float)) or is_numbers(value):
        return from_data(value, None)
    kind = type_name(value)
    raise ProgramError("TypeError", f"a gradient needs a tensor, and this is {kind}", span=span, code=Code.NOT_A_TENSOR, names=(kind,))
