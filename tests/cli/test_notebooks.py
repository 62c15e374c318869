"""`gradcli run` with notebooks: their cells, what these show, lines of IPython's, and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writes a notebook of code cells; its name."""
    monkeypatch.chdir(tmp_path)

    def write(*cells: str, name: str = "lesson.ipynb") -> str:
        held = [{"cell_type": "markdown", "source": ["# A lesson"]}]
        held += [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
        Path(name).write_text(json.dumps({"cells": held, "nbformat": 4}), encoding="utf-8")
        return name

    return write


def test_cells_share_names_and_show_their_last_expression(cli, notebook) -> None:
    name = notebook("import torch\nx = torch.tensor([1., 2.], requires_grad=True)\nx", "(x ** 2).sum().backward()\nprint('done')\nx.grad")
    answer = cli("run", name)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "tensor([1., 2.], requires_grad=True)\ndone\ntensor([2., 4.])\n"


def test_none_and_silenced_values_are_not_shown(cli, notebook) -> None:
    assert cli("run", notebook("x = 1", "x;", "None", "print(2)", "'text'", "_")).out == "2\n'text'\n'text'\n"


def test_cells_are_numbered(cli, notebook) -> None:
    out = cli("run", notebook("\nx = 1", "x + 1", "import torch\ntorch.eye(2)"), "--cells").out
    assert out == "In [1]: x = 1\nIn [2]: x + 1\nOut[2]: 2\nIn [3]: import torch\nOut[3]: \ntensor([[1., 0.],\n        [0., 1.]])\n"


def test_lines_of_ipython_are_left_out_with_a_note(cli, notebook) -> None:
    name = notebook("%matplotlib inline\n!pip install torch\nx = 5\nif x:\n    !ls\nx", "%%bash\nls", "%%time\nx + 1", "x?")
    answer = cli("run", name)
    assert (answer.code, answer.out) == (0, "5\n6\n")
    notes = ("%matplotlib inline", "!pip install torch", "!ls", "%%bash", "%%time", "x?")
    assert [line.rpartition("IPython's: ")[2] for line in answer.err.splitlines()] == list(notes)
    assert cli("run", name, "-q").err == ""


def test_an_operator_at_the_start_of_a_line_is_python(cli, notebook) -> None:
    assert cli("run", notebook("y = 3\nx = (7\n%y)\nx")).out == "1\n"


def test_scripts_leave_out_magics_and_expressions_do_not(cli, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("%timeit 1\nprint(3)\n")
    assert cli("run", "a.py").out == "3\n"
    assert cli("eval", "%time").code == 3


def test_errors_name_the_cell_and_the_line(cli, notebook) -> None:
    answer = cli("run", notebook("x = 1", "y = 2\n\nx / 0"))
    assert answer.code == 1 and "lesson.ipynb cell 2:3\n" in answer.err
    assert "lesson.ipynb cell 1:1" in cli("run", notebook("x = = 1")).err


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"cells": 1}', '{"cells": [1]}', '{"cells": [{"cell_type": "code", "source": 1}]}', "[" * 10**5]
)
def test_what_is_no_notebook(cli, tmp_path: Path, monkeypatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.ipynb").write_text(text)
    answer = cli("run", "a.ipynb")
    assert answer.code == 1 and "is no notebook" in answer.err


def test_display(cli, notebook) -> None:
    assert cli("run", notebook("from IPython.display import clear_output, display\nclear_output()\ndisplay('a', [1])")).out == "'a'\n[1]\n"


def test_print_to_the_error_stream(cli, notebook) -> None:
    answer = cli("run", notebook("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.stderr.write('more\\n');"))
    assert (answer.out, answer.err) == ("out\n", "err\nmore\n")


def test_bars_need_a_terminal(cli, notebook) -> None:
    answer = cli("run", notebook("from tqdm import tqdm, trange\nprint([i for i in tqdm(range(3), desc='d')], sum(trange(4)))"))
    assert (answer.out, answer.err) == ("[0, 1, 2] 6\n", "")
