"""Makes the parse tables from grammar/: `python tools/make_tables.py` writes gradcli/lang/syntax/_tables.py.

`--check` writes nothing and exits with 1 where the tables are not those of grammar/.

Lark builds the LALR(1) tables. This program then changes them in two ways. It takes out steps that only hand one child
on, such as `?sum: term`: where a state would reduce by such a rule, it puts the action that follows the step, so that a
name costs one reduction instead of fifteen. And it writes equal rows once; the parser unpacks a row when it first meets
its state.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lark import Lark
from lark.lexer import Lexer
from lark.parsers.lalr_analysis import Shift

ROOT = Path(__file__).resolve().parents[1]
GRAMMAR = ROOT / "grammar"
PARTS = ("gradcli", "statements", "expressions", "tokens")
TARGET = ROOT / "gradcli" / "lang" / "syntax" / "_tables.py"

State = tuple[int, frozenset[int]]
Row = dict[str, tuple[Any, Any]]


def grammar_text(folder: Path = GRAMMAR) -> str:
    """The whole grammar, as Lark reads it."""
    return "\n".join((folder / f"{part}.lark").read_text(encoding="utf-8") for part in PARTS)


class _NoLexer(Lexer):
    """Takes the place of Lark's lexer: the package has a lexer of its own."""

    def __init__(self, conf: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
        return iter(())


def _lark(grammar: str) -> Lark:
    starts = ["expression_only", "input", "file"]
    return Lark(grammar, parser="lalr", lexer=_NoLexer, start=starts, keep_all_tokens=True, maybe_placeholders=False, debug=False)


def build_table(grammar: str) -> Any:
    """Lark's own parse table for the grammar's text. Raises lark.GrammarError, also for conflicts."""
    engine: Any = _lark(grammar).parser
    return engine.parser._parse_table


def terminal_patterns(grammar: str) -> dict[str, str]:
    """The terminals of the grammar that have fixed text, each with its regular expression."""
    return {t.name: t.pattern.to_regexp() for t in _lark(grammar).terminals if t.pattern.value}


def is_shift(kind: Any) -> bool:
    """Whether an action of Lark's tables is a shift."""
    return kind is Shift


class Chains:
    """Lark's states with the single-child steps taken out.

    A new state stands for the old state on top of the stack together with those that the steps would pass
    through; which these are depends on the state below. So a new state is the pair of the first old state and the
    set of all of them, and is found from the state below and the symbol between.
    """

    def __init__(self, table: Any) -> None:
        self.old: dict[int, Row] = table.states
        self.rows: list[Row] = []
        self.numbers: dict[State, int] = {}
        self._waiting: list[tuple[State, Row]] = []
        self.starts: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        for name, start in sorted(table.start_states.items()):
            self.starts[name] = self._number((start, frozenset([start])), dict(self.old[start]))
        # breadth first and in the symbols' order, so that the numbers do not depend on how Lark numbered
        for state, row in self._waiting:
            self._finish(state, row)
        for name, end in table.end_states.items():
            self.ends[name] = self.numbers[end, frozenset([end])]

    def _number(self, state: State, row: Row) -> int:
        number = self.numbers.get(state)
        if number is None:
            number = self.numbers[state] = len(self.rows)
            self.rows.append({})
            self._waiting.append((state, row))
        return number

    def _finish(self, state: State, row: Row) -> None:
        """Turn the row's old targets into new states."""
        gotos: dict[str, int] = {}
        for old in state[1]:
            for symbol, (kind, target) in self.old[old].items():
                if is_shift(kind) and gotos.setdefault(symbol, target) != target:
                    raise ValueError(f"states {sorted(state[1])} disagree about {symbol}; write the grammar differently")
        new = self.rows[self.numbers[state]]
        for symbol, (kind, target) in sorted(row.items(), key=_symbol):
            new[symbol] = (kind, self._number(*self._through(gotos, target))) if is_shift(kind) else (kind, target)
        for symbol, target in sorted(gotos.items()):
            if not symbol.isupper() and symbol not in new and not symbol.startswith("$"):
                new[symbol] = (Shift, self._number(*self._through(gotos, target)))

    def _through(self, gotos: dict[str, int], target: int) -> tuple[State, Row]:
        """The new state for `target` above a state with these gotos, and its row, with old targets still."""
        passed = {target}
        row: Row = {}
        for symbol in self.old[target]:
            at = target
            action = self.old[at].get(symbol)
            while action is not None and not is_shift(action[0]) and _hands_on(action[1]):
                at = gotos[action[1].origin.name]
                passed.add(at)
                action = self.old[at].get(symbol)
            if action is not None and (symbol.isupper() or symbol.startswith("$")):
                row[symbol] = action
        return (target, frozenset(passed)), row


def _symbol(item: tuple[str, Any]) -> str:
    return item[0]


def _hands_on(rule: Any) -> bool:
    """Whether the rule is a single-child step of a `?rule`."""
    return len(rule.expansion) == 1 and rule.options.expand1 and not rule.alias


def _packed_rows(rows: list[Row], rules: dict[Any, int], symbols: dict[str, int]) -> Iterator[str]:
    """Each row as `action symbol symbol ...;action symbol ...`; action 2n shifts to state n, 2n + 1 reduces by rule n."""
    for row in rows:
        by_action: dict[int, list[int]] = {}
        for symbol, (kind, arg) in row.items():
            action = 2 * arg if is_shift(kind) else 2 * rules[arg] + 1
            by_action.setdefault(action, []).append(symbols[symbol])
        yield ";".join(f"{action} {' '.join(map(str, sorted(having)))}" for action, having in sorted(by_action.items()))


def generate(folder: Path = GRAMMAR) -> str:
    """The text of _tables.py."""
    table = build_table(grammar_text(folder))
    chains = Chains(table)
    used = {arg for row in chains.rows for kind, arg in row.values() if not is_shift(kind)}
    ordered = sorted(used, key=lambda rule: (str(rule.origin.name), rule.order))
    rules = {rule: at for at, rule in enumerate(ordered)}
    names = sorted({str(symbol) for row in chains.rows for symbol in row}, key=lambda s: (not s.isupper(), s))
    symbols = {name: at for at, name in enumerate(names)}
    packed = list(_packed_rows(chains.rows, rules, symbols))
    distinct = {row: at for at, row in enumerate(dict.fromkeys(packed))}
    lines = [
        '"""LALR(1) tables, made from grammar/ by `python tools/make_tables.py`; do not edit."""',
        "",
        "# fmt: off",
        "# ruff: noqa: E501",
        "STARTS: dict[str, int] = " + repr(dict(sorted(chains.starts.items()))),
        "ENDS: dict[str, int] = " + repr(dict(sorted(chains.ends.items()))),
        "SYMBOLS: tuple[str, ...] = (",
        *(f"    {name!r}," for name in names),
        ")",
        "# (what the rule makes, how many symbols it takes, the builder's callback)",
        "RULES: tuple[tuple[str, int, str], ...] = (",
        *(f"    {(str(rule.origin.name), len(rule.expansion), str(rule.alias))!r}," for rule in ordered),
        ")",
        "# which row each state has",
        'STATES = """' + " ".join(str(distinct[row]) for row in packed) + '"""',
        "# a row is `action symbol symbol ...;action symbol ...`: action 2n shifts to state n, 2n + 1 reduces by rule n",
        'ROWS = """\\',
        *distinct,
        '"""',
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Write the tables; with `--check`, only say whether they are up to date."""
    text = generate()
    if "--check" in sys.argv[1:]:
        return int(text != TARGET.read_text(encoding="utf-8"))
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
