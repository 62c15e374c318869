"""`gradcli eval`: values, names, formats."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["x+2", "x=[-1.2301, 0.5498, -1.7590]"], "tensor([0.7699, 2.5498, 0.2410], grad_fn=<AddBackward0>)"),
        (["-x*2", "x=3"], "tensor(-6., grad_fn=<MulBackward0>)"),
        (["-v*2", "v=3"], "tensor(-6., grad_fn=<MulBackward0>)"),
        (["-x", "x=3"], "tensor(-3., grad_fn=<NegBackward0>)"),
        (["--x", "x=3"], "tensor(3., grad_fn=<NegBackward0>)"),
        (["--", "-3"], "-3"),
        (["-3"], "-3"),
        (["x", "x=2"], "tensor(2., requires_grad=True)"),
        (["x", "x=-1,2"], "tensor([-1.,  2.], requires_grad=True)"),
        (["x", "x=1,"], "tensor([1.], requires_grad=True)"),
        (["x", "x=[[1,2],[3,4]]"], "tensor([[1., 2.],\n        [3., 4.]], requires_grad=True)"),
        (["x", "x=True"], "tensor(1., requires_grad=True)"),
        (["x", "x=arange(3)"], "tensor([0., 1., 2.], requires_grad=True)"),
        (["x", "x=0..1:3"], "tensor([0.0000, 0.5000, 1.0000], requires_grad=True)"),
        (["x.shape", "x=-3..3"], "torch.Size([101])"),
        (["x", "x=-pi..pi:2"], "tensor([-3.1416,  3.1416], requires_grad=True)"),
        (["x", "x:=1,2,3"], "tensor([1, 2, 3])"),
        (["x", "x:=[[1,2],[3,4]]"], "tensor([[1, 2],\n        [3, 4]])"),
        (["x", "x:=2"], "2"),
        (["x", "x:=tensor([1.], requires_grad=True)"], "tensor([1.], requires_grad=True)"),
        (["x==1", "x=1,2"], "tensor([ True, False])"),
        (["x", "x:=1==1"], "True"),
        (["y", "x=2", "y=x*3"], "tensor(6., requires_grad=True)"),
        (["s", "s:=\\@home"], "'@home'"),
        (["randn(4,4)[0]", "--seed", "6"], "tensor([-1.2113,  0.6304, -1.4713, -1.3352])"),
        (["x", "x=0.1", "--precision", "8"], "tensor(0.10000000, requires_grad=True)"),
        (["x", "x=1", "--dtype", "float64"], "tensor(1., requires_grad=True)"),
        (["x.dtype", "x=1", "--dtype", "float64"], "torch.float64"),
        (["1 + 1"], "2"),
        (["'a' * 2"], "'aa'"),
        (["[1, 2.5, None]"], "[1, 2.5, None]"),
        (["sum([1, 2])"], "3"),
        (["sum(x)", "x=1,2"], "tensor(3., grad_fn=<SumBackward0>)"),
        (["torch.float32"], "torch.float32"),
    ],
)
def test_eval(cli, words: list[str], expected: str) -> None:
    answer = cli("eval", *words)
    assert (answer.out, answer.err, answer.code) == (f"{expected}\n", "", 0)


def test_the_first_seed(cli) -> None:
    assert cli("eval", "randn(4,4)", "--seed", "6").out.splitlines()[0] == "tensor([[-1.2113,  0.6304, -1.4713, -1.3352],"


def test_float64_of_files_has_the_default_dtype(cli, tmp_path) -> None:
    np.save(tmp_path / "w.npy", np.ones((2, 2)))
    found = cli("eval", "w @ x", f"w:=@{tmp_path}/w.npy", "x=[[1,2],[3,4]]")
    assert found.out == "tensor([[4., 6.],\n        [4., 6.]], grad_fn=<MmBackward0>)\n"
    assert found.err == f"UserWarning: {tmp_path}/w.npy: float64 is read as float32; --dtype float64 keeps it\n"
    assert cli("eval", "w.dtype", f"w:=@{tmp_path}/w.npy", "--dtype", "float64").out == "torch.float64\n"


def test_json_is_written_and_read(cli, tmp_path) -> None:
    assert cli("eval", "x * 0.1", "x=[[1,2],[3,4]]", "-o", f"{tmp_path}/w.json").code == 0
    found = cli("eval", "w", f"w:=@{tmp_path}/w.json")
    assert found.out == "tensor([[0.1000, 0.2000],\n        [0.3000, 0.4000]])\n"
    assert not found.err


def test_files(cli, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,b\n1,2\n3,4\n")
    np.save(tmp_path / "w.npy", np.arange(3))
    assert cli("eval", "d", f"d=@{tmp_path}/d.csv").out == "tensor([[1., 2.],\n        [3., 4.]], requires_grad=True)\n"
    assert cli("eval", "d", f"d=@{tmp_path}/d.csv:b").out == "tensor([2., 4.], requires_grad=True)\n"
    assert cli("eval", "w", f"w=@{tmp_path}/w.npy").out == "tensor([0., 1., 2.], requires_grad=True)\n"
    assert cli("eval", "w", f"w:=@{tmp_path}/w.npy").out == "tensor([0, 1, 2])\n"
    assert cli("eval", "d", "d=@-", stdin=b"1\n2\n").out == "tensor([[1.],\n        [2.]], requires_grad=True)\n"


def test_expression_from_a_file(cli, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("x + 1\n")
    assert cli("eval", "-f", f"{tmp_path}/e.txt", "x=1").out == "tensor(2., grad_fn=<AddBackward0>)\n"
    assert cli("eval", "-f", "-", "x=1", stdin=b"x * 3\n").out == "tensor(3., grad_fn=<MulBackward0>)\n"
    missing = cli("eval", "-f", f"{tmp_path}/none", "x=1")
    assert (missing.code, missing.err) == (1, f"DataError: cannot read {tmp_path}/none: No such file or directory\n")


def test_formats(cli) -> None:
    assert cli("eval", "x*2", "x=1,2", "--format", "plain").out == "2.0 4.0\n"
    assert cli("eval", "x*2", "x=1,2", "--format", "csv").out == "index,value\n0,2.0\n1,4.0\n"
    assert json.loads(cli("eval", "x*2", "x=1,2", "--json").out) == {
        "gradcli": 1,
        "ok": True,
        "expression": "x*2",
        "value": [2.0, 4.0],
        "shape": [2],
        "dtype": "float32",
        "grad_fn": "MulBackward0",
        "requires_grad": True,
    }
    assert json.loads(cli("eval", "(1, 'a', x)", "x=1", "--json").out)["value"] == [1, "a", 1.0]
    assert json.loads(cli("eval", "log(x)", "x=0,-1", "--json").out)["value"] == ["-inf", "nan"]
    assert cli("eval", "x*2", "x=1", "--format", "table").out.splitlines()[-1] == "  out   x*2         ()     MulBackward0  2."


def test_output_file(cli, tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    assert cli("eval", "1+1", "-o", str(target)).out == ""
    assert json.loads(target.read_text())["value"] == 2
    target.write_text("old")
    assert cli("eval", "1+", "-o", str(target)).code == 3
    assert cli("eval", "foo", "-o", str(target)).code == 1
    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json"]
    assert cli("eval", "1", "-o", f"{tmp_path}/no/r.txt").err == f"DataError: cannot write {tmp_path}/no/r.txt: No such file or directory\n"
    assert cli("eval", "1", "-o", f"{tmp_path}/r.svg").code == 2


def test_never_over_an_input(cli, tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("1,2\n")
    answer = cli("eval", "d*2", f"d=@{data}", "-o", str(data))
    assert answer.code == 1 and "is an input of this command" in answer.err
    assert data.read_text() == "1,2\n"


def test_columns_of_a_table_by_name(cli) -> None:
    table = b"x,name,y\n1,a,2\n3,b,4\n"
    answer = cli("eval", "d.x, d['y']", "d:=@-", stdin=table)
    assert answer.out == "(tensor([1., 3.]), tensor([2., 4.]))\n"
    assert answer.err == "UserWarning: -: left out, because it is text: name\n"
    assert "the columns are x, y" in cli("eval", "d.z", "d:=@-", "-q", stdin=table).err
    assert cli("eval", "d['z']", "d:=@-", "-q", stdin=table).err.startswith("KeyError: 'z'\n")
    found = cli("grad", "(d.x*d.y).sum()", "d=@-", "-q", "--format", "csv", stdin=table)
    assert found.out == "name,index,value,grad\nd,0 0,1.0,2.0\nd,0 1,2.0,1.0\nd,1 0,3.0,4.0\nd,1 1,4.0,3.0\n"


def test_a_table_has_the_default_dtype(cli) -> None:
    words = ["(d[:,:1] @ w).sum()", "w=[2.]", "d:=@-"]
    assert cli("eval", *words, stdin=b"1,2\n3,4\n").out == "tensor(8., grad_fn=<SumBackward0>)\n"
    assert cli("eval", "d.dtype", "d:=@-", "--dtype", "float64", stdin=b"1,2\n").out == "torch.float64\n"


def test_missing_numbers_and_separators(cli) -> None:
    table = b"x;y\n1;2\n3;\n"
    answer = cli("eval", "d", "d:=@-", stdin=table)
    assert answer.err.splitlines()[1:] == [
        "  try   gradcli eval d d:=@- --missing drop  (without such rows)",
        "        gradcli eval d d:=@- --missing nan   (with nan there)",
    ]
    assert cli("eval", "d", "d:=@-", "--missing", "nan", stdin=table).out == "tensor([[1., 2.],\n        [3., nan]])\n"
    assert cli("eval", "d", "d:=@-", "--missing", "drop", stdin=table).out == "tensor([[1., 2.]])\n"
    assert cli("eval", "d", "d:=@-", "--separator", "tab", stdin=b"1\t2\n").out == "tensor([[1., 2.]])\n"
    assert cli("eval", "d", "d:=@-", "--separator", "ab", stdin=b"1\t2\n").code == 2


def test_how_many_points_is_a_whole_number(cli) -> None:
    answer = cli("eval", "x", "x=1..5:2.5")
    assert (answer.code, answer.err.splitlines()[0]) == (3, "SyntaxError: LO..HI:N takes how many points, a whole number, not 2.5")
