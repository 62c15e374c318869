"""`re`: Python's regular expressions, of which those are left out that can take time beyond all bounds.

Python's matcher tries every way to match. Repeated groups that hold alternatives or quantifiers have exponentially many ways, and are
refused; the time of others is at most a power of the length of the text, which the limit on work bounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.core.calling.type_errors import not_an_integer, type_error
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import TorchVersion, Value
from gradcli.lang.values.calls import call
from gradcli.lang.values.execution import ticking
from gradcli.lang.values.types import exception_type
from gradcli.lang.values.value_classes import Builtin, IteratorValue

_LONGEST = 1000
#: optional parts and groups with alternatives: each doubles the ways to match
_MOST_CHOICES = 16
#: steps of the matcher that take as long as one multiply-add
_SLOWNESS = 20
_FLAGS = {"I": re.I, "IGNORECASE": re.I, "M": re.M, "MULTILINE": re.M, "S": re.S, "DOTALL": re.S, "A": re.A, "ASCII": re.A, "U": re.U}
_ALLOWED = re.I | re.M | re.S | re.A | re.U
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(\d*)(,?)(\d*)\})[?+]?")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.S)


def _refused(why: str) -> ProgramError:
    return ProgramError("ValueError", f"this regular expression is not part of gradcli: {why}")


class _Form:
    """How the time of a pattern grows: with which power of the text, and with how many choices."""

    __slots__ = ("choices", "power")

    def __init__(self, pattern: str) -> None:
        self.power = 1
        self.choices = 0
        #: for each open group whether it holds alternatives or quantifiers
        groups = [False]
        #: whether what stands before a quantifier is such a group
        varies = False
        at = 0
        while at < len(pattern):
            if pattern[at] == "\\":
                # what a group matched, again, takes the time of another repetition
                self.power += pattern[at + 1 : at + 2].isdigit()
                at, varies = at + 2, False
            elif found := _CLASS.match(pattern, at):
                at, varies = found.end(), False
            elif pattern[at] == "(":
                if pattern[at + 1 : at + 3] in ("?(", "?#", "?P") and pattern[at + 1 : at + 4] != "?P<":
                    raise _refused("conditions, comments and back references by name are left out")
                groups.append(False)
                at += 2 if pattern[at + 1 : at + 2] == "?" else 1
            elif pattern[at] == ")":
                varies = groups.pop() if len(groups) > 1 else False
                groups[-1] = groups[-1] or varies
                at += 1
            elif pattern[at] == "|":
                self.choices += len(groups) > 1 and not groups[-1]
                groups[-1], at = True, at + 1
            elif found := _QUANTIFIER.match(pattern, at):
                self._repeat(found, varies)
                groups[-1] = True
                at, varies = found.end(), False
            else:
                at, varies = at + 1, False
        if self.choices > _MOST_CHOICES:
            raise _refused("it has too many optional parts and alternatives")

    def _repeat(self, found: re.Match[str], varies: bool) -> None:
        sign = found[0][0]
        most = int(found[3] or (_LONGEST if found[2] else found[1]) or 0) if sign == "{" else 1 if sign == "?" else _LONGEST
        if most <= 1:
            self.choices += 1
        elif varies:
            raise _refused("a repeated group holds alternatives or quantifiers, so that its time can grow without bounds")
        elif found[2] or sign != "{":
            self.power += 1
        if most > _LONGEST:
            raise _refused(f"it repeats more than {_LONGEST} times")


class Pattern(Scripted):
    """A compiled pattern. `host` is never seen by programs."""

    __slots__ = ("__weakref__", "form", "host")

    SCRIPT_NAME = "Pattern"
    SCRIPT_ATTRIBUTES = {
        "pattern": lambda pattern: pattern.host.pattern,
        "groups": lambda pattern: pattern.host.groups,
        "flags": lambda pattern: int(pattern.host.flags),
    }

    def __init__(self, host: re.Pattern[str], form: _Form) -> None:
        self.host = host
        self.form = form

    def __repr__(self) -> str:
        return repr(self.host)

    def _checked(self, text: Value) -> str:
        """The text, where the time of the matcher is within the limit on work."""
        if type(text) is not str and type(text) is not TorchVersion:
            raise type_error("expected string or bytes-like object, got '{}'", text)
        if limits.current.work < limits.NONE:
            limits.check_work(float(_SLOWNESS << self.form.choices) * float(len(text)) ** self.form.power)
        return text

    def match(self, string: Value) -> Match | None:
        """A match at the start."""
        return _match(self.host.match(self._checked(string)))

    def search(self, string: Value) -> Match | None:
        """The first match."""
        return _match(self.host.search(self._checked(string)))

    def fullmatch(self, string: Value) -> Match | None:
        """A match of the whole text."""
        return _match(self.host.fullmatch(self._checked(string)))

    def _matches(self, string: Value) -> Iterator[re.Match[str]]:
        return ticking(self.host.finditer(self._checked(string)))

    def findall(self, string: Value) -> list[Value]:
        """The matches, or what their groups matched."""
        made: list[Value] = []
        for found in self._matches(string):
            groups = found.groups("")
            made.append(found[0] if not groups else groups[0] if len(groups) == 1 else groups)
            limits.check_list(len(made))
        return made

    def finditer(self, string: Value) -> IteratorValue:
        """The matches, one after the other."""
        return IteratorValue("callable_iterator", (Match(found) for found in self._matches(string)))

    def subn(self, repl: Value, string: Value, count: Value = 0) -> tuple[str, int]:
        """The text with matches replaced, and how many were. `repl` is a template, or a function of the match."""
        most = _count(count)
        text = self._checked(string)
        parts: list[str] = []
        end = done = size = 0
        for found in self._matches(text):
            new = _replacement(repl, found)
            parts += [text[end : found.start()], new]
            end = found.end()
            size += len(new)
            limits.check_string(len(text) + size)
            done += 1
            if done == most:
                break
        return "".join([*parts, text[end:]]), done

    def sub(self, repl: Value, string: Value, count: Value = 0) -> str:
        """The text with matches replaced."""
        return self.subn(repl, string, count)[0]

    def split(self, string: Value, maxsplit: Value = 0) -> list[str | None]:
        """What stands between matches, and what their groups matched."""
        most = _count(maxsplit)
        text = self._checked(string)
        made: list[str | None] = []
        end = 0
        for done, found in enumerate(self._matches(text), 1):
            made += [text[end : found.start()], *found.groups()]
            limits.check_list(len(made))
            end = found.end()
            if done == most:
                break
        return [*made, text[end:]]


_METHODS = ("match", "search", "fullmatch", "findall", "finditer", "subn", "sub", "split")
Pattern.SCRIPT_METHODS = {name: Routine(getattr(Pattern, name), name, hide_first=True) for name in _METHODS}


class Match(Scripted):
    """A match. `host` is never seen by programs."""

    __slots__ = ("__weakref__", "host")

    SCRIPT_NAME = "Match"
    SCRIPT_ATTRIBUTES = {"string": lambda match: match.host.string, "lastindex": lambda match: match.host.lastindex}

    def __init__(self, host: re.Match[str]) -> None:
        self.host = host

    def __repr__(self) -> str:
        return repr(self.host)

    def _of(self, name: str) -> Callable[..., Value]:
        def run(*groups: Value) -> Value:
            if any(type(group) not in (int, str) for group in groups):
                raise ProgramError("IndexError", "no such group")
            return getattr(self.host, name)(*groups)

        return run

    def group(self, *groups: Value) -> Value:
        """What the match, or groups of it, matched."""
        return self._of("group")(*groups)

    def groups(self, default: Value = None) -> tuple[Value, ...]:
        """What all groups matched."""
        return self.host.groups(default)

    def groupdict(self, default: Value = None) -> dict[str, Value]:
        """What the groups with names matched."""
        return self.host.groupdict(default)

    def start(self, group: Value = 0) -> Value:
        """Where a group begins."""
        return self._of("start")(group)

    def end(self, group: Value = 0) -> Value:
        """Where a group ends."""
        return self._of("end")(group)

    def span(self, group: Value = 0) -> Value:
        """Where a group begins and ends."""
        return self._of("span")(group)

    def __getitem__(self, group: Value) -> Value:
        return self._of("group")(group)

    SCRIPT_METHODS = {
        method.__name__: Routine(method, method.__name__, hide_first=True)
        for method in (group, groups, groupdict, start, end, span, __getitem__)
    }


def _match(found: re.Match[str] | None) -> Match | None:
    return None if found is None else Match(found)


def _count(value: Value) -> int:
    if type(value) not in (int, bool):
        raise not_an_integer(value)
    return int(value)


def _replacement(repl: Value, found: re.Match[str]) -> str:
    """What stands in the place of a match."""
    if type(repl) is str:
        limits.check_string(len(repl) + repl.count("\\") * max(map(len, (found[0], *found.groups("")))))
        try:
            return found.expand(repl)
        except re.error as error:
            raise ProgramError("error", str(error)) from None
        except IndexError as error:
            raise ProgramError("IndexError", str(error)) from None
    new = call(repl, (Match(found),), None)
    if new is None:
        return ""
    if type(new) is not str:
        raise type_error("expected str instance, {} found", new)
    return new


@lru_cache(maxsize=256)
def _compiled(pattern: str, flags: int) -> Pattern:
    try:
        host = re.compile(pattern, flags)
    except (re.error, OverflowError) as error:
        raise ProgramError("error", str(error)) from None
    if host.flags & ~_ALLOWED:
        raise _refused("it has flags beside those for letters' case, lines and ASCII")
    return Pattern(host, _Form(pattern))


def _compile(pattern: Value, flags: Value = 0) -> Pattern:
    if type(pattern) is Pattern:
        return pattern
    if type(pattern) is not str:
        raise ProgramError("TypeError", "first argument must be string or compiled pattern")
    if len(pattern) > _LONGEST:
        raise _refused(f"it is longer than {_LONGEST} characters")
    if type(flags) is not int or flags & ~_ALLOWED:
        raise _refused("it has flags beside those for letters' case, lines and ASCII")
    _Form(pattern)  # before Python compiles it
    return _compiled(pattern, flags)


def _function(name: str) -> Builtin:
    method = Pattern.SCRIPT_METHODS[name]
    if name in ("match", "search", "fullmatch", "findall", "finditer"):
        return Builtin(name, lambda pattern, string, flags=0: method(_compile(pattern, flags), string))
    if name == "split":
        return Builtin(name, lambda pattern, string, maxsplit=0, flags=0: method(_compile(pattern, flags), string, maxsplit))
    return Builtin(name, lambda pattern, repl, string, count=0, flags=0: method(_compile(pattern, flags), repl, string, count))


def _escape(pattern: Value) -> str:
    if type(pattern) is not str:
        raise type_error("expected string or bytes-like object, got '{}'", pattern)
    limits.check_string(2 * len(pattern))
    return re.escape(pattern)


MEMBERS: dict[str, Value] = {
    **{name: _function(name) for name in _METHODS},
    **{name: int(flag) for name, flag in _FLAGS.items()},
    "compile": Builtin("compile", _compile),
    "escape": Builtin("escape", _escape),
    "error": exception_type("error"),
    "Pattern": script_type(Pattern, "re"),
    "Match": script_type(Match, "re"),
}
