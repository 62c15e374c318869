"""`gradcli explain`, `graph` and `check`: exact output, formats, exit codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

README = ("mean((x+2)*(x+2)*2)", "x=[[1,2],[3,4]]")

SCRIPT = """\
import torch
x = torch.tensor([1., 2.], requires_grad=True)
h = x * x
print("hello")
loss = h.sum()
loss.backward()
"""


@pytest.fixture
def lesson(tmp_path: Path) -> str:
    path = tmp_path / "lesson.py"
    path.write_text(SCRIPT)
    return str(path)


def test_explain(cli) -> None:
    answer = cli("explain", "(x*c).sum()", "x=1,2", "c=3", "k:=tensor([1])")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (
        "  #  expression  grad_fn         shape  value     gradient  how it came\n"
        "  " + "─" * 78 + "\n"
        "  2  #1.sum()    SumBackward0    ()     9.        1.        start\n"
        "  1  x*c         MulBackward0    (2,)   [3., 6.]  all 1.    grad(#2)\n"
        "  x  leaf        AccumulateGrad  (2,)   [1., 2.]  all 3.    grad(#1) * c\n"
        "  c  leaf        AccumulateGrad  ()     3.        3.        grad(#1) * x, summed\n"
        "\n"
        "  k: int64 cannot require grad, only floating-point tensors can\n"
    )


def test_explain_full(cli) -> None:
    out = cli("explain", "x*x", "x=3", "--full").out
    assert "    #1 = x*x = 3.*3. = 9.\n" in out
    assert "    grad(x) = grad(#1) * x + grad(#1) * x = 1. * 3. + 1. * 3. = 6.\n" in out


def test_explain_json(cli) -> None:
    answer = cli("explain", *README, "--json")
    told = json.loads(answer.out)
    assert (told["gradcli"], told["ok"], told["total"]) == (1, True, 6)
    first = told["steps"][0]
    assert (first["name"], first["grad_fn"], first["expression"], first["outputs"][0]["grad"]) == ("#5", "MeanBackward0", "mean(#4)", 1.0)
    assert told["steps"][-1]["outputs"][0]["came"] == "grad(#1) + grad(#2)"


def test_explain_csv(cli) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("explain", *README, "--format", "csv").out)))
    assert len(rows) == 1 + 5 * 4
    assert list(rows[0].values()) == ["#5", "mean(#4)", "MeanBackward0", "", "43.0", "1.0", "start"]
    assert (rows[-1]["name"], rows[-1]["index"], rows[-1]["grad"]) == ("x", "1 1", "6.0")


def test_explain_latex(cli) -> None:
    out = cli("explain", "x*x", "x=3", "--latex").out
    assert out.startswith("\\documentclass{article}\n")
    assert r"\bar{x} &= \bar{v}_{1} \odot x + \bar{v}_{1} \odot x = 6." in out
    assert cli("explain", "x*x", "x=3", "--latex", "--json").code == 2


def test_explain_needs_weights(cli) -> None:
    answer = cli("explain", "x**2", "x=1,2,3")
    assert answer.code == 1
    assert answer.err.splitlines()[-2:] == [
        "  try   gradcli explain 'x**2' x=1,2,3 -v 1,1,1",
        "        gradcli explain '(x**2).sum()' x=1,2,3",
    ]
    assert "start, the weights v" in cli("explain", "x**2", "x=1,2,3", "-v", "1,1,1").out
    assert cli("explain", "x**2", "x=1", "-v", "1", "-v", "2").code == 2


def test_a_script(cli, lesson: str) -> None:
    answer = cli("explain", lesson, "--of", "loss")
    assert answer.code == 0
    assert "hello" not in answer.out and "hello" in answer.err
    assert "loss = #1.sum()" in answer.out and "h = x * x" in answer.out
    assert cli("explain", "-f", lesson, "--of", "loss").out == answer.out
    assert cli("explain", lesson, "--of", "nothing").code == 2
    assert cli("explain", "--of", "loss").code == 2


def test_a_cut(cli) -> None:
    answer = cli("explain", "x.detach()*2", "x=1")
    assert answer.code == 1
    assert "  x.detach()*2\n  ^^^^^^^^^^ x is cut off here\n" in answer.err


def test_graph(cli) -> None:
    assert cli("graph", *README).out.splitlines()[0] == "MeanBackward0  #5: mean(#4)"
    assert cli("graph", *README, "--values").out.splitlines()[0].endswith("= 43.  grad 1.")
    assert "grad" not in cli("graph", "x*2", "x=1,2", "--values").out.splitlines()[0]
    assert cli("graph", "x*2", "x=1,2", "--grads").code == 1


@pytest.mark.parametrize(
    ("kind", "suffix", "start"),
    [
        ("svg", "svg", "<svg "),
        ("dot", "dot", "digraph "),
        ("mermaid", "mmd", "flowchart TD"),
        ("json", "json", '{"gradcli": 1'),
        ("tree", "txt", "MeanBackward0"),
    ],
)
def test_graph_formats(cli, tmp_path: Path, kind: str, suffix: str, start: str) -> None:
    drawn = cli("graph", *README, "--as", kind)
    assert drawn.code == 0 and drawn.out.startswith(start)
    path = tmp_path / f"graph.{suffix}"
    assert cli("graph", *README, "-o", str(path)).code == 0
    assert path.read_text() == drawn.out


def test_graph_refuses(cli) -> None:
    assert cli("graph", *README, "--as", "gif").code == 2
    assert cli("graph", *README, "--format", "csv").code == 2


def test_graph_of_a_script(cli, lesson: str) -> None:
    assert cli("graph", lesson, "--of", "loss", "--grads").out.splitlines()[1].split("  ")[1] == "#1: h = x * x"


def test_check_passes(cli) -> None:
    answer = cli("check", *README)
    assert answer.code == 0
    assert answer.out.splitlines()[2].split()[0] == "x"
    assert answer.out.splitlines()[2].endswith("ok")


def test_check_of_the_masked_branch(cli) -> None:
    answer = cli("check", "where(x>1, log(x), 2*x).sum()", "x=0,2")
    assert (answer.code, answer.err) == (4, "")
    assert answer.out.splitlines()[3:6] == [
        "  x[0]  analytic nan  numeric 2.0000",
        "  nan first made by LogBackward0 at  where(x>1, log(x), 2*x).sum()",
        "                                                ^^^^^^  x[0]=0: branch not taken: grad 0 / x 0 = nan",
    ]


def test_check_formats(cli) -> None:
    told = json.loads(cli("check", "relu(x).sum()", "x=-1,0,1", "--json").out)
    assert told["passed"] is True
    assert told["inputs"]["x"]["kinks"][0]["index"] == [1]
    rows = list(csv.DictReader(io.StringIO(cli("check", "relu(x).sum()", "x=-1,0,1", "--format", "csv").out)))
    assert [row["verdict"] for row in rows] == ["ok", "kink"]
    assert cli("check", "log(x)", "x=-1", "--json").code == 4


def test_check_refuses(cli) -> None:
    assert cli("check", "x", "x=1", "--dtype", "float32").code == 2
    assert cli("check", "x", "x=1", "--wrt", "y").code == 2
    assert cli("check", "x.detach()", "x=1").code == 1
