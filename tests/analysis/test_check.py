"""The checker: right rules pass, wrong ones are found and told, kinks are named, the first nan is pointed out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.analysis import adaptive_differences
from gradcli.analysis.check import check
from gradcli.analysis.complex_step import ComplexStep
from gradcli.core.functions import catalog
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule
from gradcli.core.random import generator
from gradcli.core.tensor.tensor import wrap
from gradcli.lang.syntax.parser import parse_expression
from gradcli.results.checks import CheckResult
from gradcli.source import Source
from tests.analysis.looking import session


def checked(expression: str, variables: dict[str, str], vector: str | None = None) -> CheckResult:
    return session(variables, dtype="float64").check(Source("<expression>", expression), vector)


@pytest.mark.parametrize(
    ("expression", "variables"),
    [
        ("mean((x+2)*(x+2)*2)", {"x": "[[1,2],[3,4]]"}),
        ("x**3", {"x": "1,2,-3"}),
        ("logsumexp(w @ x, 0)", {"w": "[[0.1,0.2],[-0.3,0.4]]", "x": "1,2"}),
        ("(1e6*x).sin().sum()", {"x": "1e-7,2e-6"}),
        ("(x*1e-9).exp().sum()", {"x": "1e9,-3e9"}),
        ("log(x).sum()", {"x": "1e-8,1e-3,1e5"}),
        ("x.relu().sum() + x.abs().sum()", {"x": "-1,0.5,1e-7"}),
        ("torch.linalg.inv(a).sum()", {"a": "[[2,1],[1,3]]"}),
        ("sqrt(x).sum()", {"x": "0,1"}),
        ("(x * torch.rand(3)).sum()", {"x": "1,2,3"}),
        ("(x*0).sum()", {"x": "1,2"}),
        ("x.sum()", {"x": "zeros(0)"}),
        ("x", {"x": "1,2"}),
        ("x.view(-1)[1:]", {"x": "[[1,2],[3,4]]"}),
    ],
)
def test_right_rules_pass(expression: str, variables: dict[str, str]) -> None:
    result = checked(expression, variables)
    assert result.passed, result.inputs
    assert all(one.relative < 1e-5 for one in result.inputs)


@pytest.mark.parametrize(
    ("expression", "variables", "exact"),
    [
        ("mean((x+2)*(x+2)*2)", {"x": "[[1,2],[3,4]]"}, True),
        ("sigmoid(w@x+b).log().mean()", {"w": "[[1,2],[3,4]]", "x": "1,2", "b": "0.1"}, True),
        ("(torch.sin(x)*x**-2 - 2**x/3).sum()", {"x": "1,2,-3"}, True),
        ("x.T.exp()", {"x": "[[1,2],[3,4]]"}, True),
        ("x.abs().sum()", {"x": "1,2"}, False),
        ("where(x>0, x, 2*x).sum()", {"x": "1,2"}, False),
        ("(x * rand(2)).sum()", {"x": "1,2"}, False),
    ],
)
def test_complex_steps_where_the_text_is_analytic(expression: str, variables: dict[str, str], exact: bool) -> None:
    result = checked(expression, variables)
    assert result.passed
    assert ("complex steps" in result.conditions) is exact
    if exact:
        assert all(one.relative < 1e-12 for one in result.inputs)


def test_complex_steps_find_what_differences_cannot() -> None:
    """A derivative that is wrong by a part in a million is within the error of differences."""
    x = wrap(np.array([0.3, 1.1]))
    x.requires_grad = True
    rule = Rule(lambda xp, grad, input: grad * xp.cos(input) * (1 + 1e-6), "grad * cos(input)")
    op = Pointwise("SlightlyWrongBackward0", np.sin, "input", input=rule)
    tree = parse_expression(Source("<expression>", "sin(x)"))
    assert check(lambda: op(x), {"x": x}, lambda out: None, "").passed
    result = check(lambda: op(x), {"x": x}, lambda out: None, "", lambda out: ComplexStep(tree, {"x": x}, {}, out.array))
    assert [element.at for element in result.inputs[0].wrong] == [(0,), (1,)]


def test_names_that_follow_a_variable_are_moved_too() -> None:
    looked = session({"x": "2"}, dtype="float64")
    looked.bind("y", "x*3", exact=True)
    result = looked.check(Source("<expression>", "x*y"))
    assert result.passed and result.inputs[0].worst is not None and result.inputs[0].worst.analytic == 12.0


@pytest.mark.parametrize(("expression", "x", "count"), [("abs(x).sum()", "0,1", 1), ("max(x)", "1,1,0", 2), ("norm(x)", "0,0", 2)])
def test_a_kink_is_named_although_the_differences_agree(expression: str, x: str, count: int) -> None:
    result = checked(expression, {"x": x})
    assert result.passed
    assert len(result.inputs[0].kinks) == count
    assert all("chosen: " in one.remark for one in result.inputs[0].kinks)


def test_an_extremum_is_no_kink() -> None:
    assert not checked("(x**2).cos().sum() + x.cosh()[1]", {"x": "0,0"}).inputs[0].kinks


def wrong_sine() -> Any:
    rule = Rule(lambda xp, grad, input: grad * xp.cos(input) * 1.001, "grad * cos(input) * 1.001")
    return Pointwise("WrongBackward0", np.sin, "input", input=rule)


def test_a_wrong_rule_is_found() -> None:
    x = wrap(np.array([0.3, 1.1, np.pi / 2]))
    x.requires_grad = True
    op = wrong_sine()
    result = check(lambda: catalog.function("sum")(op(x)), {"x": x}, lambda out: None, "wrong(x)")
    assert not result.passed
    (one,) = result.inputs
    # at pi/2 the slope is 0, wrong or not
    assert [element.at for element in one.wrong] == [(0,), (1,)]
    assert one.worst is not None and one.worst.at == (0,)
    assert one.worst.analytic == pytest.approx(np.cos(0.3) * 1.001)
    assert one.worst.numeric == pytest.approx(np.cos(0.3), rel=1e-8)
    assert one.absolute == pytest.approx(np.cos(0.3) * 0.001, rel=1e-4)
    assert one.relative == pytest.approx(0.001, rel=1e-2)


def test_a_rule_that_forgets_is_found() -> None:
    x = wrap(np.array(2.0))
    x.requires_grad = True
    op = Pointwise("WrongBackward0", np.square, "input", input=Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad"))
    assert not check(lambda: op(x), {"x": x}, lambda out: None, "").passed


def test_each_output_is_checked_by_itself() -> None:
    result = checked("x**2", {"x": "1,2"})
    assert result.inputs[0].checked == 4
    assert result.inputs[0].worst is not None and result.inputs[0].worst.output is not None
    assert checked("x**2", {"x": "1,2"}, "1,10").inputs[0].checked == 2


@pytest.mark.parametrize(
    ("expression", "value", "words"),
    [
        ("relu(x)", "0", "kink of relu(x) (ReluBackward0): slope 0 to the left, 1 to the right; chosen: 0 at 0"),
        ("F.leaky_relu(x)", "0", "kink of F.leaky_relu(x) (LeakyReluBackward0): slope 0.01 to the left, 1 to the right"),
        ("prelu(x, tensor(0.25))", "0", "slope 0.25 to the left, 1 to the right"),
        ("floor(x)", "3", "kink of floor(x) (FloorBackward0): the value jumps, slope 0 to the left, 0 to the right"),
        ("clamp(x, 0, 1)", "1", "kink of clamp(x, 0, 1)"),
        ("where(x > 1, 2*x, x)", "1", "the value jumps, slope 1 to the left, 2 to the right"),
        ("sin(x).abs()", "0", ""),
    ],
)
def test_kinks_are_named_not_blamed(expression: str, value: str, words: str) -> None:
    result = checked(expression, {"x": value})
    assert result.passed
    (one,) = result.inputs
    if words:
        assert words in one.kinks[0].remark
    else:  # central differences give the subgradient that PyTorch chooses
        assert one.absolute == 0


def test_ties() -> None:
    result = checked("x.max()", {"x": "1,3,3"})
    assert result.passed
    assert not result.inputs[0].wrong  # the mean of the two one-sided slopes is what central differences give
    result = checked("x.max(0).values", {"x": "1,3,3"})
    assert result.passed
    assert [element.at for element in result.inputs[0].kinks] == [(1,), (2,)]
    assert "kink of x.max(0)" in result.inputs[0].kinks[0].remark


def test_a_wrong_choice_at_a_kink_is_blamed() -> None:
    x = wrap(np.array(0.0))
    x.requires_grad = True
    op = Pointwise("WrongBackward0", np.abs, "input", input=Rule(lambda xp, grad: grad * 3, "3 * grad"))
    assert not check(lambda: op(x), {"x": x}, lambda out: None, "").passed


def test_the_masked_branch() -> None:
    result = checked("where(x>1, log(x), 2*x).sum()", {"x": "0,2"})
    assert not result.passed
    (element,) = result.inputs[0].wrong
    assert element.at == (0,) and np.isnan(element.analytic) and element.numeric == pytest.approx(2.0)
    (origin,) = result.origins
    assert (origin.what, origin.grad_fn, origin.line[origin.first : origin.last]) == ("nan", "LogBackward0", "log(x)")
    assert origin.remark == "x[0]=0: branch not taken: grad 0 / x 0 = nan"


def test_a_nan_in_the_value() -> None:
    result = checked("(log(x) * 2).sum()", {"x": "-1,2"})
    (origin,) = result.origins
    assert (origin.what, origin.grad_fn, origin.remark) == ("nan", "LogBackward0", "x[0]=-1: log(-1) = nan")
    assert result.inputs[0].wrong[0].remark == "the value itself is nan here"


def test_an_infinity_in_the_value() -> None:
    result = checked("exp(x * 1000).sum()", {"x": "0,1"})
    (origin,) = result.origins
    assert (origin.what, origin.grad_fn, origin.remark) == ("inf", "ExpBackward0", "#1[1]=1000: exp(1000) = inf")


def test_an_infinite_gradient_is_no_mistake() -> None:
    result = checked("sqrt(x).sum()", {"x": "0,1"})
    assert result.passed
    assert result.origins[0].remark == "x[0]=0: grad 1 / (2 * #1 0) = inf"


def test_a_zero_norm_divided_by() -> None:
    result = checked("(x / x.norm()).sum()", {"x": "0,0"})
    assert result.origins[0].what == "nan"
    assert result.origins[0].grad_fn == "DivBackward0"


@pytest.mark.slow
def test_large_inputs_are_sampled() -> None:
    result = checked("(x*x).sum()", {"x": "ones(5000)"})
    assert result.inputs[0].checked == 2000
    assert result.notes == ("x: 2,000 of 5,000 elements",)
    assert "one weighted sum" in checked("x*2", {"x": "ones(100)"}).notes[0]


def test_float32_on_the_way_is_said() -> None:
    result = checked("x.float().exp().sum()", {"x": "1,2"})
    assert result.passed
    assert "float32" in result.notes[0]


def test_nothing_changes() -> None:
    one = session({"x": "1,2"}, dtype="float64")
    before = generator.default.get_state()
    one.check(Source("<expression>", "(x*rand(2)).sum()"))
    assert one.evaluate(Source("<expression>", "x")).value.repr() == "tensor([1., 2.], requires_grad=True)"
    assert before.shape == generator.default.get_state().shape


def test_a_step_is_fitted() -> None:
    """The usual step is far too wide for a function that changes over 1e-6."""
    slope = adaptive_differences.central(lambda d: np.array([np.sin(1e6 * d)]), 0.0, 2.2e-16, np.array([1e6]), np.zeros(1))
    assert slope.value[0] == pytest.approx(1e6, rel=1e-6)


def test_the_result_must_have_a_graph() -> None:
    from gradcli.errors import ProgramError

    with pytest.raises(ProgramError, match="does not require grad"):
        checked("x.detach()", {"x": "1"})
