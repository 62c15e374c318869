"""Tables of modules that only call their function."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.nn.modules.function_modules import ClassTable, FunctionModule, row
from gradcli.core.tensor.tensor import wrap
from gradcli.errors import ProgramError


class Rotation(FunctionModule):
    """The base of a row; it declares what scripts reach, so that the row adds nothing to it."""

    PLACE = "activation"
    SHOWN = "k"
    SETTINGS = "k"


TABLE = ClassTable(row(Rotation, {"Turn2d": "torch.rot90", "Power": "torch.matrix_power"}, ARGUMENTS={"k": REQUIRED}))


def test_a_row_makes_a_class() -> None:
    construct = TABLE["Turn2d"].SCRIPT_TYPE
    module = construct(k=1)
    assert repr(module) == "Turn2d(k=1)" and module.RANK == 2 and type(module).__doc__ == "`torch.rot90`."
    np.testing.assert_array_equal(module(wrap(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))).array, [[2.0, 4.0], [1.0, 3.0]])
    with pytest.raises(ProgramError) as error:
        construct()
    assert error.value.message == "Turn2d.__init__() missing 1 required positional argument: 'k'"


def test_for_scripts_the_classes_of_a_row_are_no_subclasses_of_each_other() -> None:
    first, second = TABLE["Turn2d"], TABLE["Power"]
    assert list(TABLE) == ["Turn2d", "Power"] and issubclass(second, first) and second.FUNCTION == "matrix_power"
    assert second.SCRIPT_TYPE.test(second(1)) and not first.SCRIPT_TYPE.test(second(1))
