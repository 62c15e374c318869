"""Forward mode against backward mode: for every sample of every function, and for what has no samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.autograd import torch_autograd
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op
from gradcli.core.tensor.node import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.transforms import forward_ad, forward_ad_level
from gradcli.errors import ProgramError
from tests.core.test_operations import WITH_INPUTS, evaluate, leaves, name_of, scalar

#: what PyTorch refuses in forward mode
REFUSED = "Trying to use forward AD with "


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    forward_ad_level.close_level()


def direction(tensor: Tensor, k: int) -> Tensor:
    """A vector for the k-th input, another number in each place."""
    return wrap(np.sin(np.arange(tensor.array.size) * 1.3 + k + 0.4).reshape(tensor.array.shape))


@pytest.mark.parametrize(("function", "sample"), WITH_INPUTS, ids=name_of)
def test_forward_mode_agrees_with_backward_mode(function: Function, sample: Sample) -> None:
    loss, inputs = scalar(sample)
    found = torch_autograd.grad(loss, tuple(inputs.values()), allow_unused=True)
    directions = [direction(t, k) for k, t in enumerate(inputs.values())]
    expected = sum(float((g.array * d.array).sum()) for g, d in zip(found, directions, strict=True) if g is not None)
    forward_ad.enter_dual_level()
    moved = {n: forward_ad.make_dual(t, d) for (n, t), d in zip(leaves(sample).items(), directions, strict=True)}
    for one in moved.values():
        one.requires_grad, one.node = False, None
    try:
        value = evaluated_within(sample.text, moved)
    except ProgramError as error:
        assert error.type_name == "NotImplementedError" and error.message.startswith(REFUSED)
        return
    weights = wrap(np.cos(np.arange(value.array.size)).reshape(value.array.shape) + 1.5)
    tangent = forward_ad_level.tangent_of(catalog.function("sum")(value * weights))
    got = 0.0 if tangent is None else tangent.item()
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


def evaluated_within(text: str, values: dict[str, Tensor]) -> Any:
    """Evaluate while the level stays open."""
    level = state.dual
    assert level is not None
    return evaluate(text, values)


def test_operations_are_called_as_ever_when_the_level_is_closed() -> None:
    before = {kind: vars(kind).get("__call__") for kind in (Op, *Op.__subclasses__())}
    forward_ad.enter_dual_level()
    assert any(vars(kind).get("__call__") is not call for kind, call in before.items())
    forward_ad.exit_dual_level()
    assert all(vars(kind).get("__call__") is call for kind, call in before.items())
    assert state.dual is None


def test_a_level_can_be_put_back() -> None:
    x = wrap(np.array([1.0, 2.0]))
    forward_ad.enter_dual_level()
    level = state.dual
    made = forward_ad.make_dual(x, wrap(np.array([1.0, 0.0])))
    forward_ad.exit_dual_level()
    forward_ad_level.put_back(level)
    assert forward_ad_level.tangent_of(catalog.function("exp")(made)) is not None
    forward_ad_level.put_back(None)
    assert forward_ad_level.tangent_of(made) is None


def test_tangents_are_gone_with_their_level() -> None:
    x = wrap(np.array([1.0, 2.0]))
    forward_ad.enter_dual_level()
    made = forward_ad.make_dual(x, wrap(np.array([1.0, 0.0])))
    assert forward_ad_level.tangent_of(made) is not None
    forward_ad.exit_dual_level()
    assert forward_ad_level.tangent_of(made) is None
    forward_ad.enter_dual_level()
    assert forward_ad_level.tangent_of(made) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.clone().mul_(x)", [2.0, 8.0]),
        ("x.clone().add_(x * x)", [3.0, 10.0]),
        ("x.clone().zero_()", [0.0, 0.0]),
        ("x.clone().fill_(3.)", [0.0, 0.0]),
        ("x.clone().copy_(x * 3)", [3.0, 6.0]),
        ("x.clone().clamp_(0., 1.5)", [1.0, 0.0]),
        ("zeros(2).to(x.dtype).index_put_((tensor([1]),), x[:1])", [0.0, 1.0]),
    ],
)
def test_in_place_operations_write_into_the_tangent(text: str, expected: list[float]) -> None:
    forward_ad.enter_dual_level()
    x = forward_ad.make_dual(wrap(np.array([1.0, 2.0])), wrap(np.array([1.0, 2.0])))
    tangent = forward_ad_level.tangent_of(evaluated_within(text, {"x": x}))
    assert tangent is not None
    np.testing.assert_allclose(tangent.array, expected)
