"""A short run of programs made by chance from the grammar. A long one: python -m tests.fuzz.check 100000"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcli import limits
from gradcli.errors import GradcliError, InternalFault
from gradcli.lang.syntax import parser
from gradcli.session import Session
from gradcli.source import Source
from tests.fuzz import calls, check, programs


@pytest.fixture(autouse=True)
def _bounds_afterwards():
    before = limits.current
    yield
    limits.use(before)


@st.composite
def generated(draw: st.DrawFn) -> str:
    """A program whose choices hypothesis makes, so that it can make them smaller."""
    return programs.made(lambda count: draw(st.integers(0, count - 1)))


_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example, HealthCheck.filter_too_much]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=_QUIET)
@given(generated())
def test_generated_programs_end_well(text: str) -> None:
    check.check(text)


@pytest.mark.slow
def test_many_seeds() -> None:
    ends = [check.check(programs.program(seed)) for seed in range(150)]
    assert ends.count("ok") > 3 and ends.count("error") > 20


@pytest.mark.slow
def test_odd_arguments_end_well() -> None:
    assert list(calls.faults(3000, 0)) == []


def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise InternalFault("broken")

    monkeypatch.setattr(Session, "run", lambda self, source: broken() if source.name == "<call>" else None)
    assert len(list(calls.faults(5, 0))) == 5


#: text that is nearly a program: pieces of the language in any order, and any characters
PIECES = st.sampled_from(
    [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "'",
        '"',
        "'''",
        "f'",
        'f"',
        "\\",
        "\n",
        "\r\n",
        "\t",
        "#",
        ":",
        ";",
        ",",
        ".",
        "...",
        ":=",
        "->",
        "=",
        "==",
        "**",
        "@",
        "~",
        "0x",
        "1e",
        "1_",
        "lambda",
        "if",
        "else",
        "for",
        "in",
        "def",
        "return",
        "not",
        "and",
        "or",
        "is",
        "None",
        "True",
        "x",
        "print",
        "torch",
        "import",
        "from",
        "as",
        "with",
        "try",
        "except",
        "finally",
        "raise",
        "while",
        "\x00",
        "\x1b",
        "\ufeff",
        "\u202e",
        "é",
        "�",
    ]
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES | st.text(max_size=3), max_size=40).map(" ".join) | st.lists(PIECES, max_size=40).map("".join))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    limits.use(limits.strict())
    for parse in (parser.parse_file, parser.parse_input, parser.parse_expression):
        try:
            parse(Source("<text>", text))
        except GradcliError as error:
            assert not isinstance(error, InternalFault)
            assert error.span is None or 0 <= error.span.start <= error.span.end <= len(text) + 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=12,
)


def _nothing(*values: object) -> None:
    return None


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_repr_round_trip(value: object) -> None:
    """What a value prints as is an expression for it."""
    session = Session(bounds=limits.default(), write=_nothing, warn=_nothing, read_stdin=bytes)
    session.run(Source("<names>", "nan = float('nan')\ninf = float('inf')\n"))
    try:
        shown = session.evaluate(Source("<value>", repr(value))).value.repr()
    except GradcliError as error:
        assert "surrogate" in error.message or error.exit_code == 5
        return
    assert shown == repr(value)
    assert session.evaluate(Source("<again>", shown)).value.repr() == shown
