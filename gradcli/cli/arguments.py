"""The words of a command line: which are options, which is the expression, which bind names.

Expressions may begin with a minus, so only a word that is exactly a declared option is one.
"""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from gradcli.errors import UsageError
from gradcli.plain import Plain

# compiled when first used, by re itself
_ALMOST_BINDING = r"(?s)([^\s()\[\]{}'\"=<>!:]+)(:?=)(?!=)(.*)"
_OPTION_LIKE = r"(?s)(?:-([A-Za-z])|--([A-Za-z][A-Za-z-]*))(?:=(?!=).*)?"


#: an option as it was typed, with its value if it has one
Option = tuple[str, ...]


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


def separate(words: Sequence[str], options: Mapping[str, bool]) -> tuple[list[Option], list[str]]:
    """(options, each with its value, everything else). `options` says of each option whether it takes a value.

    Raises UsageError for an option without its value, and for a word that looks like an option and is none.
    """
    chosen: list[Option] = []
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
            if options[word]:
                if not queue or queue[-1] in options:
                    raise UsageError(f"the option {word} needs a value")
                chosen.append((word, queue.pop()))
            else:
                chosen.append((word,))
        elif equals and name.startswith("--") and options.get(name):
            chosen.append((word,))
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
    if close:
        hints = [f"did you mean {', '.join(close)}?"]
    elif binding := _binding(word.lstrip("-")):
        hints = [f"a variable is given without the minus: {shell_word(binding.word)}"]
    else:
        hints = [f"an expression can follow --, as in: gradcli eval -- {shell_word(word)}"]
    raise UsageError(f"no such option: {option}", hints=hints)


def refuse_file_after_untrusted(chosen: Iterable[Option]) -> None:
    """Refuse `-f` behind `--untrusted`: a stranger's expression may look like that option. Raises UsageError."""
    untrusted = False
    for name in (option[0].partition("=")[0] for option in chosen):
        if untrusted and name in ("-f", "--file"):
            hints = ["-f FILE stands before --untrusted", "an expression that begins with a minus can follow --"]
            raise UsageError(f"{name} is not taken from behind --untrusted", hints=hints)
        untrusted = untrusted or name == "--untrusted"


def command_line(command: str, words: Iterable[str], given: Iterable[Option]) -> str:
    """A command as it is typed, with the options that were given."""
    return " ".join(["gradcli", command, *map(shell_word, [*words, *chain.from_iterable(given)])])


def split(words: Sequence[str], command: str, *, has_file: bool, given: Sequence[Option] = ()) -> tuple[str | None, list[Binding]]:
    """The expression (None when it comes from a file) and the bindings, in order. Hints repeat the options `given`. Raises UsageError."""
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
            raise _unexpected(word, words, command, has_file, given)
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


def _unexpected(word: str, words: Sequence[str], command: str, has_file: bool, given: Sequence[Option]) -> UsageError:
    joined = _joined(words)
    if joined != list(words):
        hints = [f"no blanks stand around the = of a variable: {command_line(command, joined, given)}"]
        return UsageError(f"unexpected argument {word!r}", hints=hints)
    almost = re.fullmatch(_ALMOST_BINDING, word)
    if almost:
        return UsageError(f"{almost[1]!r} is not a name: names are ASCII letters, digits and _, and begin with no digit")
    if re.match("--?[A-Za-z]", word):
        return UsageError(f"no such option: {word}")
    loose = [other for other in words if not _binding(other)]
    bindings = [other for other in words if _binding(other)]
    hints = []
    if has_file:
        hints = ["with -f, the expression is in the file"]
    elif sum(map(os.path.exists, loose)) > 1:
        hints = [f"the shell has put file names where * stood; use single quotes: gradcli {command} 'x * 2' x=3"]
    else:
        whole = command_line(command, [" ".join(loose), *bindings], given)
        hints = [f"if it all is one expression, put single quotes around it: {whole}"]
    return UsageError(f"unexpected argument {word!r}", hints=hints)


def _joined(words: Sequence[str]) -> list[str]:
    """The words, with those put together that blanks around a `=` have parted: `x =2`, `x= 2`, `x = 2`."""
    found: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        # the first word is the expression
        if found and re.fullmatch(r"(?a)[^\W\d]\w*", word) and rest and re.match(r":?=(?!=)", rest[-1]):
            word += rest.pop()
        if re.fullmatch(r"(?a)[^\W\d]\w*:?=", word) and rest:
            word += rest.pop()
        found.append(word)
    return found


def shell_word(word: str) -> str:
    """`word` as typed in bash, zsh and fish alike: single quotes around what is more than a name, number or simple list."""
    if re.fullmatch(r"(?:--?[a-z-]+|(?:--[a-z-]+|[\w:]+)=)?-?[\w.,@:/-]+", word, re.A):
        return word
    name, equals, value = word.partition("=")
    if equals and re.fullmatch(r"\w+:?", name, re.A):
        return f"{name}={_quoted(value)}"
    return _quoted(word)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
