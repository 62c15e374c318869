"""Modules, initialisation and dropout against PyTorch 2.13, recorded in nn_recorded.json; PyTorch's errors and texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.core.random import generator
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.vocabulary import library
from gradcli.errors import ProgramError

RECORDED = json.loads((Path(__file__).parent / "nn_recorded.json").read_text())


def make(name: str, *args: Any, **kwargs: Any) -> Any:
    return library.find(f"nn.{name}")(*args, **kwargs)


def script(value: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a method as scripts do."""
    return type(value).SCRIPT_METHODS[name](value, *args, **kwargs)


def attribute(value: Any, name: str) -> Any:
    return type(value).SCRIPT_ATTRIBUTES[name](value)


def tensor(values: Any) -> Tensor:
    return wrap(np.array(values, np.float32))


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(np.asarray(got).ravel(), want, rtol=2e-6, atol=1e-6)


def test_initial_values_and_reprs_of_layers() -> None:
    generator.default.manual_seed(4)
    for name, args, options, text, state in RECORDED["layers"]:
        module = make(name, *args, **options)
        assert repr(module) == text
        found = script(module, "state_dict").table
        assert list(found) == list(state)
        for key, values in state.items():
            close(found[key].array, values)


@pytest.mark.parametrize(("name", "args", "options", "text", "values"), RECORDED["activations"])
def test_modules_without_parameters(name: str, args: list[Any], options: dict[str, Any], text: str, values: Any) -> None:
    module = make(name, *args, **options)
    assert repr(module) == text
    if values is not None:
        close(module(tensor(RECORDED["input"])).array, values)


@pytest.mark.parametrize(("name", "options", "values"), RECORDED["init"])
def test_init(name: str, options: dict[str, Any], values: list[float]) -> None:
    generator.default.manual_seed(3)
    w = tensor(np.zeros((5, 4)))
    assert library.find(f"nn.init.{name}")(w, **options) is w
    close(w.array, values)


def test_dropout_draws_what_torch_draws() -> None:
    generator.default.manual_seed(2)
    dropout = library.find("nn.functional.dropout")
    first, second, third = RECORDED["dropout"]
    close(dropout(tensor(np.ones(6)), 0.3).array, first)
    close(dropout(tensor(np.ones(4)), 0.5).array, second)
    close(make("Dropout", 0.9)(tensor(np.ones(5))).array, third)


def _net() -> Any:
    inner = make("Sequential", make("Tanh"), make("Linear", 3, 1))
    return make("Sequential", make("Linear", 2, 3), make("ReLU"), inner)


def test_sequential() -> None:
    net = _net()
    assert repr(net) == RECORDED["sequential"]
    assert repr(make("ModuleList", [make("ReLU"), make("ReLU"), net[2]])) == RECORDED["list"]
    assert len(net) == 3 and repr(net[1]) == "ReLU()" and net[-1] is net[2]
    assert [n for n, _ in script(net, "named_parameters")] == ["0.weight", "0.bias", "2.1.weight", "2.1.bias"]
    assert [n for n, _ in script(net, "named_modules")] == ["", "0", "1", "2", "2.0", "2.1"]
    assert [n for n, _ in script(net, "named_children")] == ["0", "1", "2"]
    assert repr(net[1:]).startswith("Sequential(\n  (1): ReLU()\n  (2): Sequential(")
    with pytest.raises(ProgramError, match="index 9 is out of range"):
        net[9]


def test_training_mode_and_conversion() -> None:
    net = make("Sequential", make("Linear", 2, 3), make("Dropout"))
    script(net, "eval")
    assert not any(module.training for module in script(net, "modules"))
    x = tensor([[1.0, 2.0]])
    np.testing.assert_array_equal(net(x).array, net(x).array)
    script(net, "double")
    assert {str(p.dtype) for p in script(net, "parameters")} == {"torch.float64"}


def test_state_dict_round_trip() -> None:
    first, second = _net(), _net()
    keys = script(second, "load_state_dict", script(first, "state_dict"))
    assert repr(keys) == "<All keys matched successfully>"
    x = tensor([[1.0, -2.0]])
    np.testing.assert_array_equal(first(x).array, second(x).array)


def test_parameters_are_checked_when_assigned() -> None:
    layer = make("Linear", 3, 2)
    setter = type(layer).SCRIPT_SETTERS["weight"]
    with pytest.raises(ProgramError, match=r"cannot assign 'torch\.FloatTensor' as parameter 'weight'"):
        setter(layer, tensor(np.ones((2, 3))))
    setter(layer, make("Parameter", tensor(np.ones((2, 3)))))
    type(layer).SCRIPT_SETTERS["bias"](layer, None)
    assert repr(layer) == "Linear(in_features=3, out_features=2, bias=False)"
    close(layer(tensor([1.0, 2.0, 3.0])).array, [6.0, 6.0])
    assert attribute(layer, "weight").is_parameter


LAYER = make("Linear", 3, 2)
WRONG: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: make("Linear", 3), "TypeError", "Linear.__init__() missing 1 required positional argument: 'out_features'"),
    (
        lambda: make("Linear", 3, 2, True, None, None, 3),
        "TypeError",
        "Linear.__init__() takes from 3 to 6 positional arguments but 7 were given",
    ),
    (lambda: LAYER(), "TypeError", "Linear.forward() missing 1 required positional argument: 'input'"),
    (lambda: LAYER(1, 2), "TypeError", "Linear.forward() takes 2 positional arguments but 3 were given"),
    (lambda: LAYER("a"), "TypeError", "linear(): argument 'input' (position 1) must be Tensor, not str"),
    (lambda: LAYER(tensor(np.ones((4, 2)))), "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (4x2 and 3x2)"),
    (lambda: make("Sequential", 3), "TypeError", "int is not a Module subclass"),
    (lambda: make("ModuleList")(3), "NotImplementedError", 'Module [ModuleList] is missing the required "forward" function'),
    (
        lambda: make("Parameter", wrap(np.array(1))),
        "RuntimeError",
        "Only Tensors of floating point and complex dtype can require gradients",
    ),
    (lambda: make("Dropout", 1.5), "ValueError", "dropout probability has to be between 0 and 1, but got 1.5"),
    (
        lambda: script(LAYER, "load_state_dict", {"weight": tensor(np.ones((2, 3)))}),
        "RuntimeError",
        'Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: "bias". ',
    ),
    (lambda: script(LAYER, "train", 3), "ValueError", "training mode is expected to be boolean"),
    (lambda: make("init.calculate_gain", "foo"), "ValueError", "Unsupported nonlinearity foo"),
]


@pytest.mark.parametrize(("run", "kind", "text"), WRONG)
def test_errors(run: Callable[[], Any], kind: str, text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run()
    assert (caught.value.type_name, caught.value.message) == (kind, text)


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
