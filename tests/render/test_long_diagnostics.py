"""Diagnostics have at most some 4 kB, whatever is long in a program: a name, a key, a message, an argument, a line, a chain of calls."""

from __future__ import annotations

import json

import pytest

from gradcli import limits
from gradcli.errors import GradcliError, Label, ProgramError
from gradcli.render.diagnostic import diagnostic, error_json, warning
from gradcli.session import Session
from gradcli.source import Source, Span

N = 200_000
NAME = "n" * N
PROGRAMS = {
    "a name": NAME,
    "an attribute": f"torch.{NAME}",
    "an argument": f"torch.ones(2, {NAME}=1)",
    "a keyword of a function": f"def f(): pass\nf({NAME}=1)",
    "a function": f"def {NAME}(): 1/0\n{NAME}()",
    "a class": f"class {NAME}(Exception): pass\nraise {NAME}('x')",
    "a class without attributes": f"class {NAME}: pass\n{NAME}().x",
    "a key": f"{{}}['{NAME}']",
    "a message": f"raise ValueError('{NAME}')",
    "lines of a message": f"raise ValueError('a\\n' * {N})",
    "control characters of a message": f"raise ValueError('\\x1b' * {N})",
    "arguments": f"raise ValueError(*['{'a' * 100}'] * 1000)",
    "a string that is no number": f"int('{NAME}')",
    "a string that is no float": f"float('{NAME}')",
    "a list of names": f"import {','.join(f'abc{i}' for i in range(20_000))}",
    "a module": f"import {NAME}",
    "a name of a module": f"from torch import {NAME}",
    "a string that does not end": f"'{NAME}",
    "a line": f"1 + {'+'.join(['1'] * (N // 2))} + nope",
    "a long operand": f"[{'1,' * (N // 2)}] + 1",
    "a format": f"'{{:{NAME}}}'.format(1)",
    "an equation": f"torch.einsum('{NAME}', torch.ones(2))",
    "a shape": f"torch.ones({','.join(['1'] * 60)}).view({','.join(['3'] * 60)})",
    "a shape of many": f"torch.ones(2).view({','.join(['3'] * 20_000)})",
    "a parameter": f"import torch.nn as nn\nnn.ParameterDict({{'a': 1}})['{NAME}']",
    "a state": f"import torch.nn as nn\nnn.Linear(1, 1).load_state_dict({{'{NAME}': 1}})",
    "a state of many": "import torch.nn as nn\nnn.Linear(1, 1).load_state_dict({str(i): i for i in range(20000)})",
    "an assertion": f"assert False, '{NAME}'",
    "calls": "def f(n):\n    return f(n + 1)\nf(0)",
    "calls on a long line": f"def f(n):\n    return f(n + 1) {'+ 1' * 10_000}\nf(0)",
    "a long default": f"def f(a='{NAME}'): pass\nf(1, 2)",
    "many parameters": f"def f({','.join(f'a{i}' for i in range(5000))}): pass\nf()",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_diagnostic_is_short(text: str) -> None:
    session = Session(
        bounds=limits.strict().changed(time=limits.NONE, source=2**20), write=lambda _: None, warn=lambda *_: None, read_stdin=bytes
    )
    with pytest.raises(GradcliError) as caught:
        session.run(Source("n" * 5000, text))
    assert caught.value.kind != "InternalFault"
    assert len(diagnostic(caught.value).encode()) < 4500
    assert len(error_json(caught.value)) < 12_000
    json.loads(error_json(caught.value))


def test_all_that_an_error_has_is_long() -> None:
    source = Source("f" * N, "\n".join(["x" * N] * 40))
    spans = [Span(source, line * (N + 1) + N // 2, line * (N + 1) + N) for line in range(40)]
    error = ProgramError("E" * N, "m" * N, span=spans[0], labels=[Label(span, "l" * N) for span in spans], hints=["h" * N] * 40)
    error.calls = [(span, "c" * N) for span in spans]
    assert len(diagnostic(error).encode()) < 12_000
    assert f"({N:,} characters)" in diagnostic(error)


def test_a_warning_is_short() -> None:
    source = Source("f" * N, "x" * N)
    assert len(warning("W" * N, "m" * N, Span(source, 0, N))) < 4500


def test_the_ends_of_a_long_message_are_shown() -> None:
    text = diagnostic(ProgramError("ValueError", "begin" + "." * N + "end"))
    assert text.startswith("ValueError: begin...") and text.endswith("...end\n") and f" ... ({N + 8:,} characters) ... " in text
