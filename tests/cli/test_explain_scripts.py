"""Scripts without --of: what they call backward() on last is explained and drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

TEXT = "import torch\nx = torch.tensor([1., 2.], requires_grad=True)\ny = x * 3\n(x * x).backward(torch.tensor([1., 10.]))\nprint('done')\n"


@pytest.fixture
def lesson(tmp_path: Path) -> str:
    path = tmp_path / "lesson.py"
    path.write_text(TEXT)
    return str(path)


def test_the_last_backward_is_explained(cli, lesson: str) -> None:
    answer = cli("explain", lesson, "--format", "csv")
    assert answer.code == 0 and answer.err == "done\n"
    assert "start, the weights v" in answer.out
    assert "grad(#2)" not in answer.out and "x * 3" not in answer.out
    assert [line.split(",")[5] for line in answer.out.splitlines() if line.startswith("x,")] == ["2.0", "40.0"]


def test_other_weights_and_another_name(cli, lesson: str) -> None:
    assert "gradient" in cli("explain", lesson, "-v", "1,1").out
    assert "x * 3" in cli("graph", lesson, "--of", "y").out


def test_it_is_drawn(cli, lesson: str) -> None:
    answer = cli("graph", lesson, "--grads")
    assert answer.code == 0
    assert answer.out.startswith("MulBackward0  #1: x * x") and "grad [ 2., 40.]" in answer.out


def test_without_backward_and_without_a_graph(cli, tmp_path: Path) -> None:
    path = tmp_path / "none.py"
    path.write_text("import torch\nx = torch.ones(2)\n")
    answer = cli("explain", str(path))
    assert answer.code == 2 and "calls no backward()" in answer.err
    path.write_text("import torch\nx = torch.ones(2, requires_grad=True)\ny = (x * 2).sum()\n")
    assert cli("graph", str(path)).out.startswith("SumBackward0  #2: y = #1.sum()")
