"""Explanations: names, texts, how each gradient came, and that what they say is true."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

import numpy as np
import pytest

from gradcli.core.functions import catalog
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, UsageError
from gradcli.results.explanations import Arithmetic
from gradcli.results.values import TensorValue
from gradcli.source import Source
from tests import casebook
from tests.analysis.formula_samples import SAMPLES
from tests.analysis.looking import explain, recomputed, rows, script, session
from tests.conformance import harness

CASES: dict[str, dict[str, Any]] = json.loads((harness.HERE / "explain.json").read_text())


def of_case(case: dict[str, Any]) -> Any:
    variables = {name: json.dumps(value) for name, value in case["variables"].items()}
    return explain(case["expression"], variables, json.dumps(case["vector"]) if case["vector"] else None)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_node_by_node_as_retain_grad_recorded_it(case: dict[str, Any]) -> None:
    told = of_case(case)
    steps = [step for step in reversed(told.steps) if not step.is_leaf]
    assert [step.grad_fn for step in steps] == [recorded["grad_fn"] for recorded in case["steps"]]
    for step, recorded in zip(steps, case["steps"], strict=True):
        (made,) = step.outputs
        assert list(made.shape) == recorded["shape"]
        assert made.value is not None and made.gradient is not None
        np.testing.assert_allclose(made.value.array, recorded["value"], rtol=1e-6)
        np.testing.assert_allclose(made.gradient.array, recorded["grad"], rtol=2e-6, atol=1e-8)
    for step in told.steps:
        if step.is_leaf:
            (made,) = step.outputs
            assert made.gradient is not None
            np.testing.assert_allclose(made.gradient.array, case["leaves"][step.name]["grad"], rtol=2e-6)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_is_said_gives_the_gradient(case: dict[str, Any]) -> None:
    told = of_case(case)
    for step in told.steps:
        for made in step.outputs:
            found = recomputed(told, made.name, {})
            if found is not None:
                assert made.gradient is not None
                np.testing.assert_allclose(found, made.gradient.array, rtol=1e-5, atol=1e-7, err_msg=f"{made.name}: {made.came}")


TRUE = [
    ("(2/x + x/2 - 3/x**2).sum()", {"x": "1,2,3"}),
    ("((1 - x) * (x - 1) * 3).mean()", {"x": "1.5,2"}),
    ("((x - y) * c / (y + 1)).sum()", {"x": "[[1,2],[3,4]]", "y": "5,6", "c:": "tensor([2., 3.])"}),
    ("(x @ w).tanh().sum() + w.abs().max()", {"x": "[[1,2],[3,4]]", "w": "[[0.1],[-0.2]]"}),
    ("where(x > 1, x * 2, -x).sum()", {"x": "0,1,2"}),
    ("exp(-x**2 / 2).sum() * x.prod()", {"x": "0.5,1.5"}),
    ("clamp(x, min=0.5).log().sum()", {"x": "0.2,2"}),
    ("x[0] * x[1] ** x[2]", {"x": "1.5,2,0.5"}),
    ("logsumexp(x, 0) - x.mean() + (x.t() * 2).sum()", {"x": "1,2"}),
]


@pytest.mark.parametrize(("expression", "variables"), TRUE, ids=[expression for expression, _ in TRUE])
def test_what_is_said_is_true(expression: str, variables: dict[str, str]) -> None:
    told = explain(expression, variables)
    constants = {name.removesuffix(":"): value for name, value in variables.items() if name.endswith(":")}
    checked = 0
    for step in told.steps:
        for made in step.outputs:
            found = recomputed(told, made.name, constants)
            if found is not None:
                checked += 1
                assert made.gradient is not None
                np.testing.assert_allclose(found, made.gradient.array, rtol=1e-5, atol=1e-6, err_msg=f"{made.name}: {made.came}")
    assert checked >= len(told.steps) // 2


def test_the_expression_of_the_readme() -> None:
    assert rows(explain("mean((x+2)*(x+2)*2)", {"x": "[[1,2],[3,4]]"})) == {
        "#5": ("mean(#4)", "start"),
        "#4": ("#3*2", "grad(#5) / 4"),
        "#3": ("#1*#2", "grad(#4) * 2"),
        "#2": ("x+2", "grad(#3) * #1"),
        "#1": ("x+2", "grad(#3) * #2"),
        "x": ("leaf", "grad(#1) + grad(#2)"),
    }


def test_what_broadcasting_summed_away() -> None:
    told = rows(explain("sum(a*b+c)", {"a": "[[1],[2]]", "b": "1,2,3", "c": "0"}))
    assert told["a"][1] == "grad(#1) * b, summed over dim 1"
    assert told["b"][1] == "grad(#1) * a, summed over dim 0"
    assert told["c"][1] == "grad(#2), summed"


def test_several_steps_of_one_text() -> None:
    told = rows(explain("2 / (x + 3)", {"x": "1"}))
    assert told["#3"] == ("2 / #1", "start")
    assert told["#2"] == ("reciprocal(#1) in 2 / #1", "grad(#3) * 2")
    assert told["#1"] == ("x + 3", "-grad(#2) * #2**2")


def test_copies_within_one_operation_are_left_out() -> None:
    told = rows(explain("w @ x", {"w": "[[[1,2],[3,4]]]", "x": "[[[1,2],[1,2]]]"}, "[[[1,1],[1,1]]]"))
    assert told == {"#1": ("w @ x", "start, the weights v"), "w": ("leaf", "grad(#1) @ x.mT"), "x": ("leaf", "w.mT @ grad(#1)")}


def test_attention_reads_as_its_formula() -> None:
    three = "[[[1,2],[3,4]]]"
    told = rows(explain("F.scaled_dot_product_attention(q, k, v, scale=0.25).sum()", {"q": three, "k": three, "v": three}))
    steps = [expression.partition(" in ")[0] for expression, _ in told.values()]
    assert steps[2:7] == ["softmax(#4)", "#1 @ #3", "#2 * 0.5", "transpose(k)", "q * 0.5"]
    assert told["#5"][1] == "grad(#6) @ v.mT"
    assert told["v"][1] == "#5.mT @ grad(#6)"


def test_an_expanded_operand_is_the_operand() -> None:
    told = rows(explain("F.normalize(x, dim=0).sum()", {"x": "3,4"}))
    assert told["#3"][0] == "F.normalize(x, dim=0)"
    assert told["#2"] == ("clamp_min(#1) in F.normalize(x, dim=0)", "-grad(#3) * x / #2**2, summed")
    assert told["#1"][1] == "where(#1 >= 1e-12, grad(#2), 0)"


def test_a_copy_that_the_text_names_stays() -> None:
    told = rows(explain("(x.clone() * 2).sum()", {"x": "1,2"}))
    assert told["#1"] == ("x.clone()", "grad(#2) * 2")


def test_chained_steps_of_one_call_are_inner_where_its_names_are_leaves() -> None:
    text = """
        import torch
        from torch import nn
        m = nn.MultiheadAttention(4, 2)
        x = torch.ones(3, 4, requires_grad=True)
        y = m(x, x, x)[0].sum()
    """
    told = rows(script(textwrap.dedent(text), "y"))
    assert not [expression for expression, _ in told.values() if re.search(r"\bm\([^)]*#", expression)]


def test_a_constant_inside_of_a_module_has_its_name() -> None:
    text = "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\nX = torch.ones(3, 2)\ny = net(X).sum()\n"
    told = rows(script(text, "y"))
    assert told["#1"] == ("t(net.weight) in net(X)", "X.t() @ grad(#2)")
    assert told["net.bias"] == ("leaf", "grad(#2), summed over dim 0")


def test_a_list_by_name_is_not_one_of_its_tensors() -> None:
    text = "import torch\nx = torch.ones(2, requires_grad=True)\nparts = [x * 2, x * 3]\ny = torch.stack(parts).sum()\n"
    assert rows(script(text, "y"))["#3"][0] == "torch.stack(parts)"
    assert rows(explain("stack([x * 2, x * 3]).sum()", {"x": "1,2"}))["#3"][0] == "stack([#1, #2])"


def test_parentheses_of_calls_stay_and_others_go() -> None:
    told = rows(explain("sum(((x+1)) * (2*(x+1)).exp())", {"x": "1"}))
    assert [told[f"#{k}"][0] for k in (3, 4, 5, 6)] == ["2*#2", "#3.exp()", "#1 * #4", "sum(#5)"]


LOOP = """
import torch
x = torch.tensor([1., 2.], requires_grad=True)
w = torch.tensor(0.5, requires_grad=True)
h = x
for i in range(3):
    h = h * w
loss = (1 - h).sum()
loss.backward()
with torch.no_grad():
    w -= 0.1 * w.grad
    x.zero_()
"""


def test_a_script_with_a_loop_that_has_freed_its_graph() -> None:
    told = script(LOOP, "loss")
    assert rows(told)["#3"] == ("#2 * w", "-grad(#4)")
    assert rows(told)["#4"] == ("1 - #3", "grad(#5)")
    values = {step.name: step.outputs[0] for step in told.steps}
    # the values of the forward pass, not those after the script's own optimiser step
    assert values["w"].value is not None and values["w"].value.array == 0.5
    np.testing.assert_allclose(values["x"].gradient.array, [-0.125, -0.125])  # type: ignore[union-attr]
    np.testing.assert_allclose(values["w"].gradient.array, -3 * 0.25 * 3)  # type: ignore[union-attr]
    assert [step.variable for step in told.steps][:4] == ["loss", "", "h", "h"]


def test_in_place_writes() -> None:
    told = script("import torch\nx = torch.ones(3, requires_grad=True)\ny = x * 2\ny[0] = 5.\ny[1:] *= x[1:]\nz = y.sum()\n", "z")
    by_fn = {step.grad_fn: step for step in told.steps}
    assert by_fn["CopySlices"].expression.endswith("written")
    leaf = told.steps[-1].outputs[0]
    assert leaf.gradient is not None and leaf.gradient.array.tolist() == [0.0, 4.0, 4.0]
    assert all(made.value is not None for step in told.steps for made in step.outputs)


def test_several_outputs() -> None:
    told = rows(explain("(x.unbind()[0] * 2 + x.unbind()[1]).sum()", {"x": "[[1,2],[3,4]]"}))
    assert told["#1[0]"] == ("x.unbind()", "grad(#2) * 2")
    assert told["#1[1]"] == ("x.unbind()", "no gradient: nothing uses this output")


def test_a_hook_is_mentioned() -> None:
    text = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 3\ny.register_hook(lambda g: g * 10)\nz = y.sum()\n"
    told = script(text, "z")
    assert rows(told)["#1"][1] == "grad(#2), then changed by a hook"
    leaf = told.steps[-1].outputs[0]
    assert leaf.gradient is not None and leaf.gradient.array.tolist() == [30.0, 30.0]


def test_steps_of_a_gradient_say_so() -> None:
    text = "import torch\nx = torch.tensor(2., requires_grad=True)\ny = x ** 3\ng, = torch.autograd.grad(y, x, create_graph=True)\n"
    told = script(text, "g")
    assert told.steps[0].grad_fn == "MulBackward0"
    assert told.steps[0].expression.endswith("in the gradient of x ** 3")


def test_nothing_of_the_program_changes() -> None:
    text = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 3\ny.retain_grad()\nz = y.sum()\n"
    one = session()
    one.run(Source("lesson.py", text))
    told = one.explain("z")
    assert told.steps[0].grad_fn == "SumBackward0"
    assert one.evaluate(Source("<expression>", "(x.grad, y.grad)")).value.repr() == "(None, None)"
    assert rows(one.explain("z.exp()"))["#3"][0] == "#2.exp()"


# --- why there is none ---


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("n = torch.tensor([1, 2])\ny = (x * n).sum()", "n: int64 cannot require grad, only floating-point tensors can"),
        ("d = x.detach()\nc = torch.ones(2, requires_grad=True)\ny = (c * d).sum()", "x: cut off here: x.detach() (line 3)"),
        (
            "c = torch.ones(2, requires_grad=True)\nwith torch.no_grad():\n    m = x * 2\ny = (c * m).sum()",
            "x: cut off here: m = x * 2 (line 5)",
        ),
        ("c = torch.ones(2, requires_grad=True)\ny = c.sum()", "x: no path leads from the result to it"),
        ("h = x * 2\ny = h.sum()", "h: not a leaf, so .grad stays None without retain_grad(); the gradient is in the table"),
        ("k = torch.ones(2)\ny = (k * x).sum()", "k: does not require grad (requires_grad=True when it is made, or NAME=VALUE)"),
    ],
)
def test_why_a_gradient_is_none(text: str, note: str) -> None:
    told = script(f"import torch\nx = torch.ones(2, requires_grad=True)\n{text}\n", "y")
    assert note in told.notes


def test_a_result_without_graph_points_at_the_cut() -> None:
    with pytest.raises(ProgramError) as caught:
        explain("x.detach() * 2", {"x": "1"})
    assert caught.value.span is not None and caught.value.span.text == "x.detach()"
    assert caught.value.labels[0].text == "x is cut off here"


def test_of_names_what_there_is() -> None:
    with pytest.raises(UsageError, match="--of q: the script has no such name"):
        script("x = 1\n", "q")


# --- everything at once ---


def test_full_arithmetic() -> None:
    told = explain("(x*2).sum()", {"x": "1,2"}, full=True)
    by_name = {step.name: step for step in told.steps}
    assert by_name["#1"].arithmetic[0] == Arithmetic("x*2", "[1., 2.]*2", "[2., 4.]")
    assert by_name["x"].outputs[0].arithmetic[0] == Arithmetic("grad(#1) * 2", "(all 1.) * 2", "all 2.")


@pytest.mark.slow
def test_a_long_graph_is_summarised() -> None:
    told = script("import torch\nx = torch.ones(1, requires_grad=True)\nfor i in range(3000):\n    x = x * 2\n", "x")
    assert told.total == 3001
    assert len(told.steps) == 2000
    assert told.notes[0] == "the newest 2,000 of 3,001 steps; 1,001 older ones are left out"
    text = "import torch\nw = torch.ones(1, requires_grad=True)\nx = w\nfor i in range(3000):\n    x = x * 2\n"
    assert not any("no path leads" in note for note in script(text, "x").notes)


@pytest.mark.slow
def test_what_is_said_is_true_of_recorded_scripts() -> None:
    """Of the last value with a graph in each random program, every formula that is shown evaluates to the gradient."""
    checked = words = 0
    programs = [case for book in casebook.books() if book.stem.startswith("fz") for case in casebook.read(book).cases]
    for case in programs[::2]:
        one = session()
        source = Source(case.place, case.script)
        one.run(source)
        tensors = {n: v for n, v in one._interpreter.variables.items() if type(v) is Tensor}
        name = [n for n, v in tensors.items() if v.node is not None][-1]
        weights = "ones(())" if not tensors[name].array.ndim else f"ones({', '.join(map(str, tensors[name].array.shape))})"
        try:
            told = session().explain(source, weights, of=name)
        except ProgramError as error:
            assert "modified by an inplace operation" in error.message
            continue
        known = {n: f"tensor({v.tolist()})" for n, v in tensors.items() if not v.requires_grad}
        for step in told.steps:
            for made in step.outputs:
                found = recomputed(told, made.name, known)
                if made.gradient is None or not np.isfinite(made.gradient.array).all():
                    continue
                if found is None:
                    words += not made.came.startswith("start")
                    continue
                checked += 1
                size = np.abs(made.gradient.array).max(initial=1.0)
                where = f"{case.place} {made.name}: {made.came}"
                np.testing.assert_allclose(found, made.gradient.array, rtol=1e-3, atol=1e-5 * size, err_msg=where)
    # a few formulas name tensors that are gone, or describe a part in words
    assert checked > 20 * words


@pytest.mark.slow
def test_what_is_said_is_true_of_every_operation() -> None:
    """The explanation of every sample call evaluates to the gradient."""
    checked, unsaid = 0, []
    for sample in [*(sample for function in catalog.all_functions() for sample in function.samples), *SAMPLES]:
        variables = {name: re.sub(r"\b(nan|inf)\b", r"float('\1')", str(value)) for name, value in sample.inputs.items()}
        value = session(variables, dtype="float64").evaluate(Source("<sample>", sample.text)).value
        if not isinstance(value, TensorValue):
            continue
        try:
            told = session(variables, dtype="float64").explain(Source("<sample>", sample.text), f"ones({value.array.shape})")
        except ProgramError as error:
            assert re.search("does not require grad|is not implemented", error.message)
            continue
        for step in told.steps:
            for made in step.outputs:
                found = recomputed(told, made.name, {})
                if found is not None and made.gradient is not None:
                    checked += 1
                    where = f"{sample.text} {made.name}: {made.came}"
                    np.testing.assert_allclose(found, made.gradient.array, rtol=1e-6, atol=1e-8, err_msg=where)
                elif made.gradient is not None and not made.came.startswith(("start", "no gradient")):
                    unsaid.append((sample.text, made.came))
    # an array that is long and has no name is described in words
    assert checked > 2500 and len(unsaid) * 50 < checked, unsaid


def test_the_gradient_of_a_gradient_bears_no_forward_text() -> None:
    """Values that backward makes under create_graph are described as gradients; they do not get the text of forward values."""
    text = """\
import torch
a = torch.tensor(2., requires_grad=True)
b = torch.tensor(3., requires_grad=True)
z = a * b * a
g, = torch.autograd.grad(z, a, create_graph=True)
loss = g * g
"""
    told = script(text, "loss")
    steps = {step.name: (step.variable, step.expression) for step in told.steps}
    assert steps["#1"] == ("", "a * b")
    assert steps["#3"] == ("", "mul(#1) in the gradient of a * b * a")
    assert steps["#4"] == ("", "mul(#2, b) in the gradient of a * b")
    assert steps["#5"] == ("g", "add(#3, #4) in the gradient of a * b")
    assert rows(told)["a"] == ("leaf", "grad(#1) * b + grad(#2)")


def test_the_parts_of_a_list() -> None:
    told = script(
        "import torch\nws = [torch.tensor(float(i), requires_grad=True) for i in range(3)]\ny = torch.stack([w * 2 for w in ws]).sum()", "y"
    )
    found = rows(told)
    assert found["#4"][0] == "torch.stack([w * 2 for w in ws])"
    assert found["#2"] == ("w * 2", "grad(#4).select(0, 1)")
    told = script("import torch\nx = torch.ones(2, 2, requires_grad=True)\ny = sum([row.sum() for row in x])", "y")
    assert rows(told)["#1[0]"][0] == "unbind(x)"


def test_another_name_of_a_variable_has_its_gradient() -> None:
    told = script("import torch\nw1 = torch.ones(2, requires_grad=True)\nfor w in [w1]:\n    y = (w * 3).sum()", "y")
    assert not any("no path" in note for note in told.notes)


def test_what_a_block_without_recording_made() -> None:
    text = "import torch\nx = torch.ones(2, requires_grad=True)\nwith torch.no_grad():\n    k = x.sum()\ny = (x * k).sum()"
    assert "k: made where nothing is recorded: k = x.sum() (line 4)" in script(text, "y").notes


def test_augmented_assignments_read_as_what_they_give() -> None:
    told = script("import torch\nx = torch.tensor(2., requires_grad=True)\nt = x * 1\nfor i in range(2):\n    t += x\ny = t * 2", "y")
    assert [(step.variable, step.expression) for step in told.steps if step.grad_fn == "AddBackward0"] == [("t", "#2 + x"), ("t", "#1 + x")]


def test_a_sum_where_there_is_no_scalar() -> None:
    told = explain("x * 2", {"x": "1,2"}, summed=True)
    assert rows(told)["x"][1] == "grad(#1) * 2"
    assert told.notes[-1] == "gradients of the sum of this value, as it is no scalar"
