"""Makes the parse tables from grammar/: `python tools/make_tables.py` writes gradcli/lang/syntax/tables.json.

`--check` writes nothing and exits with 1 where the tables are not those of grammar/.

Lark builds the LALR(1) tables, and lark_parser stores them. Between, this program changes them in two ways. It takes out steps that
only hand one child on, such as `?sum: term`: where a state would reduce by such a rule, it puts the action that follows the step, so
that a name costs one reduction instead of ten. And it makes one state of states with equal rows.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from gradcli.lang.syntax.lark_parser import OPTIONS, TABLES, Lark, Shift, store, table

ROOT = Path(__file__).resolve().parents[1]
GRAMMAR = ROOT / "grammar"
PARTS = ("gradcli", "statements", "expressions", "tokens")
TARGET = ROOT / "gradcli" / "lang" / "syntax" / TABLES

State = tuple[int, frozenset[int]]
Row = dict[str, tuple[Any, Any]]


def grammar_text(folder: Path = GRAMMAR) -> str:
    """The whole grammar, as Lark reads it."""
    return "\n".join((folder / f"{part}.lark").read_text(encoding="utf-8") for part in PARTS)


def build_parser(grammar: str) -> Lark:
    """Lark's own parser for the grammar's text. Raises lark.GrammarError, also for conflicts."""
    return Lark(grammar, start=["expression_only", "file", "input", "simple_line"], **OPTIONS)


def terminal_patterns(grammar: str) -> dict[str, str]:
    """The terminals of the grammar that have fixed text, each with its regular expression."""
    return {t.name: t.pattern.to_regexp() for t in build_parser(grammar).terminals if t.pattern.value}


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
        for name, end in sorted(table.end_states.items()):
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


def _merged(chains: Chains) -> list[int]:
    """The number of each state where states with equal rows are one; start and end states stay as they are."""
    fixed = {*chains.starts.values(), *chains.ends.values()}
    classes = [0] * len(chains.rows)
    while True:
        numbers: dict[Any, int] = {}
        found = []
        for at, row in enumerate(chains.rows):
            actions = frozenset((symbol, classes[arg] if is_shift(kind) else arg) for symbol, (kind, arg) in row.items())
            found.append(numbers.setdefault((classes[at], at if at in fixed else -1, actions), len(numbers)))
        if len(numbers) == len(set(classes)):
            return found
        classes = found


def shorten(found: Any) -> None:
    """Take the single-child steps out of Lark's table, and make equal states one."""
    chains = Chains(found)
    numbers = _merged(chains)
    found.states = {
        numbers[at]: {symbol: (kind, numbers[arg] if is_shift(kind) else arg) for symbol, (kind, arg) in row.items()}
        for at, row in enumerate(chains.rows)
    }
    found.start_states = {name: numbers[at] for name, at in chains.starts.items()}
    found.end_states = {name: numbers[at] for name, at in chains.ends.items()}


def generate(folder: Path = GRAMMAR) -> str:
    """The content of tables.json."""
    parser = build_parser(grammar_text(folder))
    shorten(table(parser))
    return store(parser)


def main() -> int:
    """Write the tables; with `--check`, only say whether they are those of grammar/."""
    text = generate()
    if "--check" in sys.argv[1:]:
        return int(text != TARGET.read_text(encoding="utf-8"))
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
