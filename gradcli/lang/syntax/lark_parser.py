"""Lark with the stored tables of grammar/: the only module that imports the library.

`tools/make_tables.py` has Lark read the grammar, and stores the rules and the parse table. `load` hands them to `Lark.load`, with `Feed`
as the lexer, and the builder as the transformer whose methods Lark calls while it parses. What Lark's documentation leaves out is in
this module alone: the memo that `Lark.load` takes holds made rules, since Lark's own way of reading them takes most of a start, and
`_plugins` puts `StoredParser` in the place of Lark's parser, so that a row of the table is unpacked when a parse first comes to its
state. `tests/lang/syntax/test_lark.py` says which versions of Lark it was tried with.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from pkgutil import get_data
from typing import Any, cast

from lark import Lark, UnexpectedToken
from lark.grammar import NonTerminal, Rule, RuleOptions, Symbol, Terminal
from lark.lexer import Lexer
from lark.parsers.lalr_analysis import IntParseTable, Reduce, Shift
from lark.parsers.lalr_parser import LALR_Parser, _Parser

__all__ = ["OPTIONS", "TABLES", "Feed", "Lark", "Shift", "Tokens", "UnexpectedToken", "accepted", "load", "store", "table", "values"]

TABLES = "tables.json"

Row = dict[str, tuple[Any, Any]]


class Tokens:
    """A stream of tokens, which stands for the text, and the last two that the parser got."""

    __slots__ = ("_stream", "recent")

    def __init__(self, stream: Iterator[Any]) -> None:
        self._stream = stream
        self.recent: deque[Any] = deque([None, None], 2)

    def __iter__(self) -> Iterator[Any]:
        keep = self.recent.append
        for token in self._stream:
            keep(token)
            yield token


class Feed(Lexer):
    """Lark's lexer: hands on the tokens that our own lexer makes."""

    def __init__(self, conf: Any) -> None:
        pass

    def lex(self, data: Iterable[Any]) -> Iterator[Any]:  # type: ignore[override]
        """The tokens of `data`."""
        return iter(data)


class _Production(Rule):
    """A rule that is compared by identity, which every reduction does twice."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def __init__(self, stored: str) -> None:
        """`stored` is the text that `_rule_text` makes."""
        origin, self.alias, *symbols = stored.split()
        self.origin = NonTerminal(origin)
        self.expansion = [_symbol(name) for name in symbols]
        self.order = 0
        self.options = _OPTIONS


_OPTIONS = RuleOptions(keep_all_tokens=True)


@cache
def _symbol(name: str) -> Symbol:
    return Terminal(name) if name.isupper() else NonTerminal(name)


class _Rows(dict[int, Row]):
    """The row of each state: the action for each symbol."""

    def __init__(self, packed: list[str], symbols: list[str], productions: list[_Production]) -> None:
        super().__init__()
        self._packed = packed
        self._symbols = symbols
        self._productions = productions

    def __missing__(self, state: int) -> Row:
        row: Row = {}
        for part in self._packed[state].split(";"):
            if not part:  # the row of an end state is empty
                continue
            first, *symbols = part.split()
            number = int(first)
            action = (Reduce, self._productions[number >> 1]) if number & 1 else (Shift, number >> 1)
            for symbol in symbols:
                row[self._symbols[int(symbol)]] = action
        self[state] = row
        return row


class StoredParser(LALR_Parser):
    """Lark's parser with packed rows.

    A row is `action symbol symbol ...;action symbol ...`: action 2n shifts to state n, 2n + 1 reduces by rule n.
    """

    @classmethod
    def deserialize(  # type: ignore[override]
        cls, data: dict[str, Any], memo: dict[int, _Production], callbacks: dict[Any, Any], debug: bool = False
    ) -> StoredParser:
        """The parser of what `store` wrote."""
        made = cls.__new__(cls)
        rows = _Rows(data["rows"], data["symbols"], list(memo.values()))
        made._parse_table = cast(Any, IntParseTable)(rows, data["starts"], data["ends"])
        made.parser = _Parser(made._parse_table, cast(Any, callbacks), debug)
        return made


def _packed(row: Row, symbols: list[str], rules: list[Rule]) -> str:
    by_action: dict[int, list[int]] = {}
    for symbol, (kind, arg) in row.items():
        action = 2 * arg if kind is Shift else 2 * rules.index(arg) + 1
        by_action.setdefault(action, []).append(symbols.index(symbol))
    return ";".join(f"{action} {' '.join(map(str, sorted(having)))}" for action, having in sorted(by_action.items()))


#: the options of a parser that are not Lark's defaults
OPTIONS: dict[str, Any] = {
    "parser": "lalr",
    "lexer": Feed,
    "keep_all_tokens": True,
    "maybe_placeholders": False,
    "_plugins": {"LALR_Parser": StoredParser},
}


def store(parser: Lark) -> str:
    """The rules and the table of a parser, whose states are 0, 1, 2 and so on, as JSON, which runs nothing when it is read."""
    found = table(parser)
    states = found.states
    symbols = sorted({symbol for row in states.values() for symbol in row})
    rules = sorted({arg for row in states.values() for kind, arg in row.values() if kind is Reduce}, key=str)
    stored = {
        "symbols": symbols,
        "rules": [_rule_text(rule) for rule in rules],
        "rows": [_packed(states[state], symbols, rules) for state in range(len(states))],
        "starts": found.start_states,
        "ends": found.end_states,
    }
    return json.dumps(stored, sort_keys=True, separators=(",", ":")) + "\n"


def _rule_text(rule: Rule) -> str:
    """Origin, alias and symbols, with blanks between. All rules of the table have aliases, which are names of the builder's methods."""
    return " ".join([rule.origin.name, str(rule.alias), *(symbol.name for symbol in rule.expansion)])


def load(transformer: Any) -> Lark:
    """A parser of the stored tables, with `transformer` for its callbacks."""
    stored = json.loads(get_data(__package__, TABLES) or "")
    starts = list(stored["starts"])
    data = {
        "options": {**OPTIONS, "start": starts, "transformer": transformer},
        "rules": [{"@": number} for number in range(len(stored["rules"]))],
        "parser": {
            "lexer_conf": {"terminals": [], "ignore": [], "g_regex_flags": 0, "use_bytes": False, "lexer_type": Feed},
            "parser_conf": {"rules": [], "start": starts, "parser_type": "lalr"},
            "parser": stored,
        },
    }
    return Lark.load({"data": data, "memo": {number: _Production(text) for number, text in enumerate(stored["rules"])}})


def table(parser: Lark) -> Any:
    """The parse table."""
    return parser.parser.parser._parse_table


def accepted(error: UnexpectedToken) -> set[str]:
    """The terminals of the text that may follow where the parser is stuck."""
    return set(error.accepts) - {"KNOWN_LINE", "PATTERN_AS"}


def values(error: UnexpectedToken) -> list[Any]:
    """The parser's stack of values: tokens, and what the transformer made."""
    return error.interactive_parser.parser_state.value_stack
