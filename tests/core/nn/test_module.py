"""What every module does: training mode, conversion, state_dict, assigned parameters, PyTorch's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcli.core.tensor.tensor import wrap
from gradcli.errors import ProgramError
from tests.core.nn.calling import attribute, close, make, script, tensor, two_layers


def test_training_mode_and_conversion() -> None:
    net = make("Sequential", make("Linear", 2, 3), make("Dropout"))
    script(net, "eval")
    assert not any(module.training for module in script(net, "modules"))
    x = tensor([[1.0, 2.0]])
    np.testing.assert_array_equal(net(x).array, net(x).array)
    script(net, "double")
    assert {str(p.dtype) for p in script(net, "parameters")} == {"torch.float64"}


def test_state_dict_round_trip() -> None:
    first, second = two_layers(), two_layers()
    keys = script(second, "load_state_dict", script(first, "state_dict"))
    assert repr(keys) == "<All keys matched successfully>"
    x = tensor([[1.0, -2.0]])
    np.testing.assert_array_equal(first(x).array, second(x).array)


def test_parameters_are_checked_when_assigned() -> None:
    layer = make("Linear", 3, 2)
    with pytest.raises(ProgramError, match=r"cannot assign 'torch\.FloatTensor' as parameter 'weight'"):
        layer.assign("weight", tensor(np.ones((2, 3))))
    layer.assign("weight", make("Parameter", tensor(np.ones((2, 3)))))
    layer.assign("bias", None)
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
