"""What holds for any text: it ends within the bounds that count, well or with our error; `python -m tests.fuzz.check COUNT [SEED]`."""

from __future__ import annotations

import sys
from collections import Counter

from gradcli import limits
from gradcli.errors import GradcliError, InternalFault, LanguageError, LimitError
from gradcli.lang.syntax import parser
from gradcli.lang.syntax.nodes import Program
from gradcli.render.diagnostic import diagnostic
from gradcli.session import Session
from gradcli.source import Source
from tests.fuzz import programs

#: gives the names that generated programs use a meaning, so that they get somewhere
PRELUDE = "x = torch.tensor([1., 2., 3.], requires_grad=True)\ny = torch.ones(3, 3)\na = [1, 2, 3]\ni = 2\ndef f(x=1, *a, **e): return x\n"


def _nothing(*values: object) -> None:
    return None


def check(text: str) -> str:
    """Parse and run a program; how it ended. Raises AssertionError, or the fault of ours that the program has found."""
    bounds = limits.strict().changed(**programs.run_bounds())
    session = Session(bounds=bounds, write=_nothing, warn=_nothing, read_stdin=bytes)
    session.run(Source("<prelude>", PRELUDE), reuse=True)
    source = Source("<generated>", text)
    try:
        program = parser.parse_file(source, reuse=True)
        check_spans(program)
        again = parser.parse_file(Source("<again>", text))
        assert repr(again) == repr(program) or type(again).__repr__ is object.__repr__
        session.run(source, reuse=True)
        ended = "ok"
    except InternalFault:
        raise
    except GradcliError as error:
        shown = diagnostic(error)
        assert "Traceback" not in shown and not any(ord(char) < 32 and char != "\n" for char in shown), shown
        ended = "syntax" if isinstance(error, LanguageError) else f"limit {error.limit}" if isinstance(error, LimitError) else "error"
    assert ended != "limit time", "the bounds that count let it run on"
    return ended


def check_spans(program: Program) -> None:
    """Every statement lies inside the program, in order."""
    at = 0
    for statement in program.body:
        assert 0 <= at <= statement.start < statement.end <= len(program.source.text)
        at = statement.start


def main() -> int:
    """Check COUNT programs from SEED on; failures are printed with their seed."""
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    ends: Counter[str] = Counter()
    for number in range(seed, seed + count):
        text = programs.program(number)
        try:
            ends[check(text)] += 1
        except Exception as error:
            ends["FAILED"] += 1
            print(f"seed {number}: {type(error).__name__}: {error}\n{text}\n---", flush=True)
        if (done := number - seed + 1) % 10_000 == 0 and done < count:
            print(f"{done} so far: {dict(ends.most_common())}", flush=True)
    print(f"{count} programs from seed {seed}:", dict(ends.most_common()))
    return int("FAILED" in ends)


if __name__ == "__main__":
    sys.exit(main())
