"""Sessions of programs without tensors, the places of their errors, chains of calls, and declarations that cannot hold."""

import pytest

from gradcli.errors import LanguageError, ProgramError
from gradcli.lang.values import value_classes
from tests.lang.running import Session, failure, output


def text_of(error):
    assert error.span is not None
    return error.span.text


def test_names_persist_over_runs_and_inputs():
    session = Session()
    session.run("x = 1\n")
    session.run("def f(): return x + 1\n")
    assert session.input("f()") == 2
    assert session.input("_ * 10") == 20
    assert session.input("y = 5") is None
    assert session.interpreter.names() == ["x", "f", "_", "__", "y"]
    assert session.interpreter.get("y") == 5
    assert session.interpreter.get("z") is value_classes.MISSING


def test_none_does_not_become_the_last_value():
    session = Session()
    session.input("7")
    session.input("None")
    assert session.interpreter.get("_") == 7


def test_snapshot_and_restore():
    session = Session()
    session.run("x = 1\n")
    kept = session.interpreter.snapshot()
    session.run("x = 2\ny = 3\n")
    session.interpreter.restore(kept)
    assert session.input("x") == 1
    assert session.interpreter.names() == ["x", "_"]


def test_a_failing_assignment_binds_nothing():
    session = Session()
    for text in ("a = b = 1 / 0\n", "a, b = 1\n", "a, b = [1, 2, 3]\n", "(a, b), c = (1, 2), *[]\n"):
        with pytest.raises(ProgramError):
            session.run(text)
    assert session.interpreter.names() == []


def test_output_before_an_error_stays():
    session = Session()
    with pytest.raises(ProgramError):
        session.run("print('before')\n1 / 0\nprint('after')\n")
    assert session.text == "before\n"


def test_the_same_program_runs_again():
    session = Session()
    session.run("n = 0\n")
    for _ in range(3):
        session.run("n = n + 1\n")
    assert session.input("n") == 3


def test_sessions_do_not_share_names():
    first, second = Session(), Session()
    first.run("x = 1\n")
    with pytest.raises(ProgramError, match="name 'x' is not defined"):
        second.run("x\n")


def test_addresses_are_numbered_in_order_of_printing():
    program = "def f(): pass\ndef g(): pass\nprint(g, f, g)\nprint(id(f) == id(f), id(f) == id(g))\n"
    assert output(program) == "<function g at 0x1> <function f at 0x2> <function g at 0x1>\nTrue False\n"


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("x = 1 + 2 - 'a' + 4\n", "1 + 2 - 'a'"),
        ("x = [1][5]\n", "[1][5]"),
        ("x = (1).foo\n", "foo"),
        ("print(nope)\n", "nope"),
        ("print(1 < 2 < 'a')\n", "2 < 'a'"),
        ("a, b = 5\n", "a, b"),
        ("xs = []\nxs[3] = 1\n", "xs[3]"),
        ("x = 1\nx += 'a'\n", "x += 'a'"),
        ("for i in 5: pass\n", "5"),
        ("print([c for c in 5])\n", "5"),
        ("raise ValueError('x')\n", "raise ValueError('x')"),
        ("assert 1 == 2, 'no'\n", "assert 1 == 2, 'no'"),
        ("x = {1: 2}['k']\n", "{1: 2}['k']"),
        ("len(1, 2)\n", "len(1, 2)"),
        ("int('x')\n", "int('x')"),
        ("f'{1:zz}'\n", "{1:zz}"),
        ("import socket\n", "import socket"),
        ("d = {[1]: 2}\n", "[1]"),
        ("print(*5)\n", "*5"),
        ("with 5: pass\n", "5"),
        ("-'a'\n", "-'a'"),
        ("'a'.join(5)\n", "'a'.join(5)"),
        ("sum([1, 'a'])\n", "sum([1, 'a'])"),
        ("del nope\n", "nope"),
        ("math.sqrt(-1)\n", "math.sqrt(-1)"),
        ("torch.foo(1)\n", "foo"),
    ],
)
def test_errors_point_at_the_failing_part(program, text):
    assert text_of(failure(program)) == text


def test_the_place_survives_finally_and_with():
    program = "try:\n    1 / 0\nfinally:\n    y = len([1]) + 2\n"
    assert text_of(failure(program)) == "1 / 0"
    assert text_of(failure("with torch.no_grad():\n    1 / 0\n")) == "1 / 0"


def test_an_error_raised_again_keeps_its_place():
    assert text_of(failure("try:\n    1 / 0\nexcept ZeroDivisionError:\n    x = 1 + 1\n    raise\n")) == "1 / 0"


def test_errors_carry_the_chain_of_calls():
    error = failure("def f(x): return g(x) + 1\ndef g(x): return x / 0\nf(5)\n")
    assert [(span.text, name) for span, name in error.calls] == [("f(5)", "f"), ("g(x)", "g")]
    assert text_of(error) == "x / 0"


def test_calls_through_builtins_are_in_the_chain():
    error = failure("xs = list(map(lambda v: 1 / v, [1, 0]))\n")
    assert [name for _, name in error.calls] == ["<lambda>"]
    assert text_of(error) == "1 / v"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("def f():\n    nonlocal x\n", "no binding for nonlocal 'x' found"),
        ("nonlocal x\n", "nonlocal declaration not allowed at module level"),
        ("def f(x):\n    global x\n", "name 'x' is parameter and global"),
        ("def f():\n    from math import *\n", "import * only allowed at module level"),
        ("__builtins__ = 1\n", "names such as __builtins__ cannot be bound in gradcli's language"),
        ("def f(__class__): pass\n", "names such as __class__ cannot be bound in gradcli's language"),
    ],
)
def test_declarations_that_cannot_hold(program, message):
    error = failure("print('never')\n" + program)
    assert isinstance(error, LanguageError)
    assert error.message == message
