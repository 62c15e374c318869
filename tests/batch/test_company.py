"""An answer never depends on the lines before it: requests in random company get the answers that they get alone."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any

import pytest

from tests.batch.conftest import ENVIRON

#: answers companies of lines as the workers of `gradcli batch` do: each begins in a fork, and a fork that wants to leave is replaced
WORKERS = """
import json, os, sys
from gradcli import limits
from gradcli.batch.pool import Leave
from gradcli.cli.commands.batch import make_job
from gradcli.cli.options import Shared

bounds = limits.with_options([], untrusted=True)
limits.use(bounds)
job = make_job(bounds, Shared())

def work(lines, pipe):
    job.prepare()
    found = []
    for line in lines:
        try:
            found.append(job.work(1, line.encode()).decode())
        except Leave as last:
            found.append(last.answer.decode())
            break
    with os.fdopen(pipe, "w") as file:
        json.dump(found, file)

def answers(lines):
    found = []
    while len(found) < len(lines):
        reading, writing = os.pipe()
        if not os.fork():
            try:
                work(lines[len(found):], writing)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as file:
            found += json.load(file)
        os.wait()
    return found

json.dump([answers(lines) for lines in json.load(sys.stdin)], sys.stdout)
"""

STATE = (
    "print(torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_inference_mode_enabled(), torch.initial_seed())\n"
    "print(torch.is_anomaly_enabled(), torch.tensor([1.23456789, 1e6]), torch.rand(2), torch.randn(3))\n"
    "print(sum([1, 2]), max(1, 2), float, print, lambda: 0)\n"
)
SQUARE = "(x**2).sum()"
TWICE = "import torch\nx = torch.ones(2, requires_grad=True)\ny = (x * x).sum()\ny.backward()\ny.backward()"

REQUESTS: list[Any] = [
    # settings: of the request, and changed by scripts that do not put them back
    {"script": STATE},
    {"script": STATE, "dtype": "float64", "seed": 7},
    {"script": "torch.set_default_dtype(torch.float64)\nprint(torch.ones(1) / 3)"},
    {"script": "torch.set_printoptions(precision=2, sci_mode=True)\nprint(torch.ones(1) / 3)"},
    {"script": "torch.set_printoptions(profile='full', linewidth=20)\nprint(torch.arange(30.))"},
    {"script": "torch.manual_seed(5)\nprint(torch.rand(1), torch.randn(1))"},
    {"script": "torch.set_grad_enabled(False)\nx = torch.ones(1, requires_grad=True)\nprint((x * 2).requires_grad)"},
    {"script": "torch.autograd.set_detect_anomaly(True)\nx = torch.zeros(1, requires_grad=True)\n(x.sqrt() * 0).sum().backward()"},
    {"script": "with torch.no_grad():\n    raise ValueError('in the midst')"},
    {"script": "with torch.inference_mode():\n    t = torch.ones(2)\n    1/0"},
    {"script": "with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t):\n    nope"},
    {"script": "torch.autograd.forward_ad.enter_dual_level()\nx = torch.ones(1, requires_grad=True)\nprint((x * 2).requires_grad)"},
    {"script": "torch.autograd.graph.disable_saved_tensors_hooks('no').__enter__()"},
    {"script": "for i in range(3):\n    x = torch.ones(1, requires_grad=True)\n    y = x * 2\n    y.grad\nprint(y)"},
    # the same text under other settings, variables and kinds
    *(
        {"expr": SQUARE, "vars": {"x": value}, "want": want}
        for value in ([1, 2], 3, "randn(2)")
        for want in (["value"], ["grad", "hessian"])
    ),
    {"expr": SQUARE, "vars": {"x": [1, 2]}, "dtype": "float64", "want": ["value", "jacobian", "grad_fn"]},
    {"expr": SQUARE, "vars": {"x": "randn(2)"}, "seed": 3},
    {"script": f"x = torch.tensor([1., 2.])\n{SQUARE}", "expr": SQUARE},
    *({"expr": SQUARE, "vars": {"x": [2, 3]}, **more} for more in ({}, {"wrt": ["q"]}, {"script": "(x * 2).sum().backward()"})),
    {"script": "w = torch.ones(2, requires_grad=True)\n(w * 3).sum().backward()", "expr": "(w * x).sum()", "vars": {"x": [2, 3]}},
    {"script": "x.register_hook(lambda g: print(g))", "expr": SQUARE, "vars": {"x": [2, 3]}},
    {"expr": "x**2 + 1", "vars": {"x": [2, 3]}},
    {"expr": "(x**2).sum().detach() * 2 + 1", "vars": {"x": [2, 3]}},
    {"expr": "(x * y).sum() / y.sum()", "vars": {"x": [2, 3], "y": "randn(2)"}, "wrt": ["y"]},
    {"expr": "x", "vars": {"x": True}},
    {"expr": "x", "vars": {"x": 1}, "want": ["value"]},
    {"expr": "x", "vars": {"x": 1.0}, "want": ["value", "grad"]},
    {"expr": "1/3"},
    {"expr": "ones(1)/3", "dtype": "float64"},
    {"script": "1/3"},
    *({"expr": text, "vars": {"x": [1, 2]}} for text in ("x*2.0**70", "x*2**70", "1/(x*0.0)", "1/(x*-0.0)", "x*True", "x*1", "x*1.0")),
    *({"expr": "1", "vars": {name: "q+1"}} for name in "ab"),
    {"script": "q = 1", "expr": "q", "vars": {"a": "1 + 1"}},
    {"expr": "x*y", "vars": {"x": 2, "y": [3, 4]}, "wrt": ["y"], "vector": [1, 0.5]},
    {"expr": "randn(3)", "seed": 1},
    {"expr": "randn(3)"},
    {"expr": "sum([1, 2])"},
    {"script": "print(sum([1, 2]))"},
    # names bound again
    {"script": "from torch import *\nprint(sum(ones(2)), max, float)"},
    {"script": "sum = 3\nprint = len\nfloat = 1\nx = y = z = 9"},
    {"script": "import math as torch\nmax = min\nF = nn = None"},
    {"script": "def f(a, kept=[]):\n    kept.append(a)\n    return len(kept)\nprint(f(1), f)"},
    {"script": "print(f(1))"},
    {"expr": "y"},
    {"expr": "max(1, 2), float"},
    {"expr": "f'{x}'", "vars": {"x": 0.1}},
    # bounds, which parsing depends on too
    *({"expr": "((((1))))", "limits": {"nesting": most}} for most in (3, 4, 100)),
    *({"expr": "1" * 120, "limits": {"digits": most}} for most in (100, 150, 1e3)),
    *({"script": "if 1:\n if 1:\n  print(1)\n", "limits": {"blocks": most}} for most in (1, 2)),
    *({"script": "print(10 ** 200)", "limits": {"digits": most}} for most in (50, 4000)),
    *({"expr": "'a' * 100", "limits": {"string": most}} for most in (99, 100)),
    {"expr": "[0] * 100", "limits": {"list": 50}},
    {"expr": "1 + 1  # " + "x" * 100, "limits": {"source": 50}},
    {"expr": "1 + 1  # " + "x" * 100},
    {"expr": "ones(100)", "limits": {"elements": 99}},
    {"script": "for i in range(2000): pass\nprint(i)", "limits": {"steps": 1000}},
    {"script": "for i in range(2000): pass\nprint(i)"},
    {"script": "print('a' * 50)", "limits": {"output": 10}},
    {"script": "def f(n): return f(n + 1)\nf(0)", "limits": {"calls": 20}},
    {"script": "def f(n): return f(n + 1)\nf(0)"},
    {"script": "try:\n    torch.ones(10**9)\nexcept Exception:\n    print(1)\nfinally:\n    print(2)"},
    # errors
    {"expr": "1 +"},
    {"script": "1 +"},
    {"script": "print(1)\nif x:\n"},
    {"expr": "torch.ones(2) + torch.ones(3)"},
    {"expr": "x + y", "vars": {"x": [1, 2], "y": [1, 2, 3]}},
    {"expr": "x*2", "vars": {"x": [1, 2]}, "want": ["grad"]},
    {"script": TWICE},
    {"script": TWICE.replace("backward()\n", "backward(retain_graph=True)\n") + "\nprint(x.grad)"},
    {"script": "e = None\ntry:\n    1/0\nexcept Exception as e:\n    kept = e\nprint(kept, repr(kept))"},
    {"expr": "1", "limits": {"nope": 1}},
    {"expr": "1", "want": ["all"]},
    "not json",
    "[1]",
    '{"expr": NaN}',
    # texts
    {"script": "print(f'{1/3:.3f} %s {{}}' % 2, '{:>8}|{}'.format('a', torch.ones(1)))"},
    {"script": "print({'b', 'a', 'c'}, {1: 2}, 1e-7, -0.0, float('nan'))"},
    {"script": "x = torch.ones(2, requires_grad=True)\ny = x * 2\nprint(y.grad_fn, y.grad_fn, print, lambda: 0, id(x) == id(y))"},
    {"expr": "'é∂' + '\\x1b[31m'"},
    {"id": {"nested": [1, None]}, "expr": "1"},
    {"id": "é", "expr": "(x*x).exp()", "vars": {"x": "nan"}, "want": ["value", "grad", "jacobian", "hessian", "grad_fn"]},
]
LINES = [request if isinstance(request, str) else json.dumps(request) for request in REQUESTS]


def answered(companies: list[list[str]]) -> list[list[str]]:
    """The answers to each company of lines."""
    done = subprocess.run([sys.executable, "-c", WORKERS], input=json.dumps(companies), capture_output=True, text=True, env=ENVIRON)
    assert (done.returncode, done.stderr) == (0, "")
    found: list[list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_the_requests_are_diverse() -> None:
    alone = [json.loads(answer) for (answer,) in answered([[line] for line in LINES])]
    assert len(set(LINES)) == len(LINES)
    assert 30 < sum(answer["ok"] for answer in alone) < len(LINES) - 25
    assert {answer["error"]["exit"] for answer in alone if not answer["ok"]} == {1, 2, 3, 5}


@pytest.mark.slow
def test_company_changes_no_answer() -> None:
    rng = random.Random(20)
    companies = [rng.choices(LINES, k=30) for _ in range(60)]
    companies += [rng.choices(rng.sample(LINES, k=2), k=9) for _ in range(60)]  # known expressions
    companies += [[line] * 5 for line in LINES]
    found = answered([*([line] for line in LINES), *companies])
    expected = {line: answer for line, (answer,) in zip(LINES, found, strict=False)}
    together = found[len(LINES) :]
    wrong = [
        (company[:at], line)
        for company, answers in zip(companies, together, strict=True)
        for at, (line, answer) in enumerate(zip(company, answers, strict=True))
        if answer != expected[line]
    ]
    assert not wrong, smallest(wrong, expected)


def smallest(wrong: list[tuple[list[str], str]], expected: dict[str, str]) -> str:
    """A wrong answer with as little company as brings it about."""
    before, line = min(wrong, key=lambda found: len(found[0]))
    pairs = [[one, line] for one in dict.fromkeys(before)]
    for pair, answers in zip(pairs, answered(pairs), strict=True):
        if answers[-1] != expected[line]:
            before = pair[:1]
            break
    (answers,) = answered([[*before, line]])
    return "\n".join([f"{len(wrong)} wrong answers, for instance after", *before, "to", line, "alone", expected[line], "here", answers[-1]])
