"""Inputs that want to get out or bring the machine down, each with its verdict.

The short ones are lines of hostile.jsonl; those that are long because they repeat themselves are written here as what they repeat.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Hostile(NamedTuple):
    """An input: what it is about, how it is given (`eval` or `script`), how it has to end (`ok` or `error`), and why."""

    id: str
    category: str
    mode: str
    source: str
    expect: str
    why: str


LONG = [
    Hostile("parse-thousand-lines", "parse", "script", "k = 0\n" + "k = k + 1\n" * 998 + "print(k)\n", "ok", "1,000 statements"),
    Hostile(
        "parse-long-name", "parse", "script", "n" + "a" * 999 + " = 1\nprint(n" + "a" * 999 + ")\n", "ok", "1,000-character identifier"
    ),
    Hostile("numeric-literal-long-digits", "numeric", "eval", "0." + "1" * 400, "ok", "400-digit literal rounds"),
    Hostile("parse-unary-100", "parse", "eval", "-" * 100 + "1", "ok", "100 chained unary operators"),
    Hostile(
        "more-tensor-flat", "resource", "eval", "[" + ", ".join(["ones(9000000)*2"] * 200) + "]", "error", "many tensors without a loop"
    ),
    Hostile("more-tensor-none-index", "numeric", "eval", "ones(1)[" + ", ".join(["None"] * 100) + "]", "error", "a hundred dimensions"),
    Hostile("more-tensor-nested", "numeric", "eval", "tensor(" + "[" * 100 + "1" + "]" * 100 + ")", "error", "a hundred dimensions"),
    Hostile("more-many-brackets", "parse", "eval", "(" * 100_000 + ")" * 100_000, "error", "brackets"),
    Hostile("more-many-open", "parse", "eval", "[" * 200_000, "error", "brackets that never close"),
    Hostile("more-many-not", "parse", "eval", "not " * 50_000 + "x", "error", "right-recursive"),
    Hostile("more-many-minus", "parse", "eval", "-" * 200_000 + "1", "error", "right-recursive"),
    Hostile("more-many-power", "parse", "eval", "1**" * 60_000 + "1", "error", "right-recursive"),
    Hostile("more-many-ternary", "parse", "eval", "1 if 1 else " * 20_000 + "1", "error", "right-recursive"),
    Hostile("more-many-lambda", "parse", "eval", "lambda: " * 30_000 + "1", "error", "right-recursive"),
    Hostile("more-many-fstrings", "parse", "eval", "f'{" * 20_000, "error", "f-strings that never close"),
    Hostile("more-many-plus", "parse", "eval", "1+" * 100_000 + "1", "ok", "a long sum"),
    Hostile("more-many-and", "parse", "eval", "1 and " * 40_000 + "1", "ok", "a long conjunction"),
    Hostile("more-many-compare", "parse", "eval", "1 <= " * 40_000 + "1", "ok", "a long comparison"),
    Hostile("more-many-attributes", "parse", "eval", "x" + ".real" * 50_000, "error", "a long chain of attributes"),
    Hostile("more-many-calls", "parse", "eval", "abs" + "()" * 100_000, "error", "a long chain of calls"),
    Hostile("more-many-subscripts", "parse", "eval", "[0]" + "[0]" * 80_000, "error", "a long chain of subscripts"),
    Hostile("more-many-args", "parse", "eval", "max(" + "1, " * 80_000 + "1)", "ok", "many arguments"),
    Hostile("more-many-strings", "parse", "eval", "'a' " * 60_000, "ok", "adjacent strings"),
    Hostile("more-many-digits", "parse", "eval", "1" * 200_000, "error", "a long number"),
    Hostile("more-many-underscores", "parse", "eval", "1_" * 100_000 + "1", "error", "a long number"),
    Hostile("more-many-zeros", "parse", "eval", "0." + "0" * 200_000 + "1", "ok", "a long fraction"),
    Hostile("more-many-exponent", "parse", "eval", "1e" + "9" * 200_000, "ok", "a long exponent is infinite"),
    Hostile("more-many-statements", "parse", "script", "a=1;" * 60_000 + "\n", "ok", "many statements in a line"),
    Hostile(
        "more-many-if", "parse", "script", "".join(" " * i + "if 1:\n" for i in range(500)) + " " * 500 + "pass\n", "error", "deep blocks"
    ),
    Hostile("more-many-decorators", "parse", "script", "@abs\n" * 20_000 + "def f(): pass\n", "error", "many decorators"),
    Hostile(
        "more-many-params",
        "parse",
        "script",
        "def f(" + ", ".join(f"a{i}" for i in range(20_000)) + "): pass\nprint(f)\n",
        "ok",
        "many parameters",
    ),
    Hostile("more-many-targets", "parse", "script", "a = " * 50_000 + "1\n", "ok", "many targets"),
    Hostile("more-many-elif", "parse", "script", "if 0: pass\n" + "elif 0: pass\n" * 15_000, "ok", "many branches"),
    Hostile(
        "more-many-indents",
        "parse",
        "script",
        "if 1:\n" + "".join(" " * (i % 90 + 1) + "pass\n" for i in range(2000)),
        "error",
        "wrong indents",
    ),
    Hostile("more-long-comment", "parse", "script", "#" + "x" * 200_000 + "\nprint(1)\n", "ok", "a long comment"),
    Hostile("more-long-name", "parse", "eval", "a" * 200_000, "error", "a long name, in the message too"),
    Hostile("more-long-string-error", "parse", "eval", "'" + "a" * 200_000, "error", "a long string without its end"),
    Hostile("more-source-over", "parse", "script", "# " + "x" * 300_000 + "\n", "error", "over 256 KiB"),
    Hostile("kinds-parse-001", "parse", "eval", "{1:{" * 300, "error", "unfinished, nested and again"),
    Hostile("kinds-parse-002", "parse", "eval", "-" * 300, "error", "unfinished, nested and again"),
    Hostile("kinds-parse-003", "parse", "eval", "x.y(" * 300, "error", "unfinished, nested and again"),
    Hostile("kinds-parse-004", "parse", "eval", "x[1:" * 300, "error", "unfinished, nested and again"),
    Hostile("kinds-parse-007", "parse", "eval", "x[" * 190 + "1" + "]" * 190, "error", "nested brackets"),
    Hostile("kinds-parse-008", "parse", "eval", "(yield " * 250 + "1" + ")" * 250, "error", "nested brackets"),
    Hostile("kinds-parse-009", "parse", "eval", "2**" * 250 + "1", "error", "right recursive operators nest"),
]

_ROWS = Path(__file__).with_name("hostile.jsonl").read_text(encoding="utf-8").splitlines()
CASES = [*(Hostile(**json.loads(row)) for row in _ROWS), *LONG]
