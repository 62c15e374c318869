"""Tests generated from the operation records: forward against numpy, gradients against central differences, second order, formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.autograd import torch_autograd
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax.parser import parse_expression
from gradcli.source import Source
from tests import settings
from tools import make_index

CASES = [(f, s) for f in catalog.all_functions() for s in f.samples]
#: records with arguments whose derivative PyTorch refuses
WITHOUT_DERIVATIVE = {
    "NotImplemented",
    "GeqrfBackward0",
    "IgammaBackward0",
    "IgammacBackward0",
    "SpecialZetaBackward0",
    "SpecialZetaBackward2",
    "UniqueConsecutiveBackward0",
}
WITH_INPUTS = [(f, s) for f, s in CASES if s.inputs]


def name_of(case: Any) -> str:
    return case.text if isinstance(case, Sample) else case.name


def evaluate(text: str, values: dict[str, Any]) -> Any:
    settings.reset()
    run = Interpreter(write=lambda _: None, warn=lambda *_: None, one_off=True)
    for name, value in values.items():
        run.set(name, value)
    return run.evaluate(parse_expression(Source("<sample>", text)))


def leaves(sample: Sample, arrays: dict[str, Any] | None = None) -> dict[str, Tensor]:
    made = {}
    for name, value in (sample.inputs if arrays is None else arrays).items():
        made[name] = wrap(np.array(value, np.float64))
        made[name].requires_grad = True
    return made


def scalar(sample: Sample, arrays: dict[str, Any] | None = None) -> tuple[Tensor, dict[str, Tensor]]:
    """The sample's value times fixed weights, summed, so that every element counts differently."""
    inputs = leaves(sample, arrays)
    value = evaluate(sample.text, inputs)
    weights = wrap(np.cos(np.arange(value.array.size)).reshape(value.array.shape) + 1.5)
    return catalog.function("sum")(value * weights), inputs


def numeric(function: Any, arrays: dict[str, Any], name: str, eps: float = 1e-6) -> np.ndarray[Any, Any]:
    array = arrays[name]
    out = np.zeros_like(array)
    for index in np.ndindex(array.shape):
        kept = array[index]
        array[index] = kept + eps
        above = function(arrays)
        array[index] = kept - eps
        below = function(arrays)
        array[index] = kept
        out[index] = (above - below) / (2 * eps)
    return out


@pytest.mark.parametrize(("function", "sample"), CASES, ids=name_of)
def test_forward_agrees_with_numpy(function: Function, sample: Sample) -> None:
    value = evaluate(sample.text, leaves(sample))
    assert value is not None
    if sample.reference is None:
        return
    expected = sample.reference(*(np.array(v, np.float64) for v in sample.inputs.values()))
    assert value.array.shape == np.shape(expected)
    np.testing.assert_allclose(value.array, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("function", "sample"), WITH_INPUTS, ids=name_of)
def test_gradient_agrees_with_central_differences(function: Function, sample: Sample) -> None:
    loss, inputs = scalar(sample)
    if not loss.requires_grad:
        pytest.fail(f"{sample.text} has inputs but no gradient: leave the inputs out of the sample")
    grads = torch_autograd.grad(loss, tuple(inputs.values()), allow_unused=True)
    arrays = {n: np.array(v, np.float64) for n, v in sample.inputs.items()}
    for name, gradient in zip(inputs, grads, strict=True):
        expected = numeric(lambda a: scalar(sample, a)[0].item(), arrays, name)
        got = np.zeros_like(expected) if gradient is None else gradient.array
        np.testing.assert_allclose(got, expected, rtol=2e-6, atol=1e-7)


#: PyTorch has no second derivative of these
WITHOUT_SECOND = (
    "F.ctc_loss",
    "torch.ctc_loss",
    "F.multi_margin_loss",
    "F.multilabel_margin_loss",
    "F.pdist",
    "F.scaled_dot_product_attention(q, k, v)",
    "F.scaled_dot_product_attention(q, k, v, is_causal",
    "F.embedding_bag",
)


@pytest.mark.parametrize(("function", "sample"), WITH_INPUTS, ids=name_of)
def test_second_derivative_agrees_with_central_differences(function: Function, sample: Sample) -> None:
    def first(arrays: dict[str, Any] | None, graph: bool) -> tuple[Any, dict[str, Tensor]]:
        loss, inputs = scalar(sample, arrays)
        grads = torch_autograd.grad(loss, tuple(inputs.values()), create_graph=graph, allow_unused=True)
        total: Any = 0.0
        for k, g in enumerate(grads):
            if g is not None:
                weights = wrap(np.sin(np.arange(g.array.size) + k).reshape(g.array.shape) + 2)
                total = catalog.function("sum")(g * weights) + total
        return total, inputs

    total, inputs = first(None, True)
    arrays = {n: np.array(v, np.float64) for n, v in sample.inputs.items()}
    if not isinstance(total, Tensor) or not total.requires_grad:
        grads: Any = [None] * len(inputs)
    elif sample.text.startswith(WITHOUT_SECOND):
        with pytest.raises(ProgramError, match=r"_backward'? is not implemented"):
            torch_autograd.grad(total, tuple(inputs.values()))
        return
    else:
        grads = torch_autograd.grad(total, tuple(inputs.values()), allow_unused=True)
    for name, gradient in zip(inputs, grads, strict=True):
        expected = numeric(lambda a: first(a, False)[0].item(), arrays, name)
        got = np.zeros_like(expected) if gradient is None else gradient.array
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("function", catalog.all_functions(), ids=lambda f: f.name)
def test_every_function_is_documented(function: Function) -> None:
    assert function.doc.endswith(".")
    for op in function.ops:
        for rule in op.rules.values():
            assert rule is None or rule.formula or op.grad_fn in WITHOUT_DERIVATIVE


def test_a_wrong_rule_is_found() -> None:
    """The checker itself: a record whose derivative is wrong must fail the gradient test."""
    from gradcli.core.graph.pointwise import Pointwise
    from gradcli.core.graph.record import Rule

    wrong = Pointwise("WrongBackward0", np.sin, "input", input=Rule(lambda xp, grad, input: grad * xp.sin(input), "grad * sin(input)"))
    x = wrap(np.array([0.3, 1.1]))
    x.requires_grad = True
    (gradient,) = torch_autograd.grad(catalog.function("sum")(wrong(x)), x)
    assert gradient is not None
    expected = numeric(lambda a: float(np.sin(a["x"]).sum()), {"x": np.array([0.3, 1.1])}, "x")
    assert not np.allclose(gradient.array, expected)


def test_the_index_of_names_is_fresh() -> None:
    assert make_index.TARGET.read_text(encoding="utf-8") == make_index.index_text(), "run python tools/make_index.py"
