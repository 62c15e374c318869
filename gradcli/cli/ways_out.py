"""Hints with what to type instead: whole commands, each of which has been tried and works."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradcli.cli.arguments import shell_word
from gradcli.errors import Code, GradcliError, ProgramError, Repair
from gradcli.render.advice import advice
from gradcli.source import Source, Span

if TYPE_CHECKING:
    from gradcli.cli.request import Request

#: a vector of at most so many elements is written out as ones
_WRITTEN = 4
#: the long names of options that repairs change
_LONG = {"-v": "--vector"}
#: at most so many slips of one command line are mended, in so many seconds
_ROUNDS, _SECONDS = 6, 2


@contextmanager
def hinted(code: Code, repairs: Callable[[ProgramError], Sequence[Repair]]) -> Iterator[None]:
    """A block in which an error with this code, or about the shape of weights, gets repairs."""
    try:
        yield
    except ProgramError as error:
        if error.code is code:
            error.repairs = [*repairs(error)]
        elif error.code is Code.WEIGHTS_SHAPE:
            error.repairs = [Repair(options={"-v": _weights(error.shape)}, sure=True)]
        raise


def of_gradient(request: Request, error: ProgramError) -> list[Repair]:
    """The three commands that make sense where `grad` has a result of several elements."""
    return [
        Repair(options={"-v": _weights(error.shape)}, remark="weights v: computes v^T J", sure=True),
        summed(request, "the same gradient"),
        Repair(command="jacobian", remark="the whole matrix", sure=True),
    ]


def of_graph(request: Request, of: str | None, error: ProgramError) -> list[Repair]:
    """The same command with weights and with a sum."""
    weighted = Repair(options={"-v": _weights(error.shape)}, sure=True)
    return [weighted, summed(request)] if of is None else [weighted]


def summed(request: Request, remark: str = "") -> Repair:
    """The sum of the expression."""
    source = request.expression
    return Repair(Span(source, 0, len(source.text)), f"({source.text.strip()}).sum()", remark=remark, sure=True)


def _weights(shape: Sequence[int]) -> str:
    if len(shape) == 1 and 0 < shape[0] <= _WRITTEN:
        return ",".join("1" * shape[0])
    return f"ones({', '.join(map(str, shape))})" if shape else "1"


# --- whole commands ---

Words = list[str]
#: runs a command line with its output thrown away; the error that it ended with, None where it was fine, its code otherwise
Attempt = Callable[[Words], GradcliError | int]


def tell(error: GradcliError, words: Words, attempt: Attempt) -> None:
    """Make hints of the repairs of an error of a command line: each is a command that works, with everything else as it was typed."""
    written = advice(error) if any(map(_is_in_a_file, error.repairs)) else []
    repairs, error.repairs = error.repairs, []
    end = time.monotonic() + _SECONDS
    found: list[tuple[str, str]] = []
    for repair in repairs:
        if found and not repair.sure:
            break
        changed = _applied(words, repair)
        if changed is not None and ("--untrusted" in words or time.monotonic() > end):
            changed = changed if repair.sure else None
        elif changed is not None:
            changed = _working(changed, attempt, end)
        if changed is not None:
            found.append((" ".join(["gradcli", *map(shell_word, changed)]), repair.remark))
    width = max((len(command) for command, _ in found), default=0)
    if not all(repair.sure for repair in repairs):
        error.hints = advice(error)
    error.hints = error.hints if found else written or error.hints
    error.hints += [f"try {command:{width}}  ({remark})" if remark else f"try {command}" for command, remark in found]


def _is_in_a_file(repair: Repair) -> bool:
    """Whether a repair changes a text that is not on the command line."""
    span = repair.span
    return (
        span is not None
        and not span.source.name.startswith("<")
        and (span.start, span.end, repair.text) != (0, len(span.source.text), span.source.text)
    )


def _working(words: Words, attempt: Attempt, end: float) -> Words | None:
    """The words, with what the next errors need too, once they work; None where they do not, and after a while."""
    for _ in range(_ROUNDS):
        if time.monotonic() > end:
            return None
        outcome = attempt(_for_trial(words))
        if outcome == 0:
            return words
        if not isinstance(outcome, GradcliError):
            return None
        following = [_applied(words, repair) for repair in outcome.repairs[:1]]
        if not following or following[0] is None:
            return None
        words = following[0]
    return None


def _for_trial(words: Words) -> Words:
    """The words with the output thrown away instead of written to a file, and with a bound on time."""
    kept = _without(words, "-o", "--output")
    at = kept.index("--") if "--" in kept else len(kept)
    return [*kept[:at], *["-o", "-"] * (kept != words), "--limit", f"time={_SECONDS}s", *kept[at:]]


def _without(words: Words, *names: str) -> Words:
    """The words without an option, which has these names, and its value."""
    kept: Words = []
    queue = list(reversed(words))
    while queue:
        word = queue.pop()
        if word in names and queue:
            queue.pop()
        elif not word.startswith(tuple(f"{name}=" for name in names if name.startswith("--"))):
            kept.append(word)
    return kept


def _applied(words: Words, repair: Repair) -> Words | None:
    """The command line with the repair; None where the repaired text is not on it."""
    words = list(words)
    if repair.span is not None:
        source = repair.span.source
        new = source.text[: repair.span.start] + repair.text + source.text[repair.span.end :]
        at = _place_of(source, words)
        if at is not None:
            words[at] = words[at][: len(words[at]) - len(source.text)] + new
        elif source.name == "<stdin>" and not words:
            words = ["eval", new.strip()]
        elif new != source.text or source.name.startswith("<"):
            return None
    for name, text in repair.values.items():
        _set(words, name, text)
    for names, before, after in ((repair.exact, "=", ":="), (repair.leaves, ":=", "=")):
        for name in names:
            at = next((i for i, word in enumerate(words) if word.startswith(name + before)), None)
            if at is None:
                return None
            words[at] = name + after + words[at].removeprefix(name + before)
    for option, text in repair.options.items():
        names = (option, _LONG.get(option, option))
        at = next((i for i, word in enumerate(words) if word.partition("=")[0] in names), len(words))
        words = _without(words, *names)
        words[at:at] = [option, text]
    if repair.command:
        taken = {"--all"} if words[0] in ("grad", "eval") else set()
        words = [repair.command, *(word for word in words[1:] if word not in taken)]
    return words


def _place_of(source: Source, words: Words) -> int | None:
    """Where among the words a source stands: an expression, the value of a name, or the value of `-v`."""
    if source.name == "<expression>":
        return next((i for i, word in enumerate(words) if i and word == source.text), None)
    name = source.name.removeprefix("<value of ").removesuffix(">")
    if name == source.name:
        return None
    if name == "-v":
        return next((i for i, word in enumerate(words) if words[i - 1] in ("-v", "--vector") and word == source.text), None)
    return next((i for i, word in enumerate(words) if word in (f"{name}={source.text}", f"{name}:={source.text}")), None)


def _set(words: Words, name: str, text: str) -> None:
    """Give a name another value, or a value behind those of the others."""
    bindings = [
        i for i, word in enumerate(words) if re.fullmatch(r"(?s)[A-Za-z_]\w*:?=(?!=).*", word) and not words[i - 1].startswith("--")
    ]
    for i in bindings:
        if words[i].startswith((f"{name}=", f"{name}:=")):
            words[i] = f"{name}={text}"
            return
    words.insert(bindings[-1] + 1 if bindings else 2, f"{name}={text}")
