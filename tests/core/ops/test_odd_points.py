"""Gradients at odd points: where a function has no derivative, what is chosen is PyTorch's choice, as PyTorch 2.13 computed it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gradcli.core.autograd import torch_autograd
from gradcli.core.functions import catalog
from gradcli.core.tensor.tensor import wrap
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax.parser import parse_expression
from gradcli.source import Source
from tests import settings

NAN, INF = math.nan, math.inf
#: what is odd, a function of x, the elements of x and the gradients there
POINTS: tuple[tuple[str, str, list[float], list[float]], ...] = (
    # elementwise
    ("relu at 0", "relu(x)", [0.0, -0.0], [0.0, 0.0]),
    ("relu6 at its edges", "F.relu6(x)", [0.0, 6.0], [0.0, 0.0]),
    ("hardtanh at its edges", "F.hardtanh(x)", [-1.0, 1.0], [0.0, 0.0]),
    ("leaky relu at 0", "F.leaky_relu(x, 0.25)", [0.0], [0.25]),
    ("elu at 0", "F.elu(x, 0.5)", [0.0], [0.5]),
    ("selu at 0", "F.selu(x)", [0.0], [1.7580993408473766]),
    ("celu at 0", "F.celu(x, 2.)", [0.0], [1.0]),
    ("prelu at 0", "F.prelu(x, tensor(0.25, dtype=torch.float64))", [0.0], [0.25]),
    ("threshold at the threshold", "F.threshold(x, 1., 5.)", [1.0], [0.0]),
    ("hardshrink at its edges", "F.hardshrink(x, 0.5)", [-0.5, 0.5], [0.0, 0.0]),
    ("softshrink at its edges", "F.softshrink(x, 0.5)", [-0.5, 0.5], [0.0, 0.0]),
    ("hardsigmoid at its edges", "F.hardsigmoid(x)", [-3.0, 3.0], [0.0, 0.0]),
    ("hardswish at its edges", "F.hardswish(x)", [-3.0, 3.0], [0.0, 1.0]),
    ("softplus is linear beyond the threshold", "F.softplus(x, 1, 2)", [2.0, 2.5], [0.8807970779778824, 1.0]),
    ("abs at 0", "x.abs()", [0.0, -0.0], [0.0, 0.0]),
    ("sign is flat at 0", "x.sign()", [0.0, 2.0], [0.0, 0.0]),
    ("sgn is flat at 0", "x.sgn()", [0.0, 2.0], [0.0, 0.0]),
    ("floor is flat at its steps", "x.floor()", [1.0, 1.5], [0.0, 0.0]),
    ("ceil is flat at its steps", "x.ceil()", [1.0, 1.5], [0.0, 0.0]),
    ("round is flat at its steps", "x.round()", [0.5, 1.5], [0.0, 0.0]),
    ("trunc is flat at its steps", "x.trunc()", [1.0, -1.0], [0.0, 0.0]),
    ("frac at its steps", "x.frac()", [1.0, -1.0], [1.0, 1.0]),
    ("copysign at 0", "torch.copysign(x, tensor(-1., dtype=torch.float64))", [0.0, 2.0], [0.0, -1.0]),
    ("nan to num where it replaces", "x.nan_to_num()", [NAN, INF, 1.0], [0.0, 0.0, 1.0]),
    ("sqrt at 0", "x.sqrt()", [0.0], [INF]),
    ("maximum with ties", "torch.maximum(x, tensor([1., 2.], dtype=torch.float64))", [1.0, 3.0], [0.5, 1.0]),
    ("minimum with ties", "torch.minimum(x, tensor([1., 2.], dtype=torch.float64))", [1.0, 1.0], [0.5, 1.0]),
    ("maximum with nan", "torch.maximum(x, tensor([1., 2.], dtype=torch.float64))", [NAN, 1.0], [1.0, 0.0]),
    ("fmax with ties and nan", "torch.fmax(x, tensor([1., math.nan, 2.], dtype=torch.float64))", [1.0, 1.0, NAN], [1.0, 1.0, 0.0]),
    ("fmin with ties and nan", "torch.fmin(x, tensor([1., math.nan, 2.], dtype=torch.float64))", [1.0, 1.0, NAN], [1.0, 1.0, 0.0]),
    ("clamp at its edges", "x.clamp(0, 1)", [0.0, 1.0, 2.0, -1.0], [1.0, 1.0, 0.0, 0.0]),
    ("clamp with inverted bounds", "x.clamp(3, 2)", [2.5, 1.0, 4.0], [0.0, 0.0, 0.0]),
    (
        "clamp with tensors at its edges",
        "x.clamp(tensor([0., 1.], dtype=torch.float64), tensor([2., 1.], dtype=torch.float64))",
        [0.0, 1.0],
        [1.0, 1.0],
    ),
    ("clamp min at the bound", "x.clamp_min(1)", [1.0, 0.0], [1.0, 0.0]),
    ("clamp max at the bound", "x.clamp_max(1)", [1.0, 2.0], [1.0, 0.0]),
    ("atan2 at the origin", "torch.atan2(x, tensor(0., dtype=torch.float64))", [0.0], [0.0]),
    ("hypot at the origin", "torch.hypot(x, tensor(0., dtype=torch.float64))", [0.0], [NAN]),
    ("sinc at 0", "torch.sinc(x)", [0.0, 1.0], [0.0, -1.0]),
    ("logit outside of its domain", "torch.logit(x)", [-0.5, 0.5, 1.5], [NAN, 4.0, NAN]),
    ("logit where eps clamps", "torch.logit(x, 0.1)", [0.05, 0.5, 0.95], [0.0, 4.0, 0.0]),
    ("logit of a negative eps", "torch.logit(x, -0.1)", [-0.05, 0.5, 1.5], [NAN, 4.0, NAN]),
    ("xlogy at 0", "torch.xlogy(x, tensor([0., -1., 2.], dtype=torch.float64))", [0.0, 0.0, 0.0], [0.0, 0.0, 0.6931471805599453]),
    ("where drops what is not chosen", "torch.where(x > 0, x, 2 * x)", [-1.0, 0.0, 1.0], [2.0, 2.0, 1.0]),
    ("where of a nan branch", "torch.where(x > 0, x.log(), x)", [0.0, 1.0], [NAN, 1.0]),
    ("logsigmoid at 0", "F.logsigmoid(x)", [0.0], [0.5]),
    ("erfinv at its ends", "torch.erfinv(x)", [-1.0, 0.0], [INF, 0.8862269254527579]),
    ("acos at its ends", "x.acos()", [-1.0, 1.0], [-INF, -INF]),
    ("atanh at its ends", "x.atanh()", [1.0], [INF]),
    ("rrelu at 0", "F.rrelu(x, 0.25, 0.25)", [0.0, -0.0], [0.25, 0.25]),
    # reduce
    ("norm at 0", "x.norm()", [0.0, 0.0], [0.0, 0.0]),
    ("norm of order 1 at 0", "x.norm(p=1)", [0.0, 2.0], [0.0, 1.0]),
    ("norm of order 3 at 0", "x.norm(p=3)", [0.0, 0.0], [0.0, 0.0]),
    ("norm of order half at 0", "x.norm(p=0.5)", [0.0, 4.0], [0.0, 1.0]),
    ("infinity norm with ties", "x.norm(p=math.inf)", [2.0, -2.0, 1.0], [0.5, -0.5, 0.0]),
    ("norm of order 0 is flat", "x.norm(p=0) + 0 * x.sum()", [2.0, 0.0], [0.0, 0.0]),
    ("dist at 0", "torch.dist(x, tensor([1., 2.], dtype=torch.float64))", [1.0, 2.0], [0.0, 0.0]),
    ("max with ties", "torch.max(x)", [2.0, 2.0, 1.0], [0.5, 0.5, 0.0]),
    ("min with ties", "torch.min(x)", [1.0, 2.0, 1.0], [0.5, 0.0, 0.5]),
    ("max along a dimension with ties", "torch.max(x, 0).values", [2.0, 2.0, 1.0], [1.0, 0.0, 0.0]),
    ("min along a dimension with ties", "torch.min(x, 0).values", [2.0, 1.0, 1.0], [0.0, 1.0, 0.0]),
    ("max with nan", "torch.max(x)", [1.0, NAN, 2.0], [0.0, 1.0, 0.0]),
    ("amax with ties", "x.amax(0)", [2.0, 2.0, 1.0], [0.5, 0.5, 0.0]),
    ("amin with ties", "x.amin(0)", [1.0, 2.0, 1.0], [0.5, 0.0, 0.5]),
    ("aminmax with ties", "x.aminmax().max - x.aminmax().min", [2.0, 2.0, 1.0, 1.0], [0.5, 0.5, -0.5, -0.5]),
    ("median of all with ties", "x.median()", [2.0, 2.0, 1.0], [0.5, 0.5, 0.0]),
    ("median along a dimension with ties", "x.median(0).values", [2.0, 2.0, 1.0], [1.0, 0.0, 0.0]),
    ("mode picks the last of the equal", "x.mode().values", [2.0, 1.0, 2.0], [0.0, 0.0, 1.0]),
    ("cummax with ties", "x.cummax(0).values", [1.0, 1.0, 0.0], [1.0, 2.0, 0.0]),
    ("cummin with ties", "x.cummin(0).values", [1.0, 1.0, 2.0], [1.0, 2.0, 0.0]),
    ("prod with one zero", "torch.prod(x)", [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    ("prod with two zeros", "torch.prod(x)", [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    ("prod along a dimension with a zero", "x.prod(0)", [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    ("cumprod with a zero", "x.cumprod(0)", [2.0, 0.0, 3.0, 4.0], [1.0, 32.0, 0.0, 0.0]),
    ("std of equal elements", "x.std()", [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
    ("var of one element", "x.var()", [2.0], [NAN]),
    ("logsumexp of infinities", "x.logsumexp(0)", [-INF, 0.0], [0.0, 1.0]),
    ("nansum skips nan", "x.nansum()", [NAN, 1.0], [0.0, 1.0]),
    ("sum of nothing", "x.sum()", [], []),
    # index
    ("kthvalue with ties", "x.kthvalue(2).values", [1.0, 1.0, 1.0], [1.0, 0.0, 0.0]),
    ("topk with ties", "(x.topk(2).values * tensor([1., 10.], dtype=torch.float64)).sum()", [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 10.0]),
    (
        "sort of equal elements keeps their order",
        "(x.sort().values * tensor([1., 10., 100.], dtype=torch.float64)).sum()",
        [1.0, 1.0, 0.0],
        [10.0, 100.0, 1.0],
    ),
    # linalg
    (
        "det of a singular matrix in a batch",
        "torch.linalg.det(x.view(2, 2, 2))",
        [1.0, 2.0, 2.0, 4.0, 2.0, 1.0, 1.0, 3.0],
        [0.0, 0.0, 0.0, 0.0, 3.0, -1.0, -1.0, 2.0],
    ),
    # layers
    ("softmax of equal elements", "(x.softmax(0) * tensor([1., 0.], dtype=torch.float64)).sum()", [3.0, 3.0], [0.25, -0.25]),
    ("max pooling of equal elements", "F.max_pool1d(x.reshape(1, 1, 4), 2, 1)", [1.0, 1.0, 2.0, 2.0], [1.0, 0.0, 2.0, 0.0]),
    ("adaptive max pooling of equal elements", "F.adaptive_max_pool1d(x.reshape(1, 1, 4), 2)", [1.0, 1.0, 2.0, 2.0], [1.0, 0.0, 1.0, 0.0]),
    (
        "the largest of equal rows in a bag",
        "F.embedding_bag(tensor([[2, 0]]), x.reshape(3, 1), mode='max')",
        [1.0, 0.0, 1.0],
        [0.0, 0.0, 1.0],
    ),
    # loss
    ("nll loss with every class ignored", "F.nll_loss(x.view(1, 3), tensor([-100]))", [0.5, -1.0, 2.0], [0.0, 0.0, 0.0]),
    ("margins just met, 1", "F.multi_margin_loss(x, tensor(0))", [2.0, 1.0, 0.5], [0.0, 0.0, 0.0]),
    ("margins just met, 2", "F.multilabel_margin_loss(x, tensor([0, -1, -1]))", [2.0, 1.0, 0.5], [0.0, 0.0, 0.0]),
)


def gradient(text: str, *x: float) -> Any:
    """The gradient of an expression of x, summed where it is no scalar, in double precision."""
    settings.reset()
    leaf = wrap(np.array(x, np.float64))
    leaf.requires_grad = True
    run = Interpreter(write=lambda _: None, warn=lambda *_: None, one_off=True)
    run.set("x", leaf)
    value = run.evaluate(parse_expression(Source("<odd point>", text)))
    (found,) = torch_autograd.grad(catalog.function("sum")(value), (leaf,))
    assert found is not None
    return found.array


@pytest.mark.parametrize(("text", "x", "wanted"), [pytest.param(*point, id=title) for title, *point in POINTS])
def test_gradient(text: str, x: list[float], wanted: list[float]) -> None:
    np.testing.assert_allclose(gradient(text, *x), wanted, rtol=1e-12, atol=1e-15)


def test_hardsigmoid_has_no_second_derivative() -> None:
    leaf = wrap(np.array([0.5]))
    leaf.requires_grad = True
    (first,) = torch_autograd.grad(catalog.function("sum")(catalog.function("nn.functional.hardsigmoid")(leaf)), (leaf,), create_graph=True)
    assert first is not None
    assert first.grad_fn is not None
    assert first.grad_fn.name() == "torch::autograd::NotImplemented"


def test_second_derivative_of_elu_at_0() -> None:
    leaf = wrap(np.array([0.0]))
    leaf.requires_grad = True
    (first,) = torch_autograd.grad(catalog.function("sum")(catalog.function("nn.functional.elu")(leaf)), (leaf,), create_graph=True)
    assert first is not None
    (second,) = torch_autograd.grad(catalog.function("sum")(first), (leaf,))
    assert second is not None
    assert second.array.tolist() == [0.0]
