"""The words of a command line: which are options, which is the expression, which bind names.

Expressions may begin with a minus, so only a word that is exactly a declared option is one.
"""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Mapping, Sequence

from gradcli.errors import UsageError
from gradcli.plain import Plain

# compiled when first used, by re itself
_ALMOST_BINDING = r"(?s)([^\s()\[\]{}'\"=<>!:]+)(:?=)(?!=)(.*)"
_OPTION_LIKE = r"(?s)(?:-([A-Za-z])|--([A-Za-z][A-Za-z-]*))(?:=(?!=).*)?"


class Binding(Plain):
    """`NAME=VALUE` (a float leaf that requires grad) or, when `exact`, `NAME:=EXPR` (PyTorch's own reading)."""

    name: str
    value: str
    exact: bool

    @property
    def word(self) -> str:
        """The word of the command line."""
        return f"{self.name}{':=' if self.exact else '='}{self.value}"


def _binding(word: str) -> Binding | None:
    """The binding that a word is, if it is one: `x==1` is an expression."""
    left, equals, value = word.partition("=")
    name = left.removesuffix(":")
    if not equals or value.startswith("=") or not (name.isascii() and name.isidentifier()):
        return None
    return Binding(name, value, name != left)


def separate(words: Sequence[str], options: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """(options with their values, everything else). `options` says of each option whether it takes a value.

    Raises UsageError for an option without its value, and for a word that looks like an option and is none.
    """
    chosen: list[str] = []
    rest: list[str] = []
    bound = {binding.name for word in words if (binding := _binding(word))}
    queue = list(reversed(words))
    while queue:
        word = queue.pop()
        name, equals, _ = word.partition("=")
        if word == "--":
            rest += reversed(queue)
            break
        if word in options:
            chosen.append(word)
            if options[word]:
                if not queue or queue[-1] in options:
                    raise UsageError(f"the option {word} needs a value")
                chosen.append(queue.pop())
        elif equals and name.startswith("--") and options.get(name):
            chosen.append(word)
        else:
            _refuse_unknown_option(word, options, bound)
            rest.append(word)
    return chosen, rest


def _refuse_unknown_option(word: str, options: Mapping[str, bool], bound: set[str]) -> None:
    """`-x` is an expression when x is bound, and a mistyped option else."""
    match = re.fullmatch(_OPTION_LIKE, word) if word.startswith("-") else None
    if match is None or (match[1] or match[2]) in bound:
        return
    option = word.split("=")[0]
    if option in options:
        raise UsageError(f"the option {option} takes no value")
    from difflib import get_close_matches

    close = get_close_matches(option, options)
    hints = [f"did you mean {', '.join(close)}?"] if close else [f"an expression can follow --, as in: gradcli eval -- {shell_word(word)}"]
    raise UsageError(f"no such option: {option}", hints=hints)


def split(words: Sequence[str], command: str, *, has_file: bool) -> tuple[str | None, list[Binding]]:
    """The expression (None when it comes from a file) and the bindings, in order. Raises UsageError."""
    expression: str | None = None
    bindings: list[Binding] = []
    for word in words:
        binding = _binding(word)
        if binding:
            _check_name(binding.name, bindings)
            bindings.append(binding)
        elif expression is None and not has_file:
            expression = word
        else:
            raise _unexpected(word, words, command, has_file)
    if expression is None and not has_file:
        raise UsageError("an expression is missing", hints=[f"try gradcli {command} 'x**2' x=3"])
    if expression is not None and not expression.strip():
        raise UsageError("the expression is empty", hints=["the shell replaces $NAME in double quotes: use single quotes"])
    return expression, bindings


def _check_name(name: str, known: list[Binding]) -> None:
    if keyword.iskeyword(name):
        raise UsageError(f"{name!r} is a word of the language and cannot be a name")
    if any(binding.name == name for binding in known):
        raise UsageError(f"{name!r} is given twice")


def _unexpected(word: str, words: Sequence[str], command: str, has_file: bool) -> UsageError:
    almost = re.fullmatch(_ALMOST_BINDING, word)
    if almost:
        return UsageError(f"{almost[1]!r} is not a name: names are ASCII letters, digits and _, and begin with no digit")
    if word.startswith("-"):
        return UsageError(f"no such option: {word}")
    loose = [other for other in words if not _binding(other)]
    hints = []
    if has_file:
        hints = ["with -f, the expression is in the file"]
    elif sum(map(os.path.exists, loose)) > 1:
        hints = [f"the shell has put file names where * stood; use single quotes: gradcli {command} 'x * 2' x=3"]
    else:
        hints = [f"if it all is one expression, put single quotes around it: gradcli {command} {shell_word(' '.join(loose))}"]
    return UsageError(f"unexpected argument {word!r}", hints=hints)


def shell_word(word: str) -> str:
    """`word` as typed in bash, zsh and fish alike: single quotes around what is more than a name, number or simple list."""
    if re.fullmatch(r"(?:--?[a-z-]+|[\w:]+=)?-?[\w.,@:/-]+", word, re.A):
        return word
    name, equals, value = word.partition("=")
    if equals and re.fullmatch(r"\w+:?", name, re.A):
        return f"{name}={_quoted(value)}"
    return _quoted(word)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
