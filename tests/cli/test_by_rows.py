"""`--by-rows`: sums and means over the rows of files, piece by piece, on one core and on several."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gradcli.data import pieces

pytestmark = pytest.mark.slow

MEAN = "((w*d.x+b-d.y)**2).mean()"
ARRAY = "((d[:,:2]@w+b-d[:,2])**2).mean()"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a few rows."""
    monkeypatch.setattr(pieces, "ROWS", 7)
    monkeypatch.setattr(pieces, "BYTES", 300)
    monkeypatch.setattr(pieces, "_CHUNK", 64)


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """rows-0.csv to rows-2.csv, all.csv with all of their rows, rows.npy with three columns."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(100, 2)).round(3)
    whole = ["x,y\n"]
    for number, part in enumerate(np.split(rows, (30, 31))):
        lines = [f"{x},{y}\n" for x, y in part]
        (tmp_path / f"rows-{number}.csv").write_text("".join(["x,y\n", *lines]))
        whole += lines
    (tmp_path / "all.csv").write_text("".join(whole))
    np.save(tmp_path / "rows.npy", np.column_stack([rows, rows @ [2, -1] + 0.5]))
    np.save(tmp_path / "columns.npy", np.asfortranarray(np.column_stack([rows, rows @ [2, -1] + 0.5])))
    return tmp_path


def grad(cli, expression: str, *words: str) -> dict:
    answer = cli("grad", expression, *words, "--dtype", "float64", "--json")
    assert (answer.code, answer.err) == (0, ""), answer
    return json.loads(answer.out)


@pytest.mark.parametrize("loss", [MEAN, MEAN.replace("mean", "sum"), MEAN + " + 0.1*w**2"], ids=["mean", "sum", "penalty"])
def test_the_same_as_all_at_once(cli, tables: Path, small: None, loss: str) -> None:
    found = grad(cli, loss, "d=@rows-*.csv", "w=1", "b=0.5", "--by-rows", "d")
    whole = grad(cli, loss, "d:=@all.csv", "w=1", "b=0.5")
    assert found["over"]["rows"] == 100 and found["over"]["pieces"] > 5
    assert found["output"]["value"] == pytest.approx(whole["output"]["value"], rel=1e-12)
    for name in "wb":
        assert found["variables"][name]["grad"] == pytest.approx(whole["variables"][name]["grad"], rel=1e-12)


@pytest.mark.parametrize("name", ["rows.npy", "columns.npy"])
def test_arrays_are_read_by_rows(cli, tables: Path, small: None, name: str) -> None:
    found = grad(cli, ARRAY, f"d=@{name}", "w=1,2", "b=0", "--by-rows", "d")
    whole = grad(cli, ARRAY, f"d:=@{name}", "w=1,2", "b=0")
    assert found["over"] == {"name": "d", "rows": 100, "pieces": 15}
    assert found["variables"]["w"]["grad"] == pytest.approx(whole["variables"]["w"]["grad"], rel=1e-12)


def test_the_bits_do_not_depend_on_the_number_of_processes(cli, tables: Path, small: None) -> None:
    for words in ((MEAN, "d=@rows-*.csv", "w=1"), (ARRAY, "d=@rows.npy", "w=1,2")):
        answers = {cli("grad", *words, "b=0", "--by-rows", "d", "-q", "--json", "--jobs", str(jobs)).out for jobs in (1, 2, 3, 20)}
        assert len(answers) == 1 and json.loads(answers.pop())["ok"]


def test_the_table_says_how_many_rows(cli, tables: Path) -> None:
    answer = cli("grad", MEAN, "d=@rows-*.csv", "w=1", "b=0", "--by-rows", "d")
    assert answer.code == 0 and answer.out.endswith("  over 100 rows of d, in 3 pieces\n")
    answer = cli("minimize", MEAN, "d=@rows-*.csv", "w=1", "b=0", "--by-rows", "d", "--method", "lbfgs")
    assert answer.code == 0 and answer.out.endswith("  over 100 rows of d, in 3 pieces\n")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_minimum_is_that_of_least_squares(cli, tables: Path, small: None, jobs: str) -> None:
    words = ["d=@rows.npy", "w=0,0", "b=0", "--by-rows", "d", "--method", "lbfgs", "--dtype", "float64", "--json", "--jobs", jobs]
    answer = cli("minimize", ARRAY, *words, "--tol", "1e-9")
    found = json.loads(answer.out)["variables"]
    assert answer.code == 0 and found["w"]["minimum"] == pytest.approx([2, -1]) and found["b"]["minimum"] == pytest.approx(0.5)


def test_missing_cells_and_columns_of_text(cli, tables: Path, small: None) -> None:
    lines = ["x;name;y\n"] + [f"{i};n{i};{'' if i == 60 else 2 * i}\n" for i in range(100)]
    Path("t.csv").write_text("".join(lines))
    words = ["d=@t.csv", "w=1", "b=0", "--by-rows", "d"]
    answer = cli("grad", MEAN, *words)
    assert answer.code == 1 and "column 2 (y) is empty" in answer.err and "lines down" in answer.err
    found = grad(cli, MEAN, *words, "--missing", "drop")
    rest = np.delete(np.arange(100.0), 60)
    assert found["over"]["rows"] == 99 and found["output"]["value"] == pytest.approx(np.mean(rest**2))
    assert grad(cli, "(w*d).sum()", "d=@t.csv:x", "w=1", "--by-rows", "d")["output"]["value"] == 4950


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("(w*d.x).std()", "of the first 64 rows it is"),
        ("(w*d.x).max()", "no sum and no mean over the rows of d"),
        ("(d.x**2).sum() + w**2", "no sum and no mean"),
        ("w*len(d)**2", "no sum and no mean"),
        ("(softmax(w*d.x, 0)*d.y).sum()", "no sum and no mean"),
        ("w*d.x", "over rows a sum or a mean is taken, and this has shape (64,)"),
    ],
)
def test_what_is_no_sum_is_refused(cli, tables: Path, expression: str, said: str) -> None:
    answer = cli("grad", expression, "d=@all.csv", "w=1.5", "--by-rows", "d")
    assert answer.code == 1 and said in answer.err, answer.err


def test_zeros_at_first_tell_nothing(cli, tables: Path) -> None:
    """A sum whose first rows are zero is not taken for a mean."""
    Path("z.csv").write_text("x\n" + "0\n" * 2000 + "1\n" * 50)
    assert grad(cli, "(w*d).sum()", "d=@z.csv:x", "w=1", "--by-rows", "d")["variables"]["w"]["grad"] == 50


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((MEAN, "d=@rows-*.csv", "w=1", "b=0", "--by-rows", "e"), 2, "--by-rows names 'e', which is not given"),
        ((MEAN, "d=1", "w=1", "b=0", "--by-rows", "d"), 2, "whose rows are in no file"),
        ((MEAN, "d=@-", "w=1", "b=0", "--by-rows", "d"), 1, "standard input can be read only once"),
        ((MEAN, "d=@none-*.csv", "w=1", "b=0", "--by-rows", "d"), 1, "cannot read none-*.csv"),
        ((MEAN, "d=@rows-*.csv", "--by-rows", "d"), 2, "nothing to differentiate by"),
        ((MEAN, "d=@rows-*.csv", "w=1", "b=0", "--by-rows", "d", "-v", "1"), 2, "-v and --by-rows contradict each other"),
        ((MEAN, "d=@rows-*.csv", "w=1", "b=0", "--by-rows", "d", "--wrt", "d"), 2, "--wrt names 'd', whose rows are data"),
        ((MEAN, "d=@rows-*.csv", "w=1", "b=0", "--jobs", "2"), 2, "--jobs needs --by-rows"),
        ((MEAN, "d=@rows-*.csv", "w=1", "b=0", "--by-rows", "d", "-o", "rows-1.csv"), 1, "it is an input of this command"),
    ],
)
def test_wrong_usage(cli, tables: Path, words: tuple[str, ...], code: int, said: str) -> None:
    answer = cli("grad", *words)
    assert answer.code == code and said in answer.err, answer.err


def test_files_of_other_columns_are_refused(cli, tables: Path) -> None:
    Path("rows-9.csv").write_text("y,x\n1,2\n")
    answer = cli("grad", MEAN, "d=@rows-*.csv", "w=1", "b=0", "--by-rows", "d")
    assert answer.code == 1 and "rows-9.csv has other columns than rows-0.csv" in answer.err
    np.save("rows-9.npy", np.ones((2, 2)))
    answer = cli("grad", ARRAY, "d=@rows*.npy", "w=1,2", "b=0", "--by-rows", "d")
    assert answer.code == 1 and "has other columns than" in answer.err


def test_a_piece_that_fails_elsewhere_is_told_with_its_place(cli, tables: Path, small: None) -> None:
    lines = ["x,y\n"] + [f"{i},{'oops' if i == 77 else 1}\n" for i in range(100)]
    Path("t.csv").write_text("".join(lines))
    for jobs in ("1", "3"):
        answer = cli("grad", "(w*d.x).sum()", "d=@t.csv", "w=1", "--by-rows", "d", "--jobs", jobs)
        assert answer.code == 1 and "is no number: 'oops'" in answer.err, answer.err
