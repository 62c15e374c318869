"""Every table at 60, 80, 120 and 200 columns, piped, in ASCII and in colour, against what is recorded in `tests/render/tables`.

`python -m tests.render.test_tables` records anew; look at the difference before it is committed.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from unittest import mock

import pytest

from gradcli.cli import output
from gradcli.cli.app import run
from gradcli.render.look import PLAIN, Look

RECORDED = Path(__file__).parent / "tables"
ROWS = 40
WIDTHS = (60, 80, 120, 200)

#: name of the recorded file -> command
COMMANDS = {
    "grad": "grad 'mean((x+2)*(x+2)*2)' x='[-1.2301, 0.5498, -1.7590]'",
    "grad_all": "grad 'mean((x+2)*(x+2)*2)' x='[[1,2],[3,4]]' --all",
    "grad_wide": "grad '(softmax(x @ w, 0) * x).sum()' x='randn(12)' w='randn(12,12)' --seed 1",
    "grad_tall": "grad '(x**3).sum()' x='randn(60,2)' --seed 1",
    "grad_scalars": "grad 'x*y + 100.25*z' x=1.5 y=-20.25 z=3",
    "grad_empty": "grad 'x.sum() + y' x='zeros(0)' y=1",
    "grad_nan": "grad '(log(x)*0 + y/0).sum()' x=-1,0,2 y=0",
    "grad_zero": "grad '(relu(x) + y.detach()).sum()' x=-1,-2 y=1,2",
    "grad_names": "grad 'the_first_of_two_long_names*the_second_of_them' the_first_of_two_long_names=3 the_second_of_them=4",
    "grad_vectors": "grad 'x**2' x=1,2,3 -v 1,0,0 -v 0,1,0",
    "grad_scientific": "grad '(x**4).sum()' x=1e-3,2000,3e7",
    "eval": "eval 'x*2' x=1,2,3 --format table",
    "eval_text": 'eval \'"日本語" + "\\x1b[31m" + x[i].__class__.__name__\' i:=0 x=1,2 --format table',
    "eval_nested": """eval '{"a": [1, 2, tensor([1.,2.])], "b": (randn(3,3), "text")}' --format table""",
    "eval_high_rank": "eval 'randn(2,3,4,5)' --format table",
    "jacobian_cube": "jacobian 'A @ x' A='randn(3,4)' x='randn(4)' --seed 1",
    "jacobian": "jacobian 'A @ x + b' A='[[1,2],[3,4]]' x=1,2 b=0,0",
    "hessian": "hessian '(1-x)**2 + 100*(y-x**2)**2' x=-1.2 y=1 --with-grad",
    "check": "check 'where(x>1, log(x), 2*x).sum()' x=0,2",
    "check_kinks": "check '(relu(x)*y).sum()' x='zeros(12)' y='ones(12)'",
    "check_names": "check '(log(a_long_name)*sigmoid(y)/(a_long_name - a_long_name)).sum() + 0*exp(y).sum()' a_long_name=-1,2 y=3,4",
    "explain_full": "explain 'softmax(x,0).log().sum()' x=1,2,3 --full",
    "explain": "explain 'mean((x+2)*(x+2)*2)' x='[[1,2],[3,4]]'",
    "explain_large": "explain 'log_softmax(x @ w, 1).mean()' x='randn(30,4)' w='randn(4,3)' --seed 1",
    "minimize": "minimize '(x-3)**2 + (y+10.5)**2' x=0 y=0 --method sgd --lr 0.5",
    "minimize_vector": "minimize '((w-x)**2).sum()' w='zeros(12)' x:='arange(12.)' --lr 0.1",
    "ops": "ops 'soft*'",
    "ops_long": "ops 'special.*bessel*'",
    "ops_cholesky": "ops torch.linalg.cholesky gru",
    "ops_name": "ops softmax",
    "graph": "graph 'mean((x+2)*(x+2)*2)' x='[[1,2],[3,4]]' --values",
    "graph_chain": f"graph '{'sin(' * 40}x{')' * 40}' x=1,2 --values",
    "plot": "plot 'x**3 - 2*x' x=-2..2 --grad",
    "plot_nan": "plot 'sqrt(x-5)' x=-2..2",
    "error_labels": "eval 'a_matrix_with_a_name @ torch.ones(2, 3)' 'a_matrix_with_a_name=ones(2,3)'",
    "error_ways": "grad 'x*2' x=1,2",
    "warning": "eval 'torch.nn.functional.softmax(x)' x=1,2",
    "error": "eval 'torch.sinn(x)' x=1",
}
LOOKS = {
    **{f"{columns} columns": Look(columns=columns, rows=ROWS) for columns in WIDTHS},
    "piped, ascii": PLAIN.replace(encoding="ascii"),
    "80 columns, coloured": Look(columns=80, rows=ROWS, colour=True),
}


def shown(command: str, look: Look) -> str:
    """What the command prints, both streams together. Escape characters are shown as \\e."""
    stream = io.StringIO()
    with mock.patch.object(output, "look_of", lambda *_: look), contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        run(shlex.split(command))
    return stream.getvalue().replace("\x1b", "\\e")


def picture(name: str) -> str:
    """The whole recorded text of a command."""
    command = COMMANDS[name]
    return f"$ gradcli {command}\n" + "".join(f"\n=== {title}\n\n{shown(command, look)}" for title, look in LOOKS.items())


@pytest.mark.parametrize("name", COMMANDS)
def test_tables_look_as_recorded(name: str) -> None:
    assert picture(name) == (RECORDED / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
def test_colours_change_nothing_but_the_colours(name: str) -> None:
    coloured = shown(COMMANDS[name], LOOKS["80 columns, coloured"])
    assert re.sub(r"\\e\[[0-9;]*m", "", coloured) == shown(COMMANDS[name], LOOKS["80 columns"])


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"grad_names"}))
def test_no_line_is_wider_than_the_terminal(name: str, columns: int) -> None:
    lines = shown(COMMANDS[name], LOOKS[f"{columns} columns"]).splitlines()
    # commands to try are copied, and stay whole
    assert max(len(line) for line in lines if not re.match(r"  (try   |      )gradcli ", line)) <= columns


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"eval_text"}))
def test_what_is_not_utf_8_is_drawn_in_ascii(name: str) -> None:
    assert shown(COMMANDS[name], LOOKS["piped, ascii"]).isascii()


def test_the_explanation_of_the_readme_fits_80_columns() -> None:
    assert "grad(#1) + grad(#2)" in shown(COMMANDS["explain"], LOOKS["80 columns"])
    assert "grad_fn         value" in shown(COMMANDS["explain"], LOOKS["80 columns"])


def test_words_and_numbers_are_never_broken() -> None:
    whole = set(re.findall(r"[\w.]+", shown(COMMANDS["grad_all"], PLAIN)))
    assert set(re.findall(r"[\w.]+", shown(COMMANDS["grad_all"], LOOKS["60 columns"]))) - whole <= {
        "1.5",
        "2.0",
        "2.5",
        "3.0",
        "0.50",
        "0.25",
        "0.5",
    }


if __name__ == "__main__":
    RECORDED.mkdir(exist_ok=True)
    for each in COMMANDS:
        (RECORDED / f"{each}.txt").write_text(picture(each), encoding="utf-8")
