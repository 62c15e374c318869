"""`gradcli jacobian` and `gradcli hessian`: exact output, several variables, every format."""

from __future__ import annotations

import json

import numpy as np
import pytest

ROSENBROCK = "(1-x)**2 + 100*(y-x**2)**2"


def test_jacobian(cli) -> None:
    answer = cli("jacobian", "x**2", "x=1,2,3")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (
        "  name  expression  shape  grad_fn         value         jacobian\n"
        "  ─────────────────────────────────────────────────────────────────────\n"
        "  out   x**2        (3,)   PowBackward0    [1., 4., 9.]\n"
        "  x     leaf        (3,)   AccumulateGrad  [1., 2., 3.]  [[2., 0., 0.],\n"
        "                                                          [0., 4., 0.],\n"
        "                                                          [0., 0., 6.]]\n"
    )


def test_a_block_for_each_variable(cli) -> None:
    words = ["jacobian", "A @ x + b", "A=[[1,2],[3,4]]", "x=1,2", "b=0,0"]
    assert cli(*words, "--wrt", "x,b", "--format", "repr").out == (
        "jacobian[x] = tensor([[1., 2.],\n        [3., 4.]])\njacobian[b] = tensor([[1., 0.],\n        [0., 1.]])\n"
    )
    found = json.loads(cli(*words, "--json").out)["jacobian"]
    assert {name: block["shape"] for name, block in found.items()} == {"A": [2, 2, 2], "x": [2, 2], "b": [2, 2]}
    assert found["A"]["value"] == [[[1, 2], [0, 0]], [[0, 0], [1, 2]]]


def test_jacobian_formats(cli) -> None:
    words = ["jacobian", "x*y", "x=1,2", "y=3"]
    assert cli(*words, "--format", "plain").out == ("jacobian[x]\t3.0 0.0\njacobian[x]\t0.0 3.0\njacobian[y]\t1.0 2.0\n")
    assert cli(*words, "--format", "csv").out == (
        "row,row_index,column,column_index,jacobian\n"
        "out,0,x,0,3.0\nout,0,x,1,0.0\nout,1,x,0,0.0\nout,1,x,1,3.0\nout,0,y,,1.0\nout,1,y,,2.0\n"
    )


def test_what_does_not_depend_gives_zeros(cli) -> None:
    assert cli("jacobian", "x*2", "x=1", "y=1,2", "--format", "repr").out == "jacobian[x] = tensor(2.)\njacobian[y] = tensor([0., 0.])\n"
    assert cli("jacobian", "x.detach()", "x=1,2", "--format", "plain").out == "jacobian[x]\t0.0 0.0\njacobian[x]\t0.0 0.0\n"


def test_through_what_is_bound_to_an_expression(cli) -> None:
    assert cli("jacobian", "x*y", "x=2", "y:=x*3", "--format", "plain").out == "jacobian[x]\t12.0\n"
    assert cli("hessian", "x*y", "x=2", "y:=x*x", "--format", "plain").out == "hessian[x, x]\t12.0\n"


def test_jacobian_agrees_with_the_gradient(cli) -> None:
    words = ["softmax(x, 0)", "x=1,2,0.5", "--dtype", "float64", "--json"]
    matrix = np.array(json.loads(cli("jacobian", *words).out)["jacobian"]["x"]["value"])
    gradient = json.loads(cli("grad", *words, "-v", "1,10,100").out)["variables"]["x"]["grad"]
    np.testing.assert_allclose(np.array([1, 10, 100]) @ matrix, gradient, rtol=1e-12)


def test_hessian(cli) -> None:
    assert cli("hessian", ROSENBROCK, "x=-1.2", "y=1", "--with-grad").out == (
        "  name  expression                  shape  grad_fn         value    gradient   hessian x  hessian y\n"
        "  ─────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "  out   (1-x)**2 + 100*(y-x**2)**2  ()     AddBackward0    24.2000     1.\n"
        "  x     leaf                        ()     AccumulateGrad  -1.2000  -215.6000  1330.0001  480.0000\n"
        "  y     leaf                        ()     AccumulateGrad   1.       -88.0000   480.0000  200.\n"
    )
    assert cli("hessian", "(x**3).sum()", "x=1,2").out == (
        "  name  expression    shape  grad_fn         value     hessian\n"
        "  ─────────────────────────────────────────────────────────────────\n"
        "  out   (x**3).sum()  ()     SumBackward0    9.\n"
        "  x     leaf          (2,)   AccumulateGrad  [1., 2.]  [[ 6.,  0.],\n"
        "                                                        [ 0., 12.]]\n"
    )


def test_hessian_formats(cli) -> None:
    words = ["hessian", "x*x*y", "x=2", "y=3"]
    assert cli(*words, "--format", "repr").out == (
        "hessian[x, x] = tensor(6.)\nhessian[x, y] = tensor(4.)\nhessian[y, x] = tensor(4.)\nhessian[y, y] = tensor(0.)\n"
    )
    assert cli(*words, "--format", "repr", "--with-grad", "--wrt", "x").out == (
        "out = tensor(12., grad_fn=<MulBackward0>)\nx.grad = tensor(12.)\nhessian[x, x] = tensor(6.)\n"
    )
    assert cli(*words, "--format", "plain", "--with-grad", "--wrt", "x").out == "out\t12.0\nx.grad\t12.0\nhessian[x, x]\t6.0\n"
    assert cli(*words, "--format", "csv").out.splitlines()[1] == "x,,x,,6.0"
    assert cli(*words, "--format", "csv", "--with-grad", "--wrt", "y").out == (
        "row,row_index,value,grad,column,column_index,hessian\nout,,12.0,1.0,,,\ny,,3.0,4.0,y,,0.0\n"
    )
    found = json.loads(cli(*words, "--json", "--with-grad").out)
    assert found["hessian"]["x"]["y"] == {"value": 4.0, "shape": [], "dtype": "float32"}
    assert (found["output"]["value"], found["variables"]["y"]["grad"]) == (12.0, 4.0)


def test_a_linear_function_has_no_second_derivatives(cli) -> None:
    assert cli("hessian", "2*x", "x=1", "--with-grad", "--format", "plain").out == "out\t2.0\nx.grad\t2.0\nhessian[x, x]\t0.0\n"


def test_hessian_of_what_is_no_scalar(cli) -> None:
    answer = cli("hessian", "x**2", "x=1,2")
    assert answer.code == 1
    assert answer.err.startswith("RuntimeError: The Tensor returned by the function given to hessian should contain a single element\n")
    assert "  try   gradcli hessian '(x**2).sum()' x=1,2\n" in answer.err


def test_nothing_to_differentiate_by(cli) -> None:
    for command in ("jacobian", "hessian", "minimize"):
        answer = cli(command, "x", "x:=3.")
        assert (answer.code, answer.err.splitlines()[0]) == (2, "UsageError: there is nothing to differentiate by")
        assert cli(command, "x", "x=3", "--wrt", "y").code == 2


@pytest.mark.parametrize("words", [["--limit", "elements=8"], ["--limit", "time=0s"]])
def test_limits(cli, words: list[str]) -> None:
    assert cli("jacobian", "x*2", "x=1,2,3", *words).code == 5
