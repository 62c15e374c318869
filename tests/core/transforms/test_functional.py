"""The parts of torch.autograd.functional against one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.functions import catalog
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.transforms import autograd_functional
from gradcli.errors import LimitError
from gradcli.limits import Limits, use


def tensor(values: Any) -> Tensor:
    return wrap(np.array(values, np.float64))


def mixed(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return catalog.function("sin")(x) * y, catalog.function("sum")(x * x * y)


def scalar(x: Tensor) -> Tensor:
    total: Tensor = catalog.function("sum")(catalog.function("exp")(x) * x * x)
    return total


X, Y = tensor([0.3, -1.2, 2.0]), tensor([1.0, 0.5, -2.0])


def test_products_agree_with_the_jacobian() -> None:
    rows = autograd_functional.jacobian(mixed, (X, Y))
    v, u = (tensor([1.0, 2.0, 3.0]), tensor(0.5)), (tensor([0.1, 0.2, 0.3]), tensor([-1.0, 0.0, 1.0]))
    _, back = autograd_functional.vjp(mixed, (X, Y), v)
    _, forward = autograd_functional.jvp(mixed, (X, Y), u)
    for k in range(2):
        expected = sum(np.tensordot(v[i].array, rows[i][k].array, v[i].array.ndim) for i in range(2))
        assert np.allclose(back[k].array, expected)
        assert np.allclose(forward[k].array, rows[k][0].array @ u[0].array + rows[k][1].array @ u[1].array)


def test_products_agree_with_the_hessian() -> None:
    matrix = autograd_functional.hessian(scalar, X)
    v = tensor([1.0, -2.0, 0.5])
    assert np.allclose(matrix.array, matrix.array.T)
    assert np.allclose(autograd_functional.vhp(scalar, X, v)[1].array, matrix.array @ v.array)
    assert np.allclose(autograd_functional.hvp(scalar, X, v)[1].array, matrix.array @ v.array)


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_every_mode_gives_the_same_numbers(options: dict[str, Any]) -> None:
    made = autograd_functional.jacobian(lambda x: catalog.function("sin")(x) * x, X, **options)
    assert np.allclose(made.array, np.diag(np.cos(X.array) * X.array + np.sin(X.array)))
    assert not made.requires_grad


def test_inputs_stay_as_they_are() -> None:
    x = tensor([1.0, 2.0])
    x.requires_grad = True
    autograd_functional.jacobian(lambda t: t * x, x)
    assert x.grad is None and x.node is None


def test_the_same_tensor_in_a_closure_is_a_constant() -> None:
    x = tensor([1.0, 2.0])
    x.requires_grad = True
    assert autograd_functional.jacobian(lambda t: t * x, x).tolist() == [[1, 0], [0, 2]]


def test_a_jacobian_over_the_limit_is_refused_first() -> None:
    use(Limits(elements=1000))
    try:
        with pytest.raises(LimitError):
            autograd_functional.jacobian(lambda t: t * 2, tensor(np.zeros(100)))
    finally:
        use(Limits())
