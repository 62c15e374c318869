"""The tensor functions that formulas call by name, so that gradients follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.ops.index.indexing import setitem
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

#: what a parameter may be
Number = (int, float, bool)


class Functions:
    """`f.log(x)` calls `torch.log`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return catalog.function(name)


f = Functions()


def f_special(name: str, *args: Tensor) -> Tensor:
    """Call `torch.special.name`."""
    return catalog.function(f"special.{name}")(*args)


def f_nn(name: str, *args: Any, **kwargs: Any) -> Tensor:
    """Call `torch.nn.functional.name`."""
    return catalog.function(f"nn.functional.{name}")(*args, **kwargs)


def linear(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call `torch.linalg.name`, which gives a tensor or a named tuple of several."""
    return catalog.function(f"linalg.{name}")(*args, **kwargs)


def method(name: str, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Call `x.name(...)`."""
    return catalog.method(name).method(x, args, kwargs)


def cast(x: Tensor, dtype: DType) -> Tensor:
    """The tensor in a dtype."""
    return x if x.dtype is dtype else method("to", x, dtype)


def together(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors broadcast to one shape; numbers take the dtype of the first tensor. ValueError for other values."""
    tensors = [value for value in values if type(value) is Tensor]
    if not all(type(value) is Tensor or isinstance(value, Number) for value in values):
        text = "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        raise ProgramError("ValueError", text)
    dtype = tensors[0].dtype if tensors else dtypes.get_default()
    made = [value if type(value) is Tensor else f.tensor(value, dtype=dtype) for value in values]
    return tuple(f.broadcast_tensors(*made))


def expand(x: Tensor, shape: Sequence[int]) -> Tensor:
    """The tensor repeated to a shape."""
    return method("expand", x, tuple(shape))


def nan_where(condition: Tensor, x: Tensor, value: float = math.nan) -> Tensor:
    """The tensor with another value where the condition holds."""
    if x.dim():
        return f.index_put(x, (condition,), f.tensor(value, dtype=x.dtype))
    made: Tensor = f.clone(x)
    setitem(made, condition, value)
    return made


def sum_last(x: Tensor, count: int) -> Tensor:
    """The sum over the last `count` dimensions."""
    return f.sum(f.reshape(x, (*x.shape[: x.dim() - count], -1)), -1) if count else x


def _checked(dtype: DType) -> DType:
    """The dtype itself. Raises TypeError for one of integers."""
    if not dtype.is_differentiable:
        raise ProgramError("TypeError", "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
    return dtype


def smallest(dtype: DType) -> float:
    """The smallest normal number of a dtype."""
    return float(np.finfo(_checked(dtype).np).tiny)


def precision(dtype: DType) -> float:
    """The distance from 1 to the next number of a dtype."""
    return 2.0**-7 if dtype is dtypes.bfloat16 else float(np.finfo(_checked(dtype).np).eps)


def between_0_and_1(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the dtype's precision."""
    eps = precision(probs.dtype)
    return f.clamp(probs, min=eps, max=1 - eps)


def log_odds(probs: Tensor) -> Tensor:
    """The logits of probabilities of single events."""
    kept = between_0_and_1(probs)
    return f.log(kept) - f.log1p(-kept)


def row_logits(probs: Tensor) -> Tensor:
    """The logarithms of probabilities, kept away from 0 and 1."""
    return f.log(between_0_and_1(probs))
