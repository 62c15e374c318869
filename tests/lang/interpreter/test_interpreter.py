"""Names, sessions, places of errors, chains of calls, bounds: what programs without tensors cannot compare with CPython."""

import pytest

from gradcli import limits
from gradcli.errors import LanguageError, LimitError, ProgramError
from gradcli.lang.values import value_classes
from tests.lang.running import Session, failure, output


def text_of(error):
    assert error.span is not None
    return error.span.text


# --- sessions ---


def test_names_persist_over_runs_and_inputs():
    session = Session()
    session.run("x = 1\n")
    session.run("def f(): return x + 1\n")
    assert session.input("f()") == 2
    assert session.input("_ * 10") == 20
    assert session.input("y = 5") is None
    assert session.interpreter.names() == ["x", "f", "_", "y"]
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


# --- names ---


def test_torch_names_need_no_import_and_can_be_hidden():
    assert output("print(float32, torch.float32, F is torch.nn.functional)\n") == "torch.float32 torch.float32 True\n"
    assert output("pi = 3\nprint(pi)\ndel pi\nprint(pi)\n") == "3\n3.141592653589793\n"


def test_python_keeps_its_names_until_star_import():
    program = "print(int, float(2), max)\nfrom torch import *\nprint(int, float, bool, type(max) is type(len))\n"
    assert output(program) == "<class 'int'> 2.0 <built-in function max>\ntorch.int32 torch.float32 torch.bool True\n"


def test_e_means_nothing_bare_in_a_script():
    assert failure("print(e)\n").message == "name 'e' is not defined"
    assert Session(one_off=True).evaluate("e") == 2.718281828459045


def test_imports_bind_what_is_there():
    program = """
import torch, math
import torch.nn as nn
import torch.nn.functional
import torch.nn.functional as F
import numpy as np
from torch import nn as n2, float64 as f64
from math import pi, sqrt as root
from torch.nn import *
print(nn is n2, F is torch.nn.functional, f64, pi == math.pi, root(4), np.pi == pi, np.sqrt(9))
print(torch, torch.nn, math)
"""
    assert output(program) == "True True torch.float64 True 2.0 True 3.0\n<module 'torch'> <module 'torch.nn'> <module 'math'>\n"


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("import os", "ModuleNotFoundError", "No module named 'os'"),
        ("import torch.os", "ModuleNotFoundError", "No module named 'torch.os'"),
        ("from os import path", "ModuleNotFoundError", "No module named 'os'"),
        ("from torch import os", "ImportError", "cannot import name 'os' from 'torch'"),
        ("from math import _x", "ImportError", "cannot import name '_x' from 'math'"),
        ("np.load", "AttributeError", "numpy.load is not part of gradcli"),
        ("torch.foo", "AttributeError", "module 'torch' has no attribute 'foo'"),
        ("torch.nn.functional.foo", "AttributeError", "module 'torch.nn.functional' has no attribute 'foo'"),
        ("str.foo", "AttributeError", "type object 'str' has no attribute 'foo'"),
        ("torch.x = 1", "AttributeError", "module 'torch' is read-only"),
        ("def f(): pass\nf.x = 1", "AttributeError", "'function' object has no attribute 'x'"),
        ("def f(): pass\nf.__name__ = 'g'", "AttributeError", "attribute '__name__' of 'function' objects is not writable"),
    ],
)
def test_what_is_missing_is_named(text, kind, message):
    error = failure(text + "\n")
    assert (error.kind, error.message) == (kind, message)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("pritn(1)", "print"),
        ("math.sqr(2)", "sqrt"),
        ("'a'.uper()", "upper"),
        ("torch.flaot32", "float32"),
        ("length = 1\nlenght", "length"),
        ("import toch", "torch"),
        ("open('x')", "open is not part of gradcli's language"),
        ("eval('1')", "eval is not part of gradcli's language"),
    ],
)
def test_hints(text, hint):
    assert hint in " ".join(failure(text + "\n").hints)


# --- places of errors ---


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
        ("import os\n", "import os"),
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


# --- static errors ---


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


# --- bounds ---


@pytest.fixture
def bound():
    before = limits.current
    yield lambda **changes: limits.use(limits.default().changed(**changes))
    limits.use(before)


def over(program, limit):
    error = failure(program)
    assert isinstance(error, LimitError)
    assert error.limit == limit
    return error


def test_calls_at_the_limit_and_one_more(bound):
    bound(calls=50)
    program = "def f(n): return 0 if n == 1 else f(n - 1)\nprint(f(N))\n"
    assert output(program.replace("N", "50")) == "0\n"
    over(program.replace("N", "51"), "calls")


def test_deep_calls_with_nested_expressions_end_cleanly():
    nested = "[" * 150 + "f(n + 1)" + "]" * 150
    over(f"def f(n): return {nested}\nf(0)\n", "calls")
    over("def f(n): return sorted([n], key=lambda v: f(v + 1))\nf(0)\n", "calls")
    over("def f(n): return [f(i) for i in range(2)]\nf(0)\n", "calls")


def test_steps_at_the_limit_and_one_more(bound):
    bound(steps=100)
    assert output("n = 0\nfor i in range(100): n += 1\nprint(n)\n") == "100\n"
    over("for i in range(101): pass\n", "steps")


@pytest.mark.parametrize(
    "program",
    [
        "while True: pass\n",
        "while 1:\n    try:\n        continue\n    finally:\n        pass\n",
        "def f():\n    while True:\n        x = 1\nf()\n",
        "for a, b in zip(range(10**9), range(10**9)): pass\n",
        "sum(range(10**18))\n",
        "any(i < 0 for i in range(10**18))\n",
        "all(range(1, 10**18))\n",
        "[i for i in range(10**18) if i < 0]\n",
        "(10**18 + 1) in (i for i in range(10**18))\n",
        "max(map(lambda v: v, range(10**18)))\n",
        "list(filter(lambda v: v < 0, range(10**18)))\n",
        "def f(): pass\nwhile True: f()\n",
        "x = {i for i in range(10**18)}\n",
        "dict(enumerate(range(10**18)))\n",
        "for i in range(10**30): pass\n",
    ],
)
def test_endless_programs_run_out_of_steps(bound, program):
    bound(steps=10_000, list=1e6)
    over(program, "steps")


def test_time_ends_a_loop(bound):
    bound(time=0.05)
    over("while True: pass\n", "time")


def test_output_at_the_limit_and_one_more(bound):
    bound(output=10)
    assert output("print('123456789')\n") == "123456789\n"
    over("print('1234567890')\n", "output")
    over("print(*['x' * 1000] * 1000)\n", "output")


def test_lists_at_the_limit_and_one_more(bound):
    bound(list=100)
    assert output("print(len([i for i in range(100)]), len([*range(100)]))\n") == "100 100\n"
    for program in (
        "[i for i in range(101)]",
        "[*range(101)]",
        "x, *y = range(101)",
        "print(*range(101))",
        "{i: i for i in range(101)}",
        "{i for i in range(101)}",
        "xs = []\nfor i in range(101): xs.append(i)",
        "d = {}\nfor i in range(101): d[i] = i",
        "xs = [0]\nxs[0:1] = range(101)",
        "list(range(10**18))",
    ):
        over(program + "\n", "list")


def test_strings_are_bounded(bound):
    bound(string=1000)
    over("s = 'a'\nfor i in range(20): s = f'{s}{s}'\n", "string")
    over("s = 'a'\nfor i in range(20): s += s\n", "string")


def test_limits_cannot_be_caught(bound):
    bound(steps=1000)
    over("try:\n    while True: pass\nexcept Exception:\n    print('caught')\nfinally:\n    print('finally')\n", "steps")
    bound(calls=20)
    over("def f(): return f()\ntry:\n    f()\nexcept BaseException:\n    pass\n", "calls")


def test_after_a_limit_the_session_goes_on(bound):
    bound(calls=20)
    session = Session()
    with pytest.raises(LimitError):
        session.run("def f(): return f()\nf()\n")
    assert session.input("1 + 1") == 2


def test_chains_of_iterators_are_bounded():
    over("e = [1]\nfor i in range(1000): e = enumerate(e)\n", "nesting")
    over("g = iter([1])\nfor i in range(1000): g = (x for x in g)\n", "nesting")


def test_hundred_thousand_terms():
    many = 100_000
    assert output("print(" + "+".join(["1"] * many) + ")\n") == f"{many}\n"
    assert output("x = 'a'" + ".strip()" * 3000 + "\nprint(x)\n") == "a\n"
    assert output("print(1" + " < 2 > 1" * 10_000 + ")\n") == "True\n"
    branches = "".join(f"elif x == {i}: print({i})\n" for i in range(2000))
    assert output(f"x = 1999\nif x < 0: pass\n{branches}") == "1999\n"


def test_statements_by_the_ten_thousand():
    assert output("k = 0\n" + "k = k + 1\n" * 10_000 + "print(k)\n") == "10000\n"
