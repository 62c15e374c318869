"""`nn.Parameter`: a leaf tensor that modules know as theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor


def as_parameter(tensor: Tensor, requires_grad: bool = True) -> Tensor:
    """A parameter that shares memory with a tensor."""
    if requires_grad and not tensor.dtype.is_floating_point:
        raise dtypes.cannot_require_grad()
    made = detach(tensor)
    made.meta = {"parameter": True}
    made.requires_grad = requires_grad
    return made


def new_parameter(array: Array, dtype: dtypes.DType | None = None) -> Tensor:
    """A parameter of an array."""
    return as_parameter(Tensor(array, dtypes.of(array.dtype) if dtype is None else dtype))


def _parameter(data: Any = None, requires_grad: Any = True) -> Tensor:
    if data is None:
        default = dtypes.get_default()
        return as_parameter(Tensor(np.empty(0, default.np), default), bool(requires_grad))
    if type(data) is not Tensor:
        raise no_attribute(data, "detach")
    return as_parameter(data, bool(requires_grad))


PARAMETER = ScriptType("Parameter", "torch.nn.parameter", _parameter, lambda value: type(value) is Tensor and value.is_parameter)
