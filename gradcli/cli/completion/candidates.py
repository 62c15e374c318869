"""What may follow the words of an unfinished command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gradcli.cli.completion import files, names
from gradcli.cli.group import COMMANDS, make_command, make_group
from gradcli.plain import Plain

DATA = (".csv", ".tsv", ".json", ".npy", ".npz")
_SCRIPTS = (".py",)
RUN = (".py", ".ipynb")
_REQUESTS = (".jsonl", ".json")
_BINDING = r"(?sa)([^\W\d]\w*):?="


class Candidate(Plain):
    """One word. `kind` is "closed" (a blank follows), "open" (more follows), "file" or "directory"; the first `prefix` characters of
    the word are not a part of the file's name.
    """

    value: str
    about: str = ""
    kind: str = "closed"
    prefix: int = 0


def candidates(words: Sequence[str], typed: str) -> list[Candidate]:
    """What the word that begins with `typed` may be, behind `words`, which follow `gradcli`."""
    if not words:
        if typed.startswith("-"):
            return list(_options(make_group(), typed, ()))
        return [Candidate(name, about) for name, about in COMMANDS.items() if name.startswith(typed)]
    name, *rest = words
    if name not in COMMANDS:
        return []
    command = make_command(name)
    options: dict[str, Any] = {opt: param for param in command.params if param.param_type_name == "option" for opt in param.opts}
    before = options.get(rest[-1]) if rest and "--" not in rest[:-1] else None
    if before is not None and not before.is_flag:
        return list(_values(command, before, rest, typed, 0))
    option, equals, value = typed.partition("=")
    if equals and option in options and not options[option].is_flag:
        return list(_values(command, options[option], rest, value, len(option) + 1))
    found = list(_options(command, typed, rest)) if typed.startswith("-") and "--" not in rest else []
    metavar = next((param.metavar or "" for param in command.params if param.param_type_name == "argument"), "")
    return found + list(_words(metavar, _positional(rest, options), typed))


def _positional(words: Sequence[str], options: dict[str, Any]) -> list[str]:
    """The words that are neither options nor their values."""
    found = []
    rest = iter(words)
    for word in rest:
        if word in options:
            if not options[word].is_flag:
                next(rest, None)
        elif word.partition("=")[0] not in options:
            found.append(word)
    return found


def _options(command: Any, typed: str, given: Sequence[str]) -> Iterator[Candidate]:
    """The options that begin with `typed`, long ones unless a short one is typed, without those that were given and cannot be repeated."""
    for param in command.params:
        if param.param_type_name != "option" or param.hidden or (not param.multiple and set(param.opts) & set(given)):
            continue
        for option in param.opts:
            if option.startswith(typed) and (option.startswith("--") or typed == option or len(param.opts) == 1):
                yield Candidate(option, param.help or "")
    if "--help".startswith(typed):
        yield Candidate("--help", "Show this message and exit.")


def _values(command: Any, param: Any, words: Sequence[str], typed: str, prefix: int) -> Iterator[Candidate]:
    """The values of an option; `prefix` is the length of `--option=` when that is a part of the word."""
    before = "" if not prefix else f"{param.opts[-1]}="
    if param.metavar == "FILE":
        yield from _files(typed, (), before)
    elif param.metavar == "NAMES":
        done, comma, last = typed.rpartition(",")
        taken = done.split(",")
        yield from (Candidate(f"{before}{done}{comma}{name}") for name in _bound(words) if name.startswith(last) and name not in taken)
    else:
        context = command.make_context(command.name, [], resilient_parsing=True)
        for item in param.shell_complete(context, typed):
            yield Candidate(before + item.value, item.help or "", "open" if item.value.endswith("=") else "closed")


def _words(metavar: str, before: Sequence[str], typed: str) -> Iterator[Candidate]:
    """What stands for the arguments of a command; `before` are those that were given."""
    if "COMMAND" in metavar:
        yield from (Candidate(name, about) for name, about in COMMANDS.items() if name.startswith(typed) and not before)
    elif "PATTERN" in metavar:
        yield from (Candidate(name) for name in names.known_to_ops(typed))
    elif "EXPR" in metavar:
        yield from _expression(metavar, before, typed)
    elif "jsonl" in metavar:
        yield from _files(typed, _REQUESTS) if not before else ()
    elif "FILE" in metavar:
        yield from _files(typed, RUN)


def _expression(metavar: str, before: Sequence[str], typed: str) -> Iterator[Candidate]:
    """An expression with its variables: `NAME=@` is followed by files of data, a function's name by what ends it."""
    binding = re.match(_BINDING, typed)
    if binding:
        if typed[binding.end() :].startswith("@"):
            yield from _data(typed[binding.end() + 1 :], typed[: binding.end() + 1])
        return
    if typed.startswith("--") or any(not re.match(_BINDING, word) for word in before):
        return
    if "SCRIPT" in metavar or typed.endswith(".py"):
        yield from _files(typed, _SCRIPTS)
    started = re.search(r"(?a)[^\W\d][\w.]*\Z", typed)
    if started:
        head = typed[: started.start()]
        known = [*_bound(before), *names.in_expressions(started[0]), *names.methods(started[0])]
        yield from (Candidate(head + name, kind="open") for name in known if name.startswith(started[0]))


def _bound(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(match[1] for word in words if (match := re.match(_BINDING, word))))


def _data(path: str, before: str) -> Iterator[Candidate]:
    head, colon, part = path.rpartition(":")
    if colon and head:
        found = (name for name in files.parts(head) if name.startswith(part))
        yield from (Candidate(f"{before}{head}:{name}", kind="file", prefix=len(before)) for name in found)
    yield from _files(path, DATA, before)


def _files(typed: str, suffixes: Sequence[str], before: str = "") -> Iterator[Candidate]:
    for path in files.matching(typed, suffixes):
        yield Candidate(before + path, kind="directory" if path.endswith("/") else "file", prefix=len(before))
