"""Values nested deep or shared often end no process, and are hashed, compared, printed, copied and freed within the limits."""

from __future__ import annotations

import faulthandler
import random

import pytest

from gradcli import limits
from gradcli.errors import GradcliError, LimitError
from gradcli.session import Session
from gradcli.source import Source
from tests.fuzz import nested
from tests.fuzz.running import Child, in_children
from tests.fuzz.uses import USES


@pytest.mark.slow
def test_every_way_to_hold_a_value_deep() -> None:
    assert list(in_children(nested.systematic(20_000), nested.check, 60)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "made", ["v = ()\nfor i in range(60): v = (v, v)", "v = lambda: 0", "v = torch.ones(3)"], ids=["shared", "a function", "a tensor"]
)
def test_every_place_that_takes_any_value(made: str) -> None:
    programs = (f"{made}\n{made.replace('v', 'w')}\n{use}\n" for use in USES)
    assert list(in_children(programs, nested.check, 60)) == []


def test_programs_by_chance() -> None:
    chance = random.Random(5)
    programs = (nested.program(chance, deep=False) for _ in range(250))
    assert list(in_children(programs, nested.check, 60)) == []


def test_the_fuzzer_finds_what_ends_a_process_or_hangs() -> None:
    def run(text: str) -> str:
        faulthandler.disable()
        exec(text)
        return ""

    programs = iter(["1", "import os; os.kill(os.getpid(), 11)", "while True: pass", "2"])
    assert list(in_children(programs, run, 1)) == [
        "ended the process: -11\nimport os; os.kill(os.getpid(), 11)",
        "took more than 1 s\nwhile True: pass",
    ]


#: programs that end the process, or never end, where a container is walked by Python itself
SHARED = {
    "slices": "v = 0\nfor i in range(10): v = slice(v)",
    "slices of an instance": "class K:\n    def __getitem__(self, i): return i\nv = 0\nfor i in range(10): v = K()[v:]",
    "slices in tuples": "class K:\n    def __getitem__(self, i): return i[0]\nv = 0\nfor i in range(10): v = K()[v:, 1]",
    "metadata": "t = ()\nfor i in range(60): t = (t, t)\n(torch.ones(1, requires_grad=True) * 1).grad_fn.metadata[t] = 1",
    "a named tuple": "import collections\nP = collections.namedtuple('P', 'a b')\nt = 0\nfor i in range(60): t = P(t, t)\n{t: 1}",
    "views": "t = ()\nfor i in range(60): t = (t, t)\n{1: 2}.keys() & [t]",
    "items": "t = ()\nfor i in range(60): t = (t, t)\n{1: t}.items() ^ {1: 2}.items()",
    "a default": "import collections\nt = ()\nfor i in range(60): t = (t, t)\ncollections.defaultdict(list)[t]",
    "modules": "m = nn.Linear(1, 1)\nfor i in range(60): m = nn.Sequential(m, m)\nm.state_dict()",
    "modules printed": "m = nn.Linear(1, 1)\nfor i in range(60): m = nn.Sequential(m, m)\nprint(m)",
    "modules applied": "m = nn.Linear(1, 1)\nfor i in range(60): m = nn.Sequential(m, nn.Sequential(m))\nm.apply(id)",
    "modules called": "m = nn.Linear(1, 1)\nfor i in range(60): m = nn.Sequential(m, m)\nm(torch.ones(1))",
    "modules that hold themselves": "m = nn.Sequential()\nfor i in range(200): m = nn.Sequential(m)\nm.append(m)\nrepr(m)",
    "ragged data": "v = 1.5\nfor i in range(100): v = (1, v, v)\ntorch.as_tensor(v)",
    "partials": "import functools\nv = 0\nfor i in range(60): v = functools.partial(print, v, v)\nrepr(v)",
    "data classes": "import dataclasses\n@dataclasses.dataclass\nclass D: v: object\n"
    "v = 0\nfor i in range(60): v = D([v, v])\ndataclasses.asdict(v)",
    "batches": "v = torch.ones(1)\nfor i in range(60): v = [v, v]\ntorch.utils.data.default_collate([v])",
    "pytrees": "v = torch.ones(1)\nfor i in range(60): v = [v, v]\ntorch.func.vmap(id)(v)",
    "types": "v = ()\nfor i in range(60): v = (v, v)\nisinstance(1, v)",
    "classes": "v = ()\nfor i in range(60): v = (v, v)\nissubclass(bool, v)",
    "draws": "torch.poisson(torch.full((5_000_000,), 1e30))",
    "halves of an order": "torch.empty(0).mvlgamma(10**18)",
    "starts": "('a' * 1000).startswith(('b',) * 900_000)",
    "tensors of named tuples": "import collections\nP = collections.namedtuple('P', 'a b')\n"
    "v = 1.5\nfor i in range(30): v = P(v, v)\ntorch.as_tensor(v)",
    "steps of the power method": "torch.nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=10**9)(torch.ones(2))",
    "layers": "nn.TransformerEncoder(nn.TransformerEncoderLayer(2, 1), 10**9)",
    "a batch": "next(iter(torch.utils.data.DataLoader(range(10**9), batch_size=10**9)))",
    "data sets as sizes": "v = (1, 2)\nfor i in range(30): v = torch.utils.data.ConcatDataset([v, v])\nnn.Conv2d(1, 1, 1, padding=v)",
    "cutoffs": "nn.AdaptiveLogSoftmaxWithLoss(2, 10**9, range(1, 10**9))",
    "quantiles": "import statistics\nstatistics.quantiles([1, 2], n=10**9)",
    "roots of correlations": "torch.distributions.LKJCholesky(10**9)",
    "chains of matrices": "torch.linalg.multi_dot([torch.ones(2, 2)] * 3000)",
}


@pytest.mark.parametrize("name", SHARED)
def test_what_is_shared_or_deep_reaches_a_limit(name: str) -> None:
    session = Session(bounds=limits.strict().changed(steps=2e5, time=60.0), write=lambda _: None, warn=lambda *_: None, read_stdin=bytes)
    with pytest.raises(LimitError):
        session.run(Source("<shared>", SHARED[name]))


#: programs that end although what they look at is shared, each with what it prints
LINEAR = {
    "a = b = 0\nfor i in range(500): a, b = [a, a], [b, b]\nprint(a == b)": "True",
    "a = b = 0\nfor i in range(500): a, b = (1, a, a), (1, b, b)\nprint(a == b, a < b, max(a, b) is a)": "True False True",
    "a, b = 0, 1\nfor i in range(500): a, b = {1: a, 2: a}, {1: b, 2: b}\nprint(a == b, a in [b])": "False False",
    "import collections\na = b = 0\n"
    "for i in range(200): a, b = collections.deque([a, a]), collections.deque([b, b])\nprint(a == b)": "True",
    "import collections\nP = collections.namedtuple('P', 'x y')\na = b = 0\n"
    "for i in range(200): a, b = P(a, a), P(b, b)\nprint(a == b)": "True",
    "import copy\na = 0\nfor i in range(300): a = (a, a)\nprint(copy.deepcopy(a) is a)": "True",
    "import copy\na = 0\nfor i in range(300): a = [a, a]\nb = copy.deepcopy(a)\nprint(b is a, b[0] is b[1])": "False True",
    "print(slice(1, 2) == slice(1, 2), slice([1]) == slice([1]), slice(1) == slice(2))": "True True False",
    "print({1: [2]}.items() == {1: [2]}.items(), {1: 2}.items() == {(1, 2)}, {1: 2}.keys() == {2: 1}.keys())": "True True False",
    "print(' xxabcxx '.strip(' x'), 'xxabc'.lstrip('x'), 'abcxx'.rstrip('x'), ('a' * 3000).strip('a' * 2000) == '')": "abc abc abc True",
    "print(('b' + 'a' * 3000).rstrip('c' * 1999 + 'a'), ('a' * 3000 + 'b').lstrip('c' * 1999 + 'a'))": "b b",
    "print(len(list(torch.ones(200_000))))": "200000",
    "print('abc'.startswith(('x', 'b'), 1), 'abc'.endswith(('x', 'c')), 'abc'.startswith(()))": "True True False",
}


@pytest.mark.parametrize("text", LINEAR)
def test_what_is_shared_is_looked_at_once(text: str) -> None:
    printed: list[str] = []
    session = Session(bounds=limits.strict().changed(time=60.0), write=printed.append, warn=lambda *_: None, read_stdin=bytes)
    session.run(Source("<linear>", text))
    assert "".join(printed).strip() == LINEAR[text]


@pytest.mark.parametrize("kind", ["[v]", "(v,)", "{1: v}"])
def test_a_comparison_is_refused_beyond_a_depth(kind: str) -> None:
    text = f"v = 0\nw = 0\nfor i in range(50_000): v, w = {kind}, {kind.replace('v', 'w')}\nprint(v == w)"
    session = Session(bounds=limits.strict().changed(time=60.0), write=lambda _: None, warn=lambda *_: None, read_stdin=bytes)
    with pytest.raises(GradcliError, match="maximum recursion depth"):
        session.run(Source("<deep>", text))


def test_a_child_that_is_asked_twice_lives() -> None:
    child = Child(lambda text: text.upper())
    assert [child.ask("a", 10), child.ask("b", 10)] == ["A", "B"] and child.alive
    child.end()
