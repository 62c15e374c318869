"""torch.func and vmap: derivatives of every order, and levels that do not mix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.autograd import backward
from gradcli.core.functions import catalog
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.transforms import func_jacobians, pytree, torch_func, vmap
from gradcli.errors import ProgramError


def tensor(values: Any) -> Tensor:
    return wrap(np.array(values, np.float64))


def total(x: Tensor) -> Tensor:
    made: Tensor = catalog.function("sum")(x)
    return made


def cube(x: Tensor) -> Tensor:
    return total(x * x * x)


def test_derivatives_of_every_order() -> None:
    f: Any = catalog.function("sin")
    x = tensor(0.7)
    for expected in (np.cos(0.7), -np.sin(0.7), -np.cos(0.7), np.sin(0.7), np.cos(0.7)):
        f = torch_func.grad(f)
        assert np.isclose(f(x).array, expected)
    assert not f(x).requires_grad


def test_perturbations_are_not_confused() -> None:
    def outer(x: Tensor) -> Tensor:
        return x * torch_func.grad(lambda y: x + y)(tensor(1.0))

    assert torch_func.grad(outer)(tensor(1.0)).array == 1


def test_matrices_agree() -> None:
    x = tensor([0.5, -1.0, 2.0])
    back = func_jacobians.jacrev(lambda t: t * t * t)(x)
    assert np.allclose(back.array, np.diag(3 * x.array**2))
    assert np.allclose(func_jacobians.jacfwd(lambda t: t * t * t)(x).array, back.array)
    columns = [torch_func.jvp(lambda t: t * t * t, (x,), (tensor(e),))[1].array for e in np.eye(3)]
    assert np.allclose(np.stack(columns, 1), back.array)
    assert np.allclose(func_jacobians.jacrev(func_jacobians.jacrev(cube))(x).array, func_jacobians.hessian(cube)(x).array)


def test_per_sample_gradients() -> None:
    batch = tensor(np.arange(6.0).reshape(3, 2))
    made = vmap.vmap(torch_func.grad(cube))(batch)
    assert np.allclose(made.array, 3 * batch.array**2)
    assert not made.requires_grad


def test_result_keeps_what_an_outer_gradient_needs() -> None:
    w = tensor(2.0)
    w.requires_grad = True
    slope = torch_func.grad(lambda x: total(x * x * w))(tensor([1.0, 2.0]))
    assert slope.requires_grad
    (back,) = backward.grad([total(slope)], [w])
    assert back is not None and back.array == 6


def test_pull_works_again_and_again() -> None:
    x = tensor([1.0, 2.0])
    value, pull = torch_func.vjp(lambda t: t * t, x)
    assert not value.requires_grad
    for _ in range(2):
        (back,) = pull(tensor([1.0, 1.0]))
        assert back.tolist() == [2, 4] and not back.requires_grad


def test_pull_of_a_level_inside_another() -> None:
    def inner(x: Tensor) -> Tensor:
        _, pull = torch_func.vjp(lambda t: t * t * t, x)
        return total(pull(tensor([1.0, 1.0]))[0])

    assert torch_func.grad(inner)(tensor([1.0, 2.0])).tolist() == [6, 12]


def test_no_grad_outside_does_not_reach_in() -> None:
    x = tensor([1.0, 2.0])
    x.requires_grad = True
    state.enabled = False
    try:
        made = torch_func.grad(cube)(x)
    finally:
        state.enabled = True
    assert made.tolist() == [3, 12] and not made.requires_grad


def test_modes_are_restored_after_an_error() -> None:
    state.enabled = False
    try:
        with pytest.raises(ProgramError, match="division by zero"):
            torch_func.grad(lambda x: 1 / 0)(tensor(1.0))
        assert not state.enabled
    finally:
        state.enabled = True


NESTS = [1, (1, 2), [1, [2, (3,)]], {"a": 1, "b": (2, {"c": 3})}, (), ([], {})]


@pytest.mark.parametrize("nest", NESTS)
def test_nests_come_apart_and_together(nest: Any) -> None:
    leaves, spec = pytree.flatten(nest)
    assert pytree.rebuild(spec, leaves) == nest
    assert spec.leaves == len(leaves)
    assert pytree.spread(0, spec) == [0] * len(leaves)
