"""matplotlib's pyplot in programs: figures in the terminal and in files, and what programs see of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

START = "import matplotlib.pyplot as plt\nimport torch\n"


@pytest.fixture
def run(cli, tmp_path: Path, monkeypatch):
    """Runs a script; what it left behind."""
    monkeypatch.chdir(tmp_path)

    def call(text: str, *words: str):
        Path("a.py").write_text(START + text)
        return cli("run", "a.py", *words)

    return call


def test_a_curve_with_its_texts(run) -> None:
    answer = run(
        "plt.plot([0, 1, 2], [0., 5., 0.], label='hat')\nplt.title('Title')\nplt.xlabel('time')\nplt.legend()\nplt.show()\nplt.show()\n"
    )
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0].strip() == "Title" and lines[-1].endswith("hat") and "time" in lines[-2]
    assert lines[1].startswith("5 ") and lines[14].startswith("0 ")
    # the curve goes up and down again: its middle is above
    assert lines[1].strip("5 │") and not lines[14][20:60].strip()


def test_points_on_the_edges_are_shown(run) -> None:
    rows = [line.partition("│")[2] for line in run("plt.scatter([1, 3], [1, 3])\nplt.show()\n").out.splitlines()[:14]]
    assert rows[0].rstrip() and not rows[0][:60].strip()
    assert len(rows[13].strip()) == 1 and rows[13][0] != " "


def test_bars_and_names(run) -> None:
    out = run("fig, (a, b) = plt.subplots(1, 2)\na.bar(['x', 'y'], [1, 2])\nb.hist(torch.tensor([1., 1., 2.]), bins=2)\nplt.show()\n").out
    assert "0: x, 1: y" in out and out.count("└") == 2


def test_pictures_are_shades(run) -> None:
    assert run("plt.imshow(torch.eye(2))\nplt.show()\n").out == "@@\n  @@\n"


def test_what_plotting_returns(run) -> None:
    text = "counts, edges, bars = plt.hist([1, 2, 2, 5], bins=4)\nprint(counts, edges)\nline, = plt.plot([1, 2])\nline.set_label('a')\n"
    text += "fig, ax = plt.subplots(2, 3)\nprint(ax.shape, len(ax), len(ax.flat), type(ax[1, 2]).__name__, len(ax[0]))\nplt.close()\n"
    assert run(text).out == "[1.0, 2.0, 0.0, 1.0] [1.0, 2.0, 3.0, 4.0, 5.0]\n(2, 3) 2 6 Axes 3\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("plt.plot([1, 2], [1, 2, 3])", "x and y must have same first dimension, but have shapes (2,) and (3,)"),
        ("plt.plot(torch.ones(2, requires_grad=True))", "Can't call numpy() on Tensor that requires grad."),
        ("plt.imshow([1, 2])", "Invalid shape (2,) for image data"),
        ("plt.subplot(2, 2, 5)", "num must be an integer with 1 <= num <= 4, not 5"),
        ("plt.subplots(100, 100)", "a grid has between 1 and 20 rows and columns"),
        ("plt.hist([1], bins=10**9)", "bins must be between 1 and 10,000"),
        ("plt.hist([1, float('nan')])", "is not finite"),
        ("while True: plt.figure()", "more than 200 figures are open"),
        ("plt.nothing", "has no attribute 'nothing'"),
        ("plt.plot([[[1]]])", "x and y can be no greater than 2D"),
    ],
)
def test_errors(run, text: str, message: str) -> None:
    answer = run(text + "\n")
    assert answer.code == 1 and message in answer.err


def test_odd_numbers_are_left_out(run) -> None:
    text = "plt.plot([1, 2, 3], [1, float('inf'), 2])\nplt.plot([])\nplt.show()\n"
    out = run(text + "plt.plot([float('nan')])\nplt.show()\nplt.semilogy([0, 1, 10])\nplt.show()\n").out
    assert out.count("└") == 2


def test_texts_are_no_escapes(run) -> None:
    assert "\x1b" not in run("plt.plot([1, 2])\nplt.title('a\\x1b[31mb')\nplt.show()\n").out


def test_savefig_needs_a_folder(run) -> None:
    answer = run("plt.plot([1, 2])\nplt.savefig('../up.png')\n")
    assert (answer.code, answer.out) == (0, "") and "--plots DIR" in answer.err and not Path("../up.png").exists()


def test_files_stay_in_the_folder(run) -> None:
    pytest.importorskip("matplotlib")
    text = "plt.plot([1, 2], 'r--', label='$x')\nplt.bar(['$a', 'b'], [1, 2])\nplt.legend()\n"
    text += "plt.savefig('../../up.svg')\nplt.savefig('b$.xyz')\nplt.show()\n"
    answer = run(text, "--plots", "made")
    assert (answer.code, answer.out) == (0, "")
    assert sorted(path.name for path in Path("made").iterdir()) == ["b_.png", "figure3.png", "up.svg"]


def test_text_from_strangers_draws_nothing(run) -> None:
    answer = run("plt.plot([1, 2])\nplt.show()\nprint('on')\n", "--untrusted")
    assert (answer.code, answer.out) == (0, "on\n")


def test_cells_of_notebooks_show_their_figures(cli, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [{"cell_type": "code", "source": text} for text in (START + "plt.plot([1, 2]);", "print('next')")]
    Path("a.ipynb").write_text(json.dumps({"cells": cells}))
    out = cli("run", "a.ipynb").out
    assert "└" in out and out.endswith("next\n")


def test_the_figures_of_sessions_are_apart(run) -> None:
    run("plt.plot([1, 2])\n")
    assert run("plt.show()\n").out == ""
