"""Every bound at N and at one more; its name in the message; `--limit` and `--untrusted` on every command."""

from __future__ import annotations

import gc
import json
import weakref

import pytest

from gradcli import limits
from gradcli.cli import group
from gradcli.cli.app import run
from gradcli.errors import LimitError, UsageError
from gradcli.session import Session
from gradcli.source import Source


def chain(count: int) -> str:
    return "x" + " + x" * count


def blocks(depth: int) -> str:
    return "".join("    " * i + "if True:\n" for i in range(depth)) + "    " * depth + "print(1)\n"


def calls(depth: int) -> str:
    return f"def f(n):\n    if n > 1:\n        f(n - 1)\nf({depth})\n"


#: name -> (bound, script that is just within it, script that is one over)
CASES = {
    "source": (40, "a = 1 #".ljust(39, "x") + "\n", "a = 1 #".ljust(40, "x") + "\n"),
    "nesting brackets": (20, "(" * 20 + "1" + ")" * 20 + "\n", "(" * 21 + "1" + ")" * 21 + "\n"),
    "nesting unary": (20, "-" * 20 + "1\n", "-" * 21 + "1\n"),
    "nesting power": (20, "1" + "**1" * 20 + "\n", "1" + "**1" * 21 + "\n"),
    "nesting lambda": (20, "f = " + "lambda: " * 20 + "1\n", "f = " + "lambda: " * 21 + "1\n"),
    "nesting conditional": (20, "1" + " if 1 else 1" * 20 + "\n", "1" + " if 1 else 1" * 21 + "\n"),
    "nesting not": (20, "not " * 20 + "1\n", "not " * 21 + "1\n"),
    "blocks": (5, blocks(5), blocks(6)),
    "elements": (1000, "torch.ones(1000)\n", "torch.ones(1001)\n"),
    "elements broadcast": (100_000, "torch.ones(1000, 1) + torch.ones(100)\n", "torch.ones(1000, 1) + torch.ones(101)\n"),
    "elements expand": (1000, "torch.ones(1).expand(1000)\n", "torch.ones(1).expand(1001)\n"),
    "elements repeat": (1000, "torch.ones(10).repeat(100)\n", "torch.ones(11).repeat(91)\n"),
    "elements outer": (1000, "torch.outer(torch.ones(10), torch.ones(100))\n", "torch.outer(torch.ones(11), torch.ones(91))\n"),
    "elements cat": (1000, "torch.cat([torch.ones(500)] * 2)\n", "torch.cat([torch.ones(500), torch.ones(501)])\n"),
    "elements arange": (1000, "torch.arange(1000)\n", "torch.arange(1001)\n"),
    "elements linspace": (1000, "torch.linspace(0, 1, 1000)\n", "torch.linspace(0, 1, 1001)\n"),
    "elements randn": (1000, "torch.randn(1000)\n", "torch.randn(1001)\n"),
    "elements tensor": (1000, "torch.tensor([0.] * 1000)\n", "torch.tensor([0.] * 1001)\n"),
    "elements one_hot": (1000, "F.one_hot(torch.arange(10), 100)\n", "F.one_hot(torch.arange(10), 101)\n"),
    "elements pad": (1000, "F.pad(torch.ones(10), (0, 990))\n", "F.pad(torch.ones(10), (0, 991))\n"),
    "elements kron": (1000, "torch.kron(torch.ones(10), torch.ones(100))\n", "torch.kron(torch.ones(10), torch.ones(101))\n"),
    "elements eye": (900, "torch.eye(30)\n", "torch.eye(31)\n"),
    "elements take": (1000, "torch.ones(2)[torch.zeros(1000).long()]\n", "torch.ones(2)[torch.zeros(10).long().repeat(100, 2)]\n"),
    "bytes": (4000, "torch.ones(1000)\n", "torch.ones(1001)\n"),
    "bytes of doubles": (4000, "torch.ones(500).double()\n", "torch.ones(501, dtype=torch.float64)\n"),
    "work": (1000, "torch.ones(10, 10) @ torch.ones(10, 10)\n", "torch.ones(10, 10) @ torch.ones(10, 11)\n"),
    "string": (1000, "a = 'a' * 1000\n", "a = 'a' * 1001\n"),
    "string sum": (1000, "a = 'a' * 999 + 'b'\n", "a = 'a' * 1000 + 'b'\n"),
    "string fstring": (1000, "a = 'a' * 500\nb = f'{a}{a}'\n", "a = 'a' * 500\nb = f'{a}{a}b'\n"),
    "string join": (1000, "a = 'b'.join(['a' * 499, 'a' * 500])\n", "a = 'b'.join(['a' * 500] * 2)\n"),
    "string zfill": (1000, "a = '1'.zfill(1000)\n", "a = '1'.zfill(1001)\n"),
    "list": (1000, "a = [1] * 1000\n", "a = [1] * 1001\n"),
    "list range": (1000, "a = list(range(1000))\n", "a = list(range(1001))\n"),
    "list comprehension": (1000, "a = [i for i in range(1000)]\n", "a = [i for i in range(1001)]\n"),
    "list append": (10, "a = [1] * 9\na.append(1)\n", "a = [1] * 10\na.append(1)\n"),
    "list dict": (10, "a = {i: i for i in range(10)}\n", "a = {i: i for i in range(11)}\n"),
    "list set": (10, "a = {i for i in range(10)}\n", "a = {i for i in range(11)}\n"),
    "list tolist": (1000, "a = torch.ones(1000).tolist()\n", "a = torch.ones(1001).tolist()\n"),
    "digits": (4300, "a = str(10 ** 4299)\n", "a = 10 ** 4300\n"),
    "digits beyond those of CPython": (10_000, "a = int(str(10 ** 9999))\n", "a = 10 ** 10_000\n"),
    "digits below those of CPython": (100, "a = 10 ** 99 * 9\n", "a = 10 ** 100\n"),
    "digits of a sum": (100, "a = 10 ** 99 * 9 + (10 ** 99 - 1)\n", "a = 10 ** 99 * 9 + 10 ** 99\n"),
    "digits of a shift": (100, "a = 1 << 332\n", "a = 1 << 333\n"),
    "digits literal": (100, "a = " + "9" * 100 + "\n", "a = " + "9" * 101 + "\n"),
    "calls": (20, calls(20), calls(21)),
    "nodes": (
        101,
        "x = torch.ones(1, requires_grad=True)\ny = " + chain(100) + "\n",
        "x = torch.ones(1, requires_grad=True)\ny = " + chain(101) + "\n",
    ),
    "steps": (1000, "for i in range(1000): pass\n", "for i in range(1001): pass\n"),
    "steps while": (1000, "k = 0\nwhile k < 999: k += 1\n", "k = 0\nwhile k < 1001: k += 1\n"),
    "output": (10, "print('a' * 9)\n", "print('a' * 10)\n"),
    "output in bytes": (11, "print('é' * 5)\n", "print('é' * 6)\n"),
}


def session(**bounds: float) -> Session:
    return Session(bounds=limits.default().changed(**bounds), write=_nothing, warn=_nothing, read_stdin=bytes)


def _nothing(*values: object) -> None:
    return None


@pytest.fixture(autouse=True)
def _bounds_afterwards():
    before = limits.current
    yield
    limits.use(before)


@pytest.mark.parametrize("case", CASES)
def test_at_the_bound_and_one_over(case: str) -> None:
    name = case.split()[0]
    bound, within, over = CASES[case]
    session(**{name: bound}).run(Source("<within>", within))
    with pytest.raises(LimitError) as caught:
        session(**{name: bound}).run(Source("<over>", over))
    assert caught.value.limit == name and caught.value.exit_code == 5
    assert f"--limit {name}=VALUE" in caught.value.hints[0]


def test_time() -> None:
    session(time=30).run(Source("<within>", "for i in range(1000): pass\n"))
    with pytest.raises(LimitError) as caught:
        session(time=0.05).run(Source("<over>", "while True: pass\n"))
    assert caught.value.limit == "time"


@pytest.mark.slow
def test_chains_do_not_count_as_nesting() -> None:
    one = session(source=2**30)
    terms = "1" + " + 1" * 100_000
    assert one.evaluate(Source("<chain>", terms)).value.data == 100_001
    assert one.evaluate(Source("<chain>", "1" + " < 2" + " <= 2" * 20_000)).value.data is True
    one.run(Source("<elif>", "if 0: pass\n" + "elif 0: pass\n" * 5_000))


@pytest.mark.slow
def test_live_bytes_are_counted_together() -> None:
    text = "kept = []\nfor i in range(400):\n    kept.append(torch.ones(1000000) + i)\n    kept[-1].sum()\n"
    with pytest.raises(LimitError) as caught:
        session(bytes=64 * 2**20, steps=1e6).run(Source("<live>", text))
    assert caught.value.limit == "bytes"
    session(bytes=64 * 2**20, steps=1e6).run(Source("<one>", text.replace("kept.append(", "kept = [").replace(" + i)", " + i]")))


@pytest.mark.slow
def test_freed_nodes_do_not_count() -> None:
    text = "x = torch.ones(1, requires_grad=True)\nfor i in range(40):\n    y = (x * 2).sum()\n    y.backward()\n"
    session(nodes=50).run(Source("<loop>", text))
    with pytest.raises(LimitError):
        session(nodes=50).run(Source("<chain>", "x = torch.ones(1, requires_grad=True)\nfor i in range(60):\n    x = x * 2\n"))


def test_except_does_not_catch_limits() -> None:
    text = "try:\n    torch.ones(10**9)\nexcept Exception as e:\n    print('caught')\nfinally:\n    print('finally')\n"
    printed: list[str] = []
    one = Session(bounds=limits.strict(), write=printed.append, warn=_nothing, read_stdin=bytes)
    with pytest.raises(LimitError):
        one.run(Source("<script>", text))
    assert "caught" not in "".join(printed)


#: command -> words that work, with text that reaches the bound on elements at 10
COMMANDS = {
    "eval": ["ones(20).sum()"],
    "grad": ["(ones(20)*x).sum()", "x=2"],
    "jacobian": ["(ones(20)*x).sum()", "x=2"],
    "hessian": ["(ones(20)*x*x).sum()", "x=2"],
    "check": ["(ones(20)*x).sum()", "x=2"],
    "explain": ["(ones(20)*x).sum()", "x=2"],
    "graph": ["(ones(20)*x).sum()", "x=2"],
    "plot": ["(ones(20)*x).sum()", "x=0..1"],
    "minimize": ["(ones(20)*x*x).sum()", "x=2"],
    "report": ["(ones(20)*x).sum()", "x=2", "-o", "out.html"],
    "run": ["script.py"],
}
#: commands that take no text to evaluate
WITHOUT = {"ops", "batch", "config"}
#: the prompt shares the code of run, and is tried on a terminal
PROMPT = {"repl"}


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text("print(torch.ones(20).sum())\n")


def test_no_command_is_forgotten() -> None:
    assert set(group.COMMANDS) <= set(COMMANDS) | WITHOUT | PROMPT


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize("command", sorted(set(COMMANDS) & set(group.COMMANDS)))
def test_options_on_every_command(command: str, capsys) -> None:
    words = [command, *COMMANDS[command]]
    assert run([*words, "--untrusted"]) in (0, 4)
    capsys.readouterr()
    assert run([*words, "--limit", "elements=10"]) == 5
    err = capsys.readouterr().err
    assert err.startswith("LimitError: ") and "--limit elements=VALUE" in err
    assert run([*words, "--untrusted", "--limit", "elements=10"]) == 5
    assert run([*words, "--untrusted", "--limit", "elements=none"]) == 2
    assert run([*words, "--limit", "elefants=1"]) == 2


def test_batch_takes_limits(tmp_path, capfd) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"expr": "ones(20).sum()"}\n')
    assert run(["batch", str(path), "--limit", "elements=10"]) == 0
    assert json.loads(capfd.readouterr().out)["error"]["exit"] == 5


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("source=10", "source", 10),
        ("bytes=64MiB", "bytes", 64 * 2**20),
        ("time=2.5s", "time", 2.5),
        ("steps=3k", "steps", 3000),
        ("list=1e3", "list", 1000),
        ("work=2G", "work", 2e9),
        ("string=1KiB", "string", 1024),
        ("nodes=none", "nodes", limits.NONE),
    ],
)
def test_what_limit_takes(text: str, name: str, value: float) -> None:
    assert limits.parse(text) == (name, value)


@pytest.mark.parametrize(
    "text", ["source", "source=", "=1", "untrusted=1", "bytes=5s", "bytes=-1", "bytes=1x", "bytes=nan", "Bytes=1", "time=inf"]
)
def test_what_limit_refuses(text: str) -> None:
    with pytest.raises(UsageError):
        limits.parse(text)


@pytest.mark.parametrize("count", [10, 60_000])
def test_many_lasting_objects_join_the_oldest_generation_and_their_cycles_are_still_garbage(count: int) -> None:
    made = limits.lasting(lambda: [Cycle() for _ in range(count)])
    assert any(one is made[-1] for one in gc.get_objects(2)) is (count > 50_000)
    assert gc.isenabled()
    last = weakref.ref(made[-1])
    del made
    gc.collect()
    assert last() is None


class Cycle:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self
