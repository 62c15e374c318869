"""What ARCHITECTURE.md and CONTRIBUTING.md say is there, and the worked example of ARCHITECTURE.md runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_architecture import CORE, LANG

ROOT = Path(__file__).parent.parent
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def paths(text: str) -> list[str]:
    """The words in backticks or in commands that are paths of the project."""
    return sorted({word for word in re.findall(r"[\w./]+", text) if re.match(r"(gradcli|tests|tools|grammar|benchmarks|\.ci)/\w", word)})


@pytest.mark.parametrize("path", sorted({*paths(ARCHITECTURE), *paths(CONTRIBUTING)}))
def test_a_path_exists(path: str) -> None:
    assert (ROOT / path.rstrip("./")).exists()


def test_paths_are_found() -> None:
    assert paths("see `gradcli/core/nowhere.py`, then tools/x.py") == ["gradcli/core/nowhere.py", "tools/x.py"]
    assert len(paths(ARCHITECTURE)) > 50


@pytest.mark.parametrize(("folder", "wings"), [("core", CORE), ("lang", LANG)])
def test_wings_stand_in_the_order_of_the_imports(folder: str, wings: list[str]) -> None:
    assert re.findall(rf"^\| `gradcli/{folder}/(\w+)`", ARCHITECTURE, re.M) == wings


# --- the worked example ---


def apply(diff: str, root: Path) -> list[str]:
    """Put the added lines of a diff without line numbers in front of the lines that follow, or after the lines before them; the files."""
    name = re.search(r"^\+\+\+ b/(.*)$", diff, re.M)
    assert name is not None
    path = root / name[1]
    lines = path.read_text(encoding="utf-8").split("\n")
    for hunk in diff.split("@@\n")[1:]:
        rows = hunk.rstrip("\n").split("\n")
        added = [row[1:] for row in rows if row.startswith("+")]
        if rows[0].startswith("+"):
            at = lines.index(next(row[1:] for row in rows if not row.startswith("+")))
        else:
            at = lines.index(rows[0][1:]) + 1
        lines[at:at] = added
    path.write_text("\n".join(lines), encoding="utf-8")
    return [name[1]]


@pytest.fixture(scope="module")
def with_cube(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with `cube` in it."""
    root = tmp_path_factory.mktemp("cube")
    for folder in ("gradcli", "tools", "grammar"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (diff,) = re.findall(r"^```diff\n(.*?)^```", ARCHITECTURE, re.M | re.S)
    assert apply(diff, root) == ["gradcli/core/ops/elementwise/power.py"]
    run(root, "tools/make_index.py")
    return root


def run(root: Path, *words: str, text: str | None = None) -> str:
    environ = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, *words], cwd=root, env=environ, input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


SCRIPT = """\
import torch
x = torch.tensor([1., 2.], requires_grad=True)
y = x.cube()
print(y, torch.cube(x).grad_fn is not None)
z = x.detach().clone()
z.cube_()
torch.cube_(z)
print(z)
print(torch.autograd.functional.jvp(torch.cube, x, torch.ones(2))[1])
with torch.autograd.forward_ad.dual_level():
    d = torch.autograd.forward_ad.make_dual(torch.tensor([1., 2.]), torch.ones(2))
    print(torch.autograd.forward_ad.unpack_dual(d.cube()).tangent)
"""


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["eval", "cube(x)", "x=2"], ["tensor(8., grad_fn=<CubeBackward0>)"]),
        (["grad", "cube(x)", "x=2", "--format", "repr"], ["x.grad = tensor(12.)"]),
        (["explain", "cube(x)", "x=2"], ["CubeBackward0", "3 * x**2"]),
        (["check", "cube(x)", "x=1,2"], ["ok", "complex steps"]),
        (["hessian", "cube(x).sum()", "x=1,2", "--format", "repr"], ["tensor([[ 6.,  0.],\n        [ 0., 12.]]"]),
        (["ops", "cube"], ["torch.cube(", "CubeBackward0", "grad * 3 * input**2"]),
    ],
    ids=lambda value: value[0],
)
def test_the_worked_example(with_cube: Path, words: list[str], shown: list[str]) -> None:
    out = run(with_cube, "-m", "gradcli", *words)
    assert [text for text in shown if text not in out] == [], out


def test_the_worked_example_in_a_script(with_cube: Path) -> None:
    assert run(with_cube, "-m", "gradcli", "run", "-", text=SCRIPT) == (
        "tensor([1., 8.], grad_fn=<CubeBackward0>) True\ntensor([  1., 512.])\ntensor([ 3., 12.])\ntensor([ 3., 12.])\n"
    )


def test_the_worked_example_is_completed(with_cube: Path) -> None:
    code = "from gradcli.lang.prompt.completion import candidates; print([c.text for c in candidates('torch.cub', {})])"
    assert "cube" in run(with_cube, "-c", code)


@pytest.mark.parametrize("tool", ["make_man.py", "record_terminal.py"])
def test_what_is_made_of_the_program_is_up_to_date(tool: str) -> None:
    """The manual page and the picture of the README."""
    assert subprocess.run([sys.executable, str(ROOT / "tools" / tool), "--check"], check=False).returncode == 0, f"run tools/{tool}"
