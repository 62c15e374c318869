"""What every optimiser does: groups, state_dict, texts, zero_grad, PyTorch's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcli.core.tensor.tensor import wrap
from gradcli.errors import ProgramError
from tests.core.optim.calling import leaf, make

ONE = leaf([1.0, 2.0])


WRONG: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: make("SGD", [ONE], lr=-1.0), "ValueError", "Invalid learning rate: -1.0"),
    (lambda: make("SGD", [], lr=0.1), "ValueError", "optimizer got an empty parameter list"),
    (
        lambda: make("SGD", ONE, lr=0.1),
        "TypeError",
        "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor",
    ),
    (lambda: make("SGD", 3, lr=0.1), "TypeError", "'int' object is not iterable"),
    (lambda: make("SGD", [1.0], lr=0.1), "TypeError", "optimizer can only optimize Tensors, but one of the params is float"),
    (lambda: make("SGD", [ONE], nesterov=True), "ValueError", "Nesterov momentum requires a momentum and zero dampening"),
    (lambda: make("SGD", [ONE], lr="a"), "TypeError", "'<' not supported between instances of 'str' and 'float'"),
    (lambda: make("SGD", [ONE], rate=1), "TypeError", "SGD.__init__() got an unexpected keyword argument 'rate'"),
    (lambda: make("SGD"), "TypeError", "SGD.__init__() missing 1 required positional argument: 'params'"),
    (
        lambda: make("SGD", [ONE], 0.1, 0, 0, 0, False, True),
        "TypeError",
        "SGD.__init__() takes from 2 to 7 positional arguments but 8 were given",
    ),
    (lambda: make("SGD", [{"lr": 1}], lr=0.1), "KeyError", "'params'"),
    (lambda: make("Adam", [ONE], betas=(1.0, 0.9)), "ValueError", "Invalid beta parameter at index 0: 1.0"),
    (lambda: make("Rprop", [ONE], etas=(2, 3)), "ValueError", "Invalid eta values: 2, 3"),
    (lambda: make("Adadelta", [ONE], rho=2), "ValueError", "Invalid rho value: 2"),
    (lambda: make("LBFGS", [ONE]).step(None), "TypeError", "'NoneType' object is not callable"),
    (lambda: make("lr_scheduler.StepLR", 3, 2), "TypeError", "int is not an Optimizer"),
]


@pytest.mark.parametrize(("run", "kind", "text"), WRONG)
def test_errors(run: Callable[[], Any], kind: str, text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run()
    assert (caught.value.type_name, caught.value.message) == (kind, text)


def test_non_leaf_is_refused() -> None:
    with pytest.raises(ProgramError, match="can't optimize a non-leaf Tensor"):
        make("SGD", [ONE * 2])


def test_a_parameter_belongs_to_one_group() -> None:
    a, b = leaf([1.0]), leaf([2.0])
    optimizer = make("SGD", [a], lr=0.5)
    optimizer.add_param_group({"params": [b], "lr": 0.25})
    assert [g["lr"] for g in optimizer.param_groups] == [0.5, 0.25]
    with pytest.raises(ProgramError, match="some parameters appear in more than one parameter group"):
        optimizer.add_param_group({"params": [a]})


def test_repr_and_state() -> None:
    optimizer = make("SGD", [leaf([1.0])], lr=0.1)
    assert repr(optimizer) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n    lr: 0.1\n"
        "    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )
    assert repr(optimizer.state) == "defaultdict(<class 'dict'>, {})"
    assert optimizer.state_dict()["state"] == {}


def test_state_dict_round_trip() -> None:
    x, y = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    optimizer = make("Adam", [x], lr=0.1)
    x.grad = y.grad = wrap(np.array([1.0, -1.0], np.float32))
    optimizer.step()
    y.array[...] = x.array
    other = make("Adam", [y], lr=0.2)
    other.load_state_dict(optimizer.state_dict())
    other.step()
    again = make("Adam", [x], lr=0.1)
    x.array[...] = [1.0, 2.0]
    again.step()
    again.step()
    np.testing.assert_array_equal(x.array, y.array)


def test_zero_grad_keeps_the_tensor_when_asked() -> None:
    x = leaf([1.0, 2.0])
    x.grad = gradient = wrap(np.ones(2, np.float32))
    optimizer = make("SGD", [x])
    optimizer.zero_grad(False)
    assert x.grad is gradient and not gradient.array.any()
    optimizer.zero_grad()
    assert x.grad is None
