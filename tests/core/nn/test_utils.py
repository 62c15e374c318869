"""torch.nn.utils: clipped gradients, and parameters as one vector."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.core.tensor.tensor import Tensor
from gradcli.core.vocabulary import library
from tests.core.nn.calling import close, tensor


def _with_gradients() -> list[Tensor]:
    made = [tensor(np.ones(2)), tensor(np.ones(3))]
    for parameter, value in zip(made, (3, 4), strict=True):
        parameter.requires_grad = True
        parameter.grad = tensor(np.full(parameter.shape, value))
    return made


@pytest.mark.parametrize(("order", "total", "first"), [(2.0, 8.1240384, 0.3692744), (float("inf"), 4.0, 0.75), (1, 18.0, 0.1666667)])
def test_clip_grad_norm(order: float, total: float, first: float) -> None:
    parameters = _with_gradients()
    close(library.find("nn.utils.clip_grad_norm_")(parameters, 1.0, norm_type=order).array, [total])
    assert parameters[0].grad is not None
    close(parameters[0].grad.array, [first, first])


def test_clip_grad_value_and_vectors() -> None:
    parameters = _with_gradients()
    library.find("nn.utils.clip_grad_value_")(parameters, 0.5)
    assert parameters[0].grad is not None
    close(parameters[0].grad.array, [0.5, 0.5])
    assert library.find("nn.utils.parameters_to_vector")(parameters).shape == (5,)
    library.find("nn.utils.vector_to_parameters")(tensor(np.arange(5)), parameters)
    close(parameters[1].array, [2, 3, 4])
