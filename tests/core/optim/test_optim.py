"""Optimisers and schedules against PyTorch 2.13's numbers, recorded in optim_recorded.json, and PyTorch's errors and texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.core.calling import warnings
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.vocabulary import library
from gradcli.errors import ProgramError

RECORDED = json.loads((Path(__file__).parent / "optim_recorded.json").read_text())


def leaf(values: Any, dtype: str = "float32") -> Tensor:
    tensor = wrap(np.array(values, dtype))
    tensor.requires_grad = True
    return tensor


def make(name: str, *args: Any, **kwargs: Any) -> Any:
    return library.find(f"optim.{name}")(*args, **kwargs)


def tuples(options: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}


def close(got: Any, want: Any, tolerance: float = 2e-6) -> None:
    np.testing.assert_allclose(np.asarray(got, float).ravel(), want, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize(("name", "options", "dtype", "values", "state", "version"), RECORDED["steps"])
def test_ten_steps(
    name: str, options: dict[str, Any], dtype: str, values: list[float], state: dict[str, list[float]], version: int
) -> None:
    x = leaf([1.5, -0.75, 0.25, -2.0], dtype)
    optimizer = make(name, [x], **tuples(options))
    for i in range(10):
        d = x.array
        x.grad = wrap(d * d * d * d.dtype.type(0.5) - d + d.dtype.type(0.1 * i))
        optimizer.step()
    close(x.array, values)
    assert x.version_number == version
    kept = optimizer.state_dict()["state"].get(0, {})
    for key, want in state.items():
        close(kept[key].array, want, 1e-5)
    assert [k for k, v in kept.items() if type(v) is Tensor] == list(state) or not state


@pytest.mark.parametrize(("name", "args", "options", "rates"), RECORDED["schedules"])
def test_schedules(name: str, args: list[Any], options: dict[str, Any], rates: list[float]) -> None:
    optimizer = make("SGD", [leaf([1.0])], lr=0.5, momentum=0.9)
    schedule = make(f"lr_scheduler.{name}", optimizer, *args, **options)
    found = [optimizer.param_groups[0]["lr"]]
    for _ in range(12):
        optimizer.step()
        schedule.step()
        found.append(optimizer.param_groups[0]["lr"])
    assert found == rates  # to the last digit: programs print them in full
    assert schedule.get_last_lr() == rates[-1:]


@pytest.mark.parametrize(("options", "steps"), RECORDED["lbfgs"])
def test_lbfgs_on_rosenbrock(options: dict[str, Any], steps: list[Any]) -> None:
    x = leaf([-1.2, 1.0], "float64")
    optimizer = make("LBFGS", [x], **options)

    def closure() -> Tensor:
        a, b = x.array.tolist()
        x.grad = wrap(np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)]))
        return wrap(np.array((1 - a) ** 2 + 100 * (b - a * a) ** 2))

    for loss, place, evaluations, iterations in steps:
        close(optimizer.step(closure).item(), [loss], 1e-4)
        close(x.array, place, 1e-4)
        state = optimizer.state[x]
        assert (state["func_evals"], state["n_iter"]) == (evaluations, iterations)


def test_lambda_schedules() -> None:
    optimizer = make("SGD", [leaf([1.0])], lr=0.5)
    make("lr_scheduler.LambdaLR", optimizer, lambda epoch: 0.5**epoch)
    other = make("lr_scheduler.MultiplicativeLR", optimizer, lambda epoch: 0.25)
    optimizer.step()
    other.step()
    assert optimizer.param_groups[0]["lr"] == 0.125


def test_plateau() -> None:
    optimizer = make("SGD", [leaf([1.0])], lr=1.0)
    schedule = make("lr_scheduler.ReduceLROnPlateau", optimizer, patience=1, factor=0.5)
    found = []
    for metric in [1, 0.9, 0.9, 0.9, 0.9, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6]:
        schedule.step(metric)
        found.append(optimizer.param_groups[0]["lr"])
    assert found == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125]


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


def test_order_of_steps_is_warned_about() -> None:
    seen: list[str] = []
    before = warnings.set_sink(lambda category, message: seen.append(message))
    try:
        optimizer = make("SGD", [leaf([1.0])], lr=0.1)
        schedule = make("lr_scheduler.StepLR", optimizer, 2)
        schedule.step()
    finally:
        warnings.set_sink(before)
    assert len(seen) == 1 and seen[0].startswith("Detected call of `lr_scheduler.step()` before `optimizer.step()`.")


def test_half_precision_steps_are_rounded() -> None:
    x = Tensor(np.array([1.0, 3.0], np.float32), dtypes.bfloat16)
    x.requires_grad = True
    x.grad = Tensor(np.array([0.3, 0.7], np.float32), dtypes.bfloat16)
    make("SGD", [x], lr=0.1).step()
    np.testing.assert_array_equal(x.array, dtypes.round_bfloat16(x.array))
