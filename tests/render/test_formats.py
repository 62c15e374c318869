"""Results as tables, text, CSV and JSON."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from gradcli.render import csv_text, json_text, plain, tables
from gradcli.render.look import Look
from gradcli.results.derivatives import GradientTable, Row
from gradcli.results.values import Evaluation, PlainValue, TensorValue


def tensor(data: object, cell: str, dtype: str = "float32") -> TensorValue:
    value = TensorValue(np.array(data, dtype), dtype)
    assert not cell or value.cell() == cell
    return value


MATRIX = tensor([[1, 2], [3, 4]], "[[1., 2.],\n [3., 4.]]")
OUT = Row("out", "(x*x).sum()", "SumBackward0", tensor(30, "30."), (tensor(1, "1."),))
X = Row("x", "leaf", "AccumulateGrad", MATRIX, (tensor([[2, 4], [6, 8]], "[[2., 4.],\n [6., 8.]]"),))
UNUSED = Row("y", "leaf", "AccumulateGrad", tensor(1, "1."), (None,))
TABLE = GradientTable(OUT, (), (X, UNUSED))
SQUARE = Row("#1", "x*x", "MulBackward0", MATRIX, (MATRIX,))


def evaluation(value: TensorValue | PlainValue) -> Evaluation:
    return Evaluation("x[i]", value, "SelectBackward0", True)


def test_table() -> None:
    assert tables.gradient_table(TABLE) == (
        "  name  expression   shape   grad_fn         value       gradient\n"
        "  ─────────────────────────────────────────────────────────────────\n"
        "  out   (x*x).sum()  ()      SumBackward0    30.         1.\n"
        "  x     leaf         (2, 2)  AccumulateGrad  [[1., 2.],  [[2., 4.],\n"
        "                                              [3., 4.]]   [6., 8.]]\n"
        "  y     leaf         ()      AccumulateGrad   1.         -\n"
    )


def test_table_of_several_vectors() -> None:
    row = Row("out", "x", "-", MATRIX, (MATRIX, MATRIX))
    assert tables.gradient_table(GradientTable(row, (), ())).split("\n")[0].endswith("gradient 1  gradient 2")


def test_user_text_is_no_markup_and_no_control() -> None:
    shown = tables.evaluation_table(Evaluation("x[i]\x1b[1m + '日'", MATRIX, None, False))
    assert "x[i]\\x1b[1m + '日'  (2, 2)  -        [[1., 2.]," in shown


def test_long_expressions_are_cut_and_lines_joined() -> None:
    shown = tables.evaluation_table(Evaluation("x +\n" + "+x" * 10_000 + " - last", MATRIX, None, False)).splitlines()[2]
    assert shown.startswith("  out   x + +x+x+x") and "..." in shown and "x - last  (2, 2)" in shown
    assert len(shown) < 110


def test_colours_leave_the_layout_as_it_is() -> None:
    coloured = tables.gradient_table(TABLE, Look(colour=True))
    assert "\x1b[1;36mout\x1b[0m" in coloured and "\x1b[35mSumBackward0\x1b[0m" in coloured
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == tables.gradient_table(TABLE)


def test_repr() -> None:
    assert plain.gradient_repr(GradientTable(OUT, (), (UNUSED,))) == "out = tensor(30.)\ny.grad = None\n"


def test_plain() -> None:
    assert plain.gradient_plain(TABLE) == "out\t30.0\nx.grad\t2.0 4.0\nx.grad\t6.0 8.0\ny.grad\tNone\n"
    assert plain.evaluation_plain(evaluation(MATRIX)) == "1.0 2.0\n3.0 4.0\n"
    assert plain.evaluation_plain(evaluation(tensor([0.1, np.nan], ""))) == "0.10000000149011612 nan\n"
    assert plain.evaluation_plain(evaluation(tensor(np.arange(8).reshape(2, 2, 2), ""))) == "0.0 1.0\n2.0 3.0\n\n4.0 5.0\n6.0 7.0\n"
    assert plain.evaluation_plain(evaluation(PlainValue("a", "str", "a"))) == "a\n"


def test_csv() -> None:
    assert csv_text.gradient_csv(TABLE) == "name,index,value,grad\nx,0 0,1.0,2.0\nx,0 1,2.0,4.0\nx,1 0,3.0,6.0\nx,1 1,4.0,8.0\ny,,1.0,\n"
    assert csv_text.gradient_csv(GradientTable(OUT, (SQUARE,), ())).startswith("name,index,value,grad\nout,,30.0,1.0\n#1,0 0,1.0,1.0\n")
    assert csv_text.evaluation_csv(evaluation(tensor([1, 2], ""))) == "index,value\n0,1.0\n1,2.0\n"
    assert csv_text.evaluation_csv(evaluation(PlainValue(3, "int", "3"))) == "index,value\n,3\n"


def test_json() -> None:
    content = json.loads(json_text.gradient_json(TABLE))
    assert content["gradcli"] == 1 and content["ok"] is True
    assert content["output"] == {
        "name": "out",
        "expression": "(x*x).sum()",
        "grad_fn": "SumBackward0",
        "value": 30.0,
        "shape": [],
        "dtype": "float32",
        "grad": 1.0,
    }
    assert content["variables"]["x"]["grad"] == [[2.0, 4.0], [6.0, 8.0]]
    assert content["variables"]["y"]["grad"] is None


def test_json_has_strings_for_what_it_has_no_numbers_for() -> None:
    text = json_text.evaluation_json(evaluation(tensor([np.nan, np.inf, -np.inf, 0.1], "")))
    assert json.loads(text)["value"] == ["nan", "inf", "-inf", 0.10000000149011612]
    assert "NaN" not in text and "Infinity" not in text


HEADINGS = ["name", "expression", "value"]
ROWS = [["x", "leaf", "[1., 2., 3.]"], ["#1", "softmax(x * 2, dim=0) + exp(x)", "[[1.0000, 2.0000],\n [3.0000, 4.0000]]"]]


def test_tables_are_as_wide_as_they_need_or_as_the_terminal() -> None:
    whole = tables.layout(HEADINGS, ROWS)
    assert tables.layout(HEADINGS, ROWS, Look(columns=200)) == whole
    folded = tables.layout(HEADINGS, ROWS, Look(columns=45))
    assert (
        folded
        == """\
  name  expression        value
  ──────────────────────────────────────────
  x     leaf              [1., 2., 3.]
  #1    softmax(x * 2,    [[1.0000, 2.0000],
         dim=0) + exp(x)   [3.0000, 4.0000]]
"""
    )


@pytest.mark.parametrize("columns", range(8, 70))
def test_no_line_is_wider_than_the_terminal_and_no_text_is_lost(columns: int) -> None:
    text = tables.layout(HEADINGS, ROWS, Look(columns=columns))
    if columns >= 30:
        assert max(map(len, text.splitlines())) <= columns
    bare = "".join(text.split())
    for row in ROWS:
        assert "".join(row[0].split()) in bare
    if columns < 30:
        assert "softmax(x*2,dim=0)+exp(x)" in bare


def test_narrow_terminals_get_a_list() -> None:
    assert (
        tables.layout(HEADINGS, ROWS, Look(columns=30))
        == """\
  x  leaf
    value  [1., 2., 3.]
  #1  softmax(x * 2, dim=0) +
      exp(x)
    value  [[1.0000, 2.0000],
            [3.0000, 4.0000]]
"""
    )
