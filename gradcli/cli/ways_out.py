"""Hints with what to type instead, for errors about a result that should be one number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradcli.cli.arguments import shell_word
from gradcli.errors import Code, ProgramError

if TYPE_CHECKING:
    from gradcli.cli.request import Request

#: a vector of at most so many elements is written out as ones
_WRITTEN = 4


@contextmanager
def hinted(code: Code, hints: Callable[[ProgramError], Sequence[str]]) -> Iterator[None]:
    """A block in which an error with this code gets hints."""
    try:
        yield
    except ProgramError as error:
        if error.code is code:
            error.hints += hints(error)
        raise


def of_gradient(request: Request, error: ProgramError) -> list[str]:
    """The three commands that make sense where `grad` has a result of several elements, with remarks below each other."""
    expression, names = _expression(request), _names(request)
    commands = [
        (f"gradcli grad {shell_word(expression)} {names} -v {_weights(error.shape)}", "(weights v: computes v^T J)"),
        (f"gradcli grad {shell_word(f'({expression}).sum()')} {names}", "(the same gradient)"),
        (f"gradcli jacobian {shell_word(expression)} {names}", "(the whole matrix)"),
    ]
    width = max(len(command) for command, _ in commands)
    return [f"try {command:{width}}  {remark}" for command, remark in commands]


def of_graph(command: str, words: Sequence[str], of: str | None, request: Request, error: ProgramError) -> list[str]:
    """The same command with weights and, for an expression, with a sum. `words` are what was typed behind the command."""
    option = "" if of is None else f" --of {of}"
    found = [f"try gradcli {command} {' '.join(map(shell_word, words))}{option} -v {_weights(error.shape)}"]
    if of is None and request.shared.file is None:
        found.append(summed(command, request))
    return found


def summed(command: str, request: Request) -> str:
    """The same command with the sum of the expression."""
    return f"try gradcli {command} {shell_word(f'({_expression(request)}).sum()')} {_names(request)}"


def _expression(request: Request) -> str:
    return request.expression.text.strip()


def _names(request: Request) -> str:
    return " ".join(shell_word(binding.word) for binding in request.bindings)


def _weights(shape: Sequence[int]) -> str:
    if len(shape) == 1 and 0 < shape[0] <= _WRITTEN:
        return ",".join("1" * shape[0])
    return shell_word(f"ones({', '.join(map(str, shape))})")
