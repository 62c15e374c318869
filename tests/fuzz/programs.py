"""Programs made by chance from grammar/: the rules are read from the grammar itself, so that none is forgotten."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from gradcli.errors import GradcliError
from gradcli.lang.syntax import parser
from gradcli.source import Source
from tools import make_tables

#: terminals without fixed text
SAMPLES: dict[str, Sequence[str]] = {
    "NAME": ("x", "y", "a", "f", "torch", "print", "len", "sum", "i", "F", "ones", "range", "sqrt", "e", "ValueError", "shape", "T", "dim"),
    "NUMBER": ("0", "1", "2", "3", "7", "0.5", "1e3", "1_000", "0x1f", "1e400", ".5"),
    "STRING": ("''", "'a'", '"b\\n"', "'''c\nd'''", "'{}'", "'%s'", "r'\\d'", "'\\x1b[31m'"),
    "FSTRING_START": ("f'",),
    "FSTRING_TEXT": ("t", "{{", " = "),
    "FSTRING_END": ("'",),
    "FIELD_OPEN": ("{",),
    "FIELD_EQUAL": ("=",),
    "CONVERSION": ("!r", "!s"),
    "FIELD_COLON": (":",),
    "FIELD_CLOSE": ("}",),
    "WITH_LPAR": ("(",),
    "PATTERN_AS": ("as",),
    "AUGMENT": ("+=", "-=", "*=", "//=", "**=", "|=", "@="),
    "COMPARE": ("==", "!=", "<", ">=", ">"),
    "SHIFT": ("<<", ">>"),
    "MATCH": ("match",),
    "CASE": ("case",),
    "DIVIDE": ("//", "%"),
}
#: terminals that no blank may precede
_TIGHT = {"FSTRING_TEXT", "FSTRING_END", "FIELD_OPEN", "FIELD_EQUAL", "CONVERSION", "FIELD_COLON", "FIELD_CLOSE"}


class Grammar:
    """The expansions of each rule, with the least depth that ends each."""

    def __init__(self) -> None:
        self.expansions: dict[str, list[tuple[str, ...]]] = {}
        for rule in sorted(make_tables.build_parser(make_tables.grammar_text()).rules, key=str):
            expansion = tuple(str(symbol.name) for symbol in rule.expansion)
            if "KNOWN_LINE" not in expansion:  # which stands for a line in the parser, and in no text
                self.expansions.setdefault(str(rule.origin.name), []).append(expansion)
        self.fixed = {name: text.replace("\\", "") for name, text in make_tables.terminal_patterns(make_tables.grammar_text()).items()}
        self.depth = self._depths()
        #: the expansions that end soonest
        self.shortest = {
            name: [way for way in ways if self._cost(way) == min(map(self._cost, ways))] for name, ways in self.expansions.items()
        }

    def _depths(self) -> dict[str, int]:
        depth: dict[str, int] = {}
        while True:
            before = dict(depth)
            for name, expansions in self.expansions.items():
                known = [
                    1 + max([depth.get(s, 0) if s in self.expansions else 0 for s in e], default=0)
                    for e in expansions
                    if self._known(e, depth)
                ]
                if known:
                    depth[name] = min(known)
            if depth == before:
                return depth

    def _known(self, expansion: Sequence[str], depth: dict[str, int]) -> bool:
        return all(symbol not in self.expansions or symbol in depth for symbol in expansion)

    def _cost(self, expansion: Sequence[str]) -> int:
        """The least depth of what an expansion becomes."""
        return max([self.depth[symbol] for symbol in expansion if symbol in self.expansions], default=0)


@cache
def grammar() -> Grammar:
    """The grammar, read once."""
    return Grammar()


Choose = Callable[[int], int]


def tokens(start: str, choose: Choose, most: int = 14) -> list[str]:
    """The terminals of a text; `choose(n)` picks one of n ways. Beyond depth `most` the shortest way is taken."""
    known = grammar()
    out: list[str] = []
    stack: list[tuple[str, int]] = [(start, 0)]
    while stack:
        symbol, depth = stack.pop()
        if symbol not in known.expansions:
            out.append(symbol)
            continue
        ways = known.expansions[symbol]
        if depth >= most or len(out) > 60:
            ways = known.shortest[symbol]
        way = ways[choose(len(ways))]
        stack += [(child, depth + 1) for child in reversed(way)]
    return out


def text(terminals: Sequence[str], choose: Choose) -> str:
    """The terminals written out, with blanks and indents."""
    known = grammar()
    out: list[str] = []
    indent = 0
    fresh = True
    for name in terminals:
        if name == "NEWLINE":
            out.append("\n")
            fresh = True
            continue
        if name in ("INDENT", "DEDENT"):
            indent += 1 if name == "INDENT" else -1
            if name == "INDENT" and not fresh:
                out.append("\n")
                fresh = True
            continue
        options = SAMPLES.get(name)
        piece = options[choose(len(options))] if options else known.fixed[name]
        if fresh:
            out.append("    " * indent)
        elif name not in _TIGHT:
            out.append(" ")
        out.append(piece)
        fresh = False
    return "".join(out)


def program(seed: int) -> str:
    """The program of a seed."""
    rng = random.Random(seed)
    return made(rng.randrange)


#: expressions and statements; a mistake in one statement is the end of the whole program, so that most pieces are expressions
_STARTS = ("expression_only", "expression_only", "expression_only", "small", "statements")


def made(choose: Choose) -> str:
    """A program of a few pieces."""
    pieces = []
    for _ in range(1 + choose(4)):
        for _ in range(_TRIES):
            start = _STARTS[choose(len(_STARTS))]
            piece = text(tokens(start, choose, (4, 6, 8, 12)[choose(4)]), choose)
            piece = piece if piece.endswith("\n") else f"{piece}\n"
            if _parses(piece):
                break
        pieces.append(piece)
    return "".join(pieces)


#: what the grammar allows may be refused for other reasons (what may be assigned to, order of arguments): then another piece is made
_TRIES = 4


def _parses(piece: str) -> bool:
    try:
        parser.parse_file(Source("<piece>", piece))
    except GradcliError:
        return False
    return True


def run_bounds() -> dict[str, Any]:
    """Bounds under which a program made by chance ends soon, and long before its time is up."""
    return {
        "time": 60.0,
        "steps": 2000,
        "elements": 1e5,
        "bytes": 1 << 28,
        "list": 1e4,
        "string": 1e4,
        "output": 1e5,
        "nodes": 1e4,
        "work": 1e7,
    }
