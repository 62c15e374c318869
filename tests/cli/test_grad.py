"""`gradcli grad`: exact output."""

from __future__ import annotations

import json

import numpy as np
import pytest

X = "x=[-1.2301, 0.5498, -1.7590]"


def test_the_main_job(cli) -> None:
    answer = cli("grad", "mean((x+2)*(x+2)*2)", X)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (
        "  name  expression           shape  grad_fn         value                        gradient\n"
        "  ───────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "  out   mean((x+2)*(x+2)*2)  ()     MeanBackward0   4.7682                       1.\n"
        "  x     leaf                 (3,)   AccumulateGrad  [-1.2301,  0.5498, -1.7590]  [1.0265, 3.3997, 0.3213]\n"
    )


def test_a_matrix(cli) -> None:
    assert cli("grad", "mean((x+2)*(x+2)*2)", "x=[[1,2],[3,4]]").out == (
        "  name  expression           shape   grad_fn         value       gradient\n"
        "  ─────────────────────────────────────────────────────────────────────────\n"
        "  out   mean((x+2)*(x+2)*2)  ()      MeanBackward0   43.         1.\n"
        "  x     leaf                 (2, 2)  AccumulateGrad  [[1., 2.],  [[3., 4.],\n"
        "                                                      [3., 4.]]   [5., 6.]]\n"
    )


def test_repr(cli) -> None:
    assert cli("grad", "mean((x+2)*(x+2)*2)", "x=[[1,2],[3,4]]", "--format", "repr").out == (
        "out = tensor(43., grad_fn=<MeanBackward0>)\nx.grad = tensor([[3., 4.],\n        [5., 6.]])\n"
    )


def test_a_vector(cli) -> None:
    words = ["grad", "(x+2)*(x+2)*2", X, "-v", "[0.1, 1.0, 0.01]"]
    assert "[ 0.3080, 10.1992,  0.0096]" in cli(*words).out
    assert cli(*words, "--format", "repr").out.splitlines()[-1] == "x.grad = tensor([3.0796e-01, 1.0199e+01, 9.6400e-03])"


def test_the_ways_out(cli) -> None:
    answer = cli("grad", "x**2", "x=1,2,3")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == (
        "RuntimeError: grad can be implicitly created only for scalar outputs\n"
        "  x**2\n"
        "  ^^^^ this has shape (3,); backward needs one weight per element\n"
        "  try   gradcli grad 'x**2' x=1,2,3 -v 1,1,1  (weights v: computes v^T J)\n"
        "        gradcli grad '(x**2).sum()' x=1,2,3   (the same gradient)\n"
        "        gradcli jacobian 'x**2' x=1,2,3       (the whole matrix)\n"
    )


def test_the_ways_out_work_as_typed(cli) -> None:
    gradient = cli("grad", "(x**2).sum()", "x=1,2,3").out.splitlines()[-1].split("  ")[-1]
    assert cli("grad", "x**2", "x=1,2,3", "-v", "1,1,1").out.splitlines()[-1].endswith(gradient)


def test_one_gradient_for_each_vector(cli) -> None:
    answer = cli("grad", "x*x", "x=1,2,3", "-v", "1,0,0", "-v", "0,1,0", "--format", "repr")
    assert answer.out == (
        "out = tensor([1., 4., 9.], grad_fn=<MulBackward0>)\nx.grad[0] = tensor([2., 0., 0.])\nx.grad[1] = tensor([0., 4., 0.])\n"
    )


def test_several_vectors_see_one_forward_pass(cli) -> None:
    rows = cli("grad", "x*randn(3)", "x=1,2,3", "-v", "ones(3)", "-v", "ones(3)", "--format", "csv").out.splitlines()[1:]
    assert all(row.split(",")[-1] == row.split(",")[-2] for row in rows)


def test_a_vector_may_begin_with_a_minus(cli) -> None:
    assert cli("grad", "x*x", "x=1,2", "-v", "-1,2", "--format", "csv").out == "name,index,value,grad\nx,0,1.0,-2.0\nx,1,2.0,8.0\n"


def test_a_vector_of_the_wrong_shape(cli) -> None:
    answer = cli("grad", "x*x", "x=1,2", "-v", "1,2,3")
    assert answer.code == 1
    assert answer.err.startswith(
        "RuntimeError: Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([2]).\n"
    )


def test_intermediates_in_backward_order(cli) -> None:
    answer = cli("grad", "mean((x+2)*(x+2)*2)", "x=[[1,2],[3,4]]", "--all")
    assert answer.out == (
        "  name  expression           shape   grad_fn         value         gradient\n"
        "  ───────────────────────────────────────────────────────────────────────────────────\n"
        "  out   mean((x+2)*(x+2)*2)  ()      MeanBackward0   43.           1.\n"
        "  #4    (x+2)*(x+2)*2        (2, 2)  MulBackward0    [[18., 32.],  [[0.2500, 0.2500],\n"
        "                                                      [50., 72.]]   [0.2500, 0.2500]]\n"
        "  #3    (x+2)*(x+2)          (2, 2)  MulBackward0    [[ 9., 16.],  [[0.5000, 0.5000],\n"
        "                                                      [25., 36.]]   [0.5000, 0.5000]]\n"
        "  #2    x+2                  (2, 2)  AddBackward0    [[3., 4.],    [[1.5000, 2.0000],\n"
        "                                                      [5., 6.]]     [2.5000, 3.0000]]\n"
        "  #1    x+2                  (2, 2)  AddBackward0    [[3., 4.],    [[1.5000, 2.0000],\n"
        "                                                      [5., 6.]]     [2.5000, 3.0000]]\n"
        "  x     leaf                 (2, 2)  AccumulateGrad  [[1., 2.],    [[3., 4.],\n"
        "                                                      [3., 4.]]     [5., 6.]]\n"
    )


def test_wrt_chooses_variables(cli) -> None:
    words = ["grad", "((w*d[:,0]+b-d[:,1])**2).mean()", "d=@-", "w=1", "b=0", "--wrt", "w,b", "--format", "csv"]
    answer = cli(*words, stdin=b"x,y\n1,2\n2,4.1\n3,5.9\n")
    assert answer.out == "name,index,value,grad\nw,,1.0,-9.266666412353516\nb,,0.0,-4.0\n"


def test_wrt_of_an_unknown_name(cli) -> None:
    answer = cli("grad", "x", "x=1", "--wrt", "y")
    assert (answer.code, answer.err) == (2, "UsageError: --wrt names 'y', which is not given; there is x\n")


def test_a_variable_that_is_not_used(cli) -> None:
    lines = cli("grad", "x*x", "x=3", "y=1", "--format", "repr").out.splitlines()
    assert lines == ["out = tensor(9., grad_fn=<MulBackward0>)", "x.grad = tensor(6.)", "y.grad = None"]


def test_nothing_to_differentiate(cli) -> None:
    answer = cli("grad", "2*3")
    assert answer.code == 1
    assert answer.err.startswith("RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn\n")
    assert cli("grad", "n*2.5", "n:=2,3").code == 1


def test_the_variable_itself(cli) -> None:
    assert cli("grad", "x", "x=3", "--format", "repr").out == "out = tensor(3., requires_grad=True)\nx.grad = tensor(1.)\n"


def test_double_precision(cli) -> None:
    content = json.loads(cli("grad", "sin(x)", "x=0.1", "--dtype", "float64", "--json").out)
    assert content["output"]["dtype"] == "float64"
    assert content["variables"]["x"]["value"] == 0.1
    assert content["variables"]["x"]["grad"] == pytest.approx(np.cos(0.1), abs=1e-16)


def test_precision(cli) -> None:
    lines = cli("grad", "sin(x)", "x=0.1", "--precision", "7", "--format", "repr").out.splitlines()
    assert lines == ["out = tensor(0.0998334, grad_fn=<SinBackward0>)", "x.grad = tensor(0.9950042)"]


def test_cells_are_scientific_for_very_small_and_large_numbers_only(cli) -> None:
    def gradient(value: str) -> str:
        return cli("grad", "(x*w).sum()", "x=1,1", f"w:={value}", "--format", "table").out.splitlines()[-1].split("1.]")[1].strip()

    assert gradient("999999,0.5") == "[999999.0000,      0.5000]"
    assert gradient("1000000,0.5") == "[1.0000e+06, 5.0000e-01]"
    assert gradient("0.0001,1") == "[9.9999e-05, 1.0000e+00]" or gradient("0.00011,1") == "[0.0001, 1.0000]"
    assert gradient("0.00009,1") == "[9.0000e-05, 1.0000e+00]"


def test_long_tensors_are_summarised(cli) -> None:
    answer = cli("grad", "sum(x)", "x=arange(2000)")
    assert answer.out.splitlines()[-1].endswith("[   0.,    1.,    2.,  ..., 1997., 1998., 1999.]  [1., 1., 1.,  ..., 1., 1., 1.]")
