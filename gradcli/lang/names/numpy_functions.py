"""The functions of the small numpy: universal functions of numbers, tensors and arrays, with numpy's own results."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gradcli import limits
from gradcli.core.autograd import tensor_state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError, of_python
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.value_classes import Builtin, NumpyArray

_ELEMENTWISE: tuple[np.ufunc, ...] = (
    *(np.arccos, np.arccosh, np.arcsin, np.arcsinh, np.arctan, np.arctan2, np.arctanh, np.ceil, np.cos, np.cosh, np.degrees),
    *(np.exp, np.exp2, np.expm1, np.floor, np.fmod, np.hypot, np.isfinite, np.isinf, np.isnan, np.log, np.log10, np.log1p),
    *(np.log2, np.radians, np.sin, np.sinh, np.sqrt, np.tan, np.tanh, np.trunc),
)


def _operand(name: str, value: Value) -> Value:
    """What numpy computes with for a value: the array of a tensor, which must not require grad. Raises RuntimeError, TypeError."""
    if type(value) is Tensor:
        return tensor_state.to_numpy(value)
    if type(value) is NumpyArray:
        return value.array
    if type(value) in (bool, int, float):
        return value
    raise ProgramError(
        "TypeError", f"numpy.{name} of a {type(value).__name__} is not part of gradcli", hints=["torch.tensor(...) makes a tensor"]
    )


def _function(ufunc: np.ufunc, name: str) -> Callable[..., Value]:
    def run(*args: Value) -> Value:
        operands = [_operand(name, value) for value in args]
        try:
            limits.check_elements(math.prod(np.broadcast_shapes(*map(np.shape, operands))), 8)
            with np.errstate(all="ignore"):
                found = ufunc(*operands)
        except (TypeError, ValueError, OverflowError) as error:
            raise of_python(error, str(error)) from None
        if Tensor in map(type, args):
            # a tensor has numpy's mask as uint8
            return wrap(np.asarray(found, np.uint8 if found.dtype.kind == "b" else found.dtype))
        return NumpyArray(found) if isinstance(found, np.ndarray) else found.item()

    return run


#: by name; `abs` is numpy's other name of `absolute`
FUNCTIONS: dict[str, Value] = {
    name: Builtin(name, _function(ufunc, name)) for name, ufunc in [("abs", np.absolute), *((u.__name__, u) for u in _ELEMENTWISE)]
}
