"""Forward mode against backward mode for every sample of every function, and levels, tangents and in-place operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.autograd import torch_autograd
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.transforms import forward_ad
from gradcli.errors import ProgramError
from tests.core.ops.test_operations import WITH_INPUTS, evaluate, leaves, name_of, scalar

#: what PyTorch refuses in forward mode
REFUSED = "Trying to use forward AD with "


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    state.dual = None


def tangent_of(value: Any) -> Tensor | None:
    """The tangent at the open level."""
    return None if state.dual is None else state.dual.tangent_of(value)


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
    tangent = tangent_of(catalog.function("sum")(value * weights))
    if function.name == "scatter_reduce" and "prod" in sample.text:  # PyTorch leaves the tangent out
        assert tangent is None
        return
    got = 0.0 if tangent is None else tangent.item()
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


def evaluated_within(text: str, values: dict[str, Tensor]) -> Any:
    """Evaluate while the level stays open."""
    level = state.dual
    assert level is not None
    return evaluate(text, values)


def test_a_level_changes_no_class() -> None:
    before = {kind: vars(kind).get("__call__") for kind in (Op, *Op.__subclasses__())}
    forward_ad.enter_dual_level()
    assert all(vars(kind).get("__call__") is call for kind, call in before.items())
    forward_ad.exit_dual_level()
    assert all(vars(kind).get("__call__") is call for kind, call in before.items())
    assert state.dual is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("exp", "exp(x)"),
        ("mul", "x * x"),
        ("div", "x / x"),
        ("pow", "x ** 3"),
        ("mm", "x @ x"),
        ("sum", "x.sum(0)"),
        ("t", "x.t()"),
        ("softmax", "softmax(x, 1)"),
        ("sort", "x.sort(1)[0]"),
        ("linalg.inv", "torch.linalg.inv(x)"),
        ("linalg.qr", "torch.linalg.qr(x)[1]"),
        ("masked_fill", "x.masked_fill(x > 2, 0.)"),
        ("nn.functional.layer_norm", "F.layer_norm(x, (2,))"),
    ],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_the_forward_pass_of_an_operation_runs_once(name: str, text: str, requires_grad: bool) -> None:
    """What is computed from the tangent may use the operation again, but never for the same operands."""
    seen: list[tuple[list[Any], str]] = []
    records = catalog.function(name).ops
    before = [op.forward for op in records]
    forward_ad.enter_dual_level()
    x = wrap(np.array([[2.0, 1.0], [0.5, 3.0]]))
    x.requires_grad = requires_grad
    dual = forward_ad.make_dual(x, wrap(np.ones((2, 2))))
    for op in records:
        op.forward = counted(op.forward, seen)
    try:
        value = evaluated_within(text, {"x": dual})
    finally:
        for op, forward in zip(records, before, strict=True):
            op.forward = forward
    assert tangent_of(value) is not None
    on_x = [attrs for arrays, attrs in seen if all(np.shares_memory(array, x.array) for array in arrays)]
    assert on_x.count(on_x[0]) == 1


def counted(forward: Any, seen: list[tuple[list[Any], str]]) -> Any:
    """The forward function of a record. The floating arrays and the other arguments of each call are added to `seen`."""

    def call(*args: Any) -> Any:
        floating = [isinstance(a, np.ndarray) and a.dtype.kind == "f" for a in args]
        arrays = [a for a, chosen in zip(args, floating, strict=True) if chosen]
        seen.append((arrays, str([a for a, chosen in zip(args, floating, strict=True) if not chosen])))
        return forward(*args)

    return call


def test_a_level_can_be_put_back() -> None:
    x = wrap(np.array([1.0, 2.0]))
    forward_ad.enter_dual_level()
    level = state.dual
    made = forward_ad.make_dual(x, wrap(np.array([1.0, 0.0])))
    forward_ad.exit_dual_level()
    state.dual = level
    assert tangent_of(catalog.function("exp")(made)) is not None
    state.dual = None
    assert tangent_of(made) is None


def test_tangents_are_gone_with_their_level() -> None:
    x = wrap(np.array([1.0, 2.0]))
    forward_ad.enter_dual_level()
    made = forward_ad.make_dual(x, wrap(np.array([1.0, 0.0])))
    assert tangent_of(made) is not None
    forward_ad.exit_dual_level()
    assert tangent_of(made) is None
    forward_ad.enter_dual_level()
    assert tangent_of(made) is None


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
    tangent = tangent_of(evaluated_within(text, {"x": x}))
    assert tangent is not None
    np.testing.assert_allclose(tangent.array, expected)
