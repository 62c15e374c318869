"""Bounds on programs: calls, steps, time, output, lists and strings, each at its limit and one over."""

import pytest

from gradcli import limits
from gradcli.errors import LimitError
from tests.lang.running import Session, failure, output


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


@pytest.mark.parametrize(
    "statement", ["s * 51", "s *= 51", "s = s * 50\ns + s", "l = nn.ModuleList([*s] * 50)\nl + s", "s.extend([*s] * 50)"]
)
def test_modules_of_a_container_at_the_limit_and_more(statement, bound):
    bound(list=100)
    made = "from torch import nn\ns = nn.Sequential(nn.ReLU(), nn.Tanh())\n"
    assert output(made + "s *= 50\nprint(len(s))\n") == "100\n"
    over(f"{made}{statement}\n", "list")


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


@pytest.mark.slow
def test_hundred_thousand_terms():
    many = 100_000
    assert output("print(" + "+".join(["1"] * many) + ")\n") == f"{many}\n"
    assert output("x = 'a'" + ".strip()" * 3000 + "\nprint(x)\n") == "a\n"
    assert output("print(1" + " < 2 > 1" * 10_000 + ")\n") == "True\n"
    branches = "".join(f"elif x == {i}: print({i})\n" for i in range(2000))
    assert output(f"x = 1999\nif x < 0: pass\n{branches}") == "1999\n"


def test_statements_by_the_ten_thousand():
    assert output("k = 0\n" + "k = k + 1\n" * 10_000 + "print(k)\n") == "10000\n"
