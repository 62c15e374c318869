"""gradcheck and gradgradcheck notice wrong rules of first and second order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops.elementwise import add_multiply
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.transforms import differences, gradcheck
from gradcli.errors import ProgramError


def leaf(*values: float, dtype: Any = np.float64) -> Tensor:
    made = wrap(np.array(values, dtype))
    made.requires_grad = True
    return made


#: the derivative has the wrong sign
WRONG = Op("WrongBackward0", np.cos, "input", input=Rule(lambda xp, grad, input: grad * xp.sin(input), "wrong"))
#: the first derivative is right, but it is recorded as a constant
FLAT = Op(
    "FlatBackward0",
    np.sin,
    "input",
    input=Rule(lambda xp, grad, input: xp.call(add_multiply.MUL, grad, np.cos(xp.plain(input))), "grad * cos(input)"),
)
RIGHT = Op("RightBackward0", np.sin, "input", input=Rule(lambda xp, grad, input: grad * xp.cos(input), "grad * cos(input)"))


def flat(x: Tensor) -> Any:
    return FLAT(x)


def test_right_rule_passes() -> None:
    x = leaf(0.3, 1.2)
    assert gradcheck.gradcheck(RIGHT, x)
    assert gradcheck.gradgradcheck(RIGHT, x)


def test_wrong_rule_is_noticed() -> None:
    x = leaf(0.3, 1.2)
    with pytest.raises(ProgramError) as caught:
        gradcheck.gradcheck(WRONG, x)
    assert caught.value.type_name == "GradcheckError"
    assert caught.value.message == (
        "Jacobian mismatch for output 0 with respect to input 0,\n"
        "numerical:tensor([[-0.2955,  0.0000],\n        [ 0.0000, -0.9320]], dtype=torch.float64)\n"
        "analytical:tensor([[0.2955, 0.0000],\n        [0.0000, 0.9320]], dtype=torch.float64)\n"
    )
    assert gradcheck.gradcheck(WRONG, x, raise_exception=False) is False


def test_rule_that_is_wrong_in_the_second_order_is_noticed() -> None:
    x = leaf(0.3, 1.2)
    assert gradcheck.gradcheck(flat, x)
    assert not gradcheck.gradgradcheck(flat, x, raise_exception=False)


def test_inputs_are_restored() -> None:
    x = leaf(0.1, 0.2)
    before = x.array.tolist()
    gradcheck.gradcheck(WRONG, x, raise_exception=False)
    with pytest.raises(ProgramError):
        gradcheck.gradcheck(lambda t: _refuse(t), x)
    assert x.array.tolist() == before
    assert x.version_number == 0


def _refuse(x: Tensor) -> Any:
    if x.array[0] != 0.1:
        raise ProgramError("ValueError", "no")
    return x * 1.0


def test_single_precision_is_warned_of() -> None:
    said: list[str] = []
    before = warnings.set_sink(lambda category, message, _: said.append(message))
    try:
        gradcheck.gradcheck(RIGHT, leaf(0.3, dtype=np.float32), raise_exception=False)
    finally:
        warnings.set_sink(before)
    assert len(said) == 1 and said[0].startswith("Input #0 requires gradient and is not a double precision floating point")


@pytest.mark.parametrize("fast_mode", [False, True])
def test_bool_outputs_cannot_be_subtracted(fast_mode: bool) -> None:
    with pytest.raises(ProgramError, match="Subtraction, the `-` operator, with two bool tensors is not supported"):
        gradcheck.gradcheck(lambda t: (t * t, t > 0), leaf(0.3), fast_mode=fast_mode)


def test_grad_outputs_may_be_given() -> None:
    x = leaf(0.3, 1.2)
    assert gradcheck.gradgradcheck(catalog.function("exp"), x, leaf(1.0, 2.0))


def test_differences_of_plain_functions() -> None:
    x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array(0.5)
    (dx,), (dy,) = [differences.jacobians(a, lambda: [np.asarray((x**2).sum() * y)], 1e-6) for a in (x, y)]
    assert np.allclose(dx, x.reshape(4, 1)) and np.allclose(dy, (x**2).sum())
    assert x.tolist() == [[1, 2], [3, 4]] and y == 0.5
    assert differences.jacobians(np.zeros((0, 3)), lambda: [np.zeros(())], 1e-6) == []
