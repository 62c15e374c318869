"""Errors as people read them: carets under the exact span, whatever the line holds."""

from __future__ import annotations

import json

import pytest

from gradcli.errors import GradcliError, Label, LanguageError, LimitError, ProgramError
from gradcli.render.diagnostic import diagnostic, error_json
from gradcli.render.look import Look
from gradcli.source import Source, Span


def error_at(text: str, part: str, *, name: str = "<expression>", kind: str = "RuntimeError", message: str = "no", **more) -> GradcliError:
    source = Source(name, text)
    start = text.index(part)
    return ProgramError(kind, message, span=Span(source, start, start + len(part)), **more)


def test_a_hint_stands_beside_the_carets() -> None:
    message = "module 'torch' has no attribute 'sinn'"
    error = error_at("torch.sinn(x)", "sinn", kind="AttributeError", message=message, hints=["did you mean sin, sinh, sinc?"])
    assert diagnostic(error) == (
        "AttributeError: module 'torch' has no attribute 'sinn'\n"
        "  torch.sinn(x)\n"
        "        ^^^^ did you mean sin, sinh, sinc?\n"
    )  # fmt: skip


def test_ways_out_are_a_block() -> None:
    source = Source("<expression>", "x**2")
    span = Span(source, 0, 4)
    error = ProgramError(
        "RuntimeError",
        "grad can be implicitly created only for scalar outputs",
        span=span,
        labels=[Label(span, "this has shape (3,)")],
        hints=["try first  (one)", "try second  (two)"],
    )
    assert diagnostic(error) == (
        "RuntimeError: grad can be implicitly created only for scalar outputs\n"
        "  x**2\n"
        "  ^^^^ this has shape (3,)\n"
        "  try   first  (one)\n"
        "        second  (two)\n"
    )


def test_operands_are_labelled() -> None:
    source = Source("<expression>", "x + yy")
    labels = [Label(Span(source, 0, 1), "shape (2,)"), Label(Span(source, 4, 6), "shape (3,)")]
    assert diagnostic(ProgramError("RuntimeError", "sizes", span=Span(source, 0, 6), labels=labels)) == (
        "RuntimeError: sizes\n"
        "  x + yy\n"
        "  ^^^^^^\n"
        "  - shape (2,)\n"
        "      -- shape (3,)\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "part", "shown", "marks"),
    [
        ("a + b", "b", "a + b", "    ^"),
        ("\ta + b", "b", "a + b", "    ^"),
        ("a\t+ b", "b", "a    + b", "       ^"),
        ("'日本' + b", "b", "'日本' + b", "         ^"),
        ("'日本' + b", "日本", "'日本' + b", " ^^^^"),
        ("'e\u0301' + b", "b", "'e\u0301' + b", "      ^"),
        ("'\x1b[31m' + b", "b", r"'\x1b[31m' + b", "             ^"),
        ("'\u202e' + b", "b", r"'\u202e' + b", "           ^"),
    ],
)
def test_carets_stand_under_the_span(line: str, part: str, shown: str, marks: str) -> None:
    assert diagnostic(error_at(line, part)).split("\n")[1:3] == [f"  {shown}", f"  {marks}"]


def test_files_name_their_line() -> None:
    text = "a = 1\nb = 2\nc = a +\n"
    assert diagnostic(error_at(text, "c = a", name="f.py")) == "RuntimeError: no\n  f.py:3\n  c = a +\n  ^^^^^\n"


def test_spans_of_several_lines_show_the_first() -> None:
    assert diagnostic(error_at("f(1,\n  2)\n", "(1,\n  2)", name="f.py")) == "RuntimeError: no\n  f.py:1\n  f(1,\n   ^^^\n"


def test_empty_span_at_the_end() -> None:
    source = Source("<expression>", "x +")
    assert diagnostic(LanguageError("the expression ends here", span=Span(source, 3, 3))) == (
        "SyntaxError: the expression ends here\n  x +\n     ^\n"
    )  # fmt: skip


def test_long_lines_are_cut_around_the_span() -> None:
    text = "+".join(f"x{i}" for i in range(1000))
    for part in ("x0+", "x500", "x999"):
        shown, marks = diagnostic(error_at(text, part)).split("\n")[1:3]
        assert len(shown) < 120
        assert shown[marks.index("^") : marks.rindex("^") + 1] == part


def test_labels_on_other_lines_bring_their_line() -> None:
    source = Source("f.py", "a = 1\nb = c\n")
    error = ProgramError("NameError", "no", span=Span(source, 10, 11), labels=[Label(Span(source, 0, 1), "made here")])
    assert diagnostic(error) == "NameError: no\n  f.py:2\n  b = c\n      ^\n  f.py:1\n  a = 1\n  - made here\n"


def test_the_chain_of_calls() -> None:
    source = Source("f.py", "def f(x):\n  return g(x)\nf(1)\n")
    error = ProgramError("NameError", "no", span=Span(source, 19, 20))
    error.calls = [(Span(source, 24, 28), "f")]
    assert diagnostic(error).endswith("  in f, called on line 3: f(1)\n")
    error.calls *= 50
    assert diagnostic(error).endswith("  ... and 42 more calls\n")


def test_limits_tell_how_to_change_them() -> None:
    assert diagnostic(LimitError("steps", "too many steps")) == "LimitError: too many steps\n  --limit steps=VALUE changes this bound\n"


def test_messages_cannot_reach_the_terminal_raw() -> None:
    shown = diagnostic(ProgramError("ValueError", "\x1b]0;title\x07\u202e\ud800", hints=["\x9b31m"]))
    assert shown == "ValueError: \\x1b]0;title\\x07\\u202e\\ud800\n  \\x9b31m\n"


def test_colour() -> None:
    assert diagnostic(error_at("x", "x"), Look(colour=True)) == "\x1b[1;31mRuntimeError:\x1b[0m no\n  x\n  \x1b[31m^\x1b[0m\n"


def test_json() -> None:
    assert json.loads(error_json(error_at("a\nbc", "c", name="f", hints=["h"]))) == {
        "gradcli": 1,
        "ok": False,
        "error": {
            "kind": "RuntimeError",
            "message": "no",
            "span": {"source": "f", "start": 3, "end": 4, "line": 2, "column": 2, "text": "c"},
            "exit": 1,
            "hints": ["h"],
        },
    }
    assert json.loads(error_json(LimitError("time", "late")))["error"]["exit"] == 5
