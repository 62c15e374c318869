"""`gradcli minimize`: every method finds the minimum; the verdict when one does not."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

import pytest

from gradcli.analysis.minimize import METHODS
from gradcli.cli.commands import minimize
from tests.repl.driving import Terminal


def test_the_table(cli) -> None:
    answer = cli("minimize", "(x-3)**2 + (y+1)**2", "x=0", "y=0", "--method", "sgd", "--lr", "0.5")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (
        "  name  start  minimum  gradient\n"
        "  ──────────────────────────────\n"
        "  x     0.      3.      0.\n"
        "  y     0.     -1.      0.\n"
        "\n"
        "  value  gradient norm  steps  method\n"
        "  ───────────────────────────────────\n"
        "  0.     0              1      sgd\n"
    )


def test_help_names_the_methods() -> None:
    assert tuple(METHODS) == minimize.METHODS


@pytest.mark.parametrize("method", METHODS)
def test_every_method(cli, method: str) -> None:
    found = json.loads(cli("minimize", "((x-tensor([3.,-1.]))**2).sum()", "x=0,0", "--method", method, "--json").out)
    assert found["converged"] and found["failure"] is None
    assert found["variables"]["x"]["minimum"] == pytest.approx([3, -1], abs=1e-3)
    assert found["variables"]["x"]["start"] == [0, 0]
    assert found["gradient_norm"] <= 1e-4
    assert found["method"] == method


def test_a_valley(cli) -> None:
    found = json.loads(cli("minimize", "(1-x)**2 + 100*(y-x**2)**2", "x=-1.2", "y=1", "--method", "lbfgs", "--json").out)
    assert [found["variables"][name]["minimum"] for name in "xy"] == pytest.approx([1, 1], abs=1e-3)
    assert found["steps"] < 60


def test_the_steps_are_those_of_torch_optim(cli) -> None:
    ours = json.loads(cli("minimize", "(x-3)**2", "x=0", "--method", "adam", "--lr", "0.2", "--steps", "7", "--json").out)
    script = (
        "import torch\nx = torch.tensor(0., requires_grad=True)\no = torch.optim.Adam([x], lr=0.2)\n"
        "for _ in range(7):\n    o.zero_grad()\n    ((x-3)**2).backward()\n    o.step()\nprint(x.item())\n"
    )
    assert float(cli("run", "-", stdin=script.encode()).out) == ours["variables"]["x"]["minimum"]


def test_not_converged(cli) -> None:
    answer = cli("minimize", "(x-3)**2", "x=0", "--steps", "3", "--format", "csv")
    assert answer.code == 4
    assert answer.out == "name,index,start,minimum,grad\nx,,0.0,0.2996184825897217,-5.400763034820557\n"
    assert answer.err.startswith("Verdict: did not converge: the gradient's norm is 5.4 after 3 steps, above 0.0001\n")
    as_json = cli("minimize", "(x-3)**2", "x=0", "--steps", "3", "--json")
    assert (as_json.code, json.loads(as_json.out)["converged"]) == (4, False)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["x**2", "x=1", "--method", "sgd", "--lr", "1e6"], "is not finite"),
        (["log(x)", "x=-1"], "the value is not finite after 0 steps"),
        (["(x-1e9)**2*1e-4", "x=0", "--lr", "1e-5", "--method", "sgd", "--tol", "1e-9"], "above 1e-09"),
        (["x*2", "x=1e9", "--method", "sgd", "--lr", "1e-3"], "stays at 2 after 10 steps, as far as float32 and the step size go"),
    ],
)
def test_the_reasons(cli, words: list[str], why: str) -> None:
    answer = cli("minimize", *words)
    assert answer.code == 4
    assert why in answer.err


@pytest.mark.parametrize(
    ("words", "kind", "way"),
    [
        (["cos(x)", "x=0"], "a maximum", "gradcli minimize 'cos(x)' x=0.1"),
        (["cos(x)", "x=0", "--method", "lbfgs", "--dtype", "float64"], "a maximum", "x=0.1 --method lbfgs --dtype float64"),
        (["-x**4", "x=0"], "a maximum", ""),
        (["x*y", "x=0", "y=0"], "a saddle point", ""),
        (["x*y + x**4 + y**4", "x=0", "y=0"], "a saddle point", "gradcli minimize"),
        (["x**4 - x**2", "x=0,0"], "", ""),
        (["(x**4 - x**2).sum()", "x=0,0"], "a maximum", "gradcli minimize"),
        (["x**3", "x=0"], "no minimum", ""),
        (["-exp(-x**2)", "x=4"], "no minimum", "gradcli minimize"),
    ],
)
def test_a_point_is_called_what_it_is(cli, words: list[str], kind: str, way: str) -> None:
    answer = cli("minimize", *words)
    if not kind:
        assert answer.code == 1
        return
    assert answer.code == 4
    assert answer.err.startswith(f"Verdict: this is {kind}: ")
    assert way in answer.err
    if "try " in answer.err:
        command = answer.err.split("try ")[1].split("  (")[0].strip()
        assert cli(*shlex.split(command)[1:]).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["x**4", "x=0"],
        ["x**2 + y**4", "x=0", "y=0"],
        ["relu(x)", "x=-1"],
        ["(x**2).mean()", "x=zeros(100)"],
        ["cos(x)", "x=3"],
        ["(x-1e3)**2", "x=0", "--method", "lbfgs"],
        ["(x**2).sum() + randn(()) * 0", "x=0,0"],
    ],
)
def test_a_minimum_is_one(cli, words: list[str]) -> None:
    answer = cli("minimize", *words)
    assert (answer.code, answer.err) == (0, "")


def test_the_end_at_a_kink(cli) -> None:
    answer = cli("minimize", "where(x>0, x**2, -x)", "x=-5", "--method", "lbfgs", "--json")
    found = json.loads(answer.out)
    assert (answer.code, answer.err) == (0, "note: no small step lowers the value, though the gradient's norm is 1\n")
    assert (found["variables"]["x"]["minimum"], found["variables"]["x"]["grad"], found["value"]) == (0, -1, 0)


def test_tolerance_and_precision(cli) -> None:
    found = json.loads(cli("minimize", "(x-3)**2", "x=0", "--method", "lbfgs", "--tol", "1e-12", "--dtype", "float64", "--json").out)
    assert found["converged"] and found["dtype"] == "float64"


def test_data_and_chosen_variables(cli) -> None:
    words = ["((w*d[:,0]+b-d[:,1])**2).mean()", "w=0", "b=0", "--method", "lbfgs", "--json"]
    found = json.loads(cli("minimize", *words, "d:=@-", stdin=b"1,3\n2,5\n3,7\n").out)
    assert [found["variables"][name]["minimum"] for name in "wb"] == pytest.approx([2, 1], abs=1e-3)
    fixed = json.loads(cli("minimize", *words, "d=@-", "--wrt", "w", stdin=b"1,3\n2,5\n3,7\n").out)
    assert list(fixed["variables"]) == ["w"]


def test_what_is_bound_to_an_expression_of_a_variable_follows_it(cli) -> None:
    found = json.loads(cli("minimize", "(y-4)**2", "x=3", "y:=x**2", "--json").out)
    assert found["variables"]["x"]["minimum"] == pytest.approx(2, abs=1e-3)


def test_formats(cli) -> None:
    words = ["minimize", "(x-3)**2", "x=0", "--method", "sgd", "--lr", "0.5"]
    assert cli(*words, "--format", "repr").out == "x = tensor(3.)\nout = tensor(0.)\n"
    assert cli(*words, "--format", "plain").out == "x\t3.0\nout\t0.0\ngradient norm\t0.0\nsteps\t1\n"


def test_errors(cli) -> None:
    answer = cli("minimize", "x**2", "x=1,2")
    way = "  try   gradcli minimize '(x**2).sum()' x=1,2  (only one number can be smallest)"
    assert (answer.code, answer.err.splitlines()[-1]) == (1, way)
    assert cli("minimize", "x.detach()", "x=1").code == 1
    assert cli("minimize", "foo", "x=1").code == 1
    assert cli("minimize", "x +", "x=1").code == 3
    for words in (["--method", "newton"], ["--lr", "0"], ["--tol", "-1"], ["--steps", "-1"]):
        assert cli("minimize", "x**2", "x=1", *words).code == 2
    assert cli("minimize", "x**2", "x=1", "--limit", "time=0s").code == 5


@pytest.mark.slow
def test_the_bar_is_on_a_terminal_only(terminal: Callable[..., Terminal], cli) -> None:
    words = ["minimize", "((x-1e6)**2).sum()", "x=0", "--steps", "100000"]
    assert "%" not in cli(*words, "--limit", "time=60s").err
    one = terminal(*words, columns=120)
    one.wait("%")
    assert one.ended() == 4
    assert "\n".join(one.lines).count("%") == 0
