"""What is said to a command line that begins with no command: the line that was meant, where that can be told."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Callable, Sequence

from gradcli.cli.arguments import shell_word
from gradcli.errors import UsageError

#: what other programs call a command
_OTHER_NAMES = {
    "min": "minimize",
    "minimise": "minimize",
    "optimize": "minimize",
    "diff": "grad",
    "derivative": "grad",
    "gradient": "grad",
    "backward": "grad",
    "jac": "jacobian",
    "hess": "hessian",
    "calc": "eval",
    "print": "eval",
    "gradcheck": "check",
    "test": "check",
    "draw": "graph",
    "tree": "graph",
    "exec": "run",
    "list": "ops",
    "functions": "ops",
    "shell": "repl",
    "prompt": "repl",
}
_BINDING = r"(?sa)([^\W\d]\w*):?=(?!=)"
#: names of an expression that are no variables
_KNOWN = {"torch", "F", "nn", "optim", "math", "np", "pi", "inf", "nan", "e", "range", "len"}
_MORE = "gradcli --help lists the commands"


def spelled_out(words: Sequence[str]) -> list[str]:
    """The command line that other ways to say the same stand for: `help grad`, `version`, `-V`, `-c EXPR`."""
    first, *rest = words
    if first == "help":
        return [*rest[:1], "--help"]
    if first in ("version", "-V"):
        return ["--version", *rest]
    if first == "-c" and rest:
        return ["eval", *rest]
    return list(words)


def no_such_command(words: Sequence[str], commands: Sequence[str], options_of: Callable[[str], set[str]]) -> UsageError:
    """The error for words that begin with none of `commands`. `options_of` gives the options of one."""
    word, *rest = words
    at = next((i for i, other in enumerate(words) if other in commands), 0)
    if word.startswith("--") and at and word.partition("=")[0] in options_of(words[at]):
        moved = _line([*words[at:], *words[:at]])
        return UsageError(f"the option {word} stands before the command", hints=[f"options follow it: {moved}"])
    if word in _OTHER_NAMES:
        return _unknown(word, [f"did you mean {_line([_OTHER_NAMES[word], *rest])}?"])
    # 4 ms
    from difflib import get_close_matches

    close = get_close_matches(word, commands)
    if close:
        return _unknown(word, [f"did you mean {', '.join(close)}?"])
    if word.startswith("--"):
        return UsageError(f"no such option: {word}", hints=["try gradcli --help"])
    if word == "-c":
        return UsageError("an expression is missing behind -c", hints=["try gradcli eval 'x**2' x=3"])
    if word.endswith(".py") or os.path.isfile(word):
        return _unknown(
            word, [f"did you mean {_line(['run', word, *rest])}?"] if os.path.isfile(word) else [f"there is no such file; {_MORE}"]
        )
    return _unknown(word, _evaluated(words))


def _unknown(word: str, hints: list[str]) -> UsageError:
    return UsageError(f"no such command: {word}", hints=hints)


def _evaluated(words: Sequence[str]) -> list[str]:
    """The line that evaluates the first word, if that looks like an expression; variables without a value get one."""
    expression = words[0]
    bound = {match[1] for word in words if (match := re.match(_BINDING, word))}
    if expression.isidentifier() and expression not in bound:
        from gradcli.cli.completion.names import known_to_ops

        return [f"did you mean gradcli ops {expression}?" if expression in known_to_ops(expression) else _MORE]
    missing = [f"{name}=3" for name in _variables(expression) if name not in bound]
    if re.match(_BINDING, expression) or len(missing) > 3:
        return [_MORE]
    return [f"did you mean {_line(['eval', *words, *missing])}?"]


def _variables(expression: str) -> list[str]:
    """The names in an expression that look like variables."""
    text = re.sub(r"""'[^']*'|"[^"]*\"""", " ", expression)
    found = re.findall(r"(?<![\w.])[A-Za-z_]\w*(?!\w|\s*\(|\s*=(?!=))", text)
    return [name for name in dict.fromkeys(found) if name not in _KNOWN and not keyword.iskeyword(name)]


def _line(words: Sequence[str]) -> str:
    return " ".join(["gradcli", *map(shell_word, words)])
