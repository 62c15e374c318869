"""The `reduction` of losses, as a word and as the number that functions under `torch` take, what losses do with it, and their dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op
from gradcli.core.kernels import Array, half_to_single
from gradcli.core.kernels.summation import total
from gradcli.core.ops.operators import is_true
from gradcli.core.ops.reduce.sum_mean import mean_all, sum_all
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError

#: the numbers of C++; every other number means "none"
_NUMBERS = {1: "mean", 2: "sum"}
_OF_WORDS = {"none": 0, "mean": 1, "sum": 2}


class OfSecond(Op):
    """A loss in the dtype of its target, or the derivative of a loss in the dtype of the tensor that it belongs to."""

    __slots__ = ()

    def _wrap(self, result: Any, inputs: Any) -> Tensor:
        return super()._wrap(result, inputs[1:])


def checked_reduction(reduction: str, text: str = " is not a valid value for reduction", joined: bool = False) -> str:
    """The reduction itself. Raises ValueError for an unknown name; where PyTorch has `joined` it with `text`, TypeError for no string."""
    if not isinstance(reduction, str) or reduction not in _OF_WORDS:
        if joined and not isinstance(reduction, str):
            raise type_error("unsupported operand type(s) for +: '{}' and 'str'", reduction)
        raise ProgramError("ValueError", f"{formatted(reduction)}{text}")
    return reduction


def legacy_reduction(size_average: object, reduce: object, reduction: str) -> str:
    """The reduction that the deprecated arguments ask for, with PyTorch's warning; `reduction` where both are None."""
    if size_average is None and reduce is None:
        return reduction
    average = size_average is None or is_true(size_average)
    wanted = ("mean" if average else "sum") if reduce is None or is_true(reduce) else "none"
    warnings.emit(f"size_average and reduce args will be deprecated, please use reduction='{wanted}' instead.", once=f"reduction {wanted}")
    return wanted


def reduced(values: Tensor, reduction: str) -> Any:
    """The losses of the elements reduced, by operations that are recorded."""
    if reduction == "mean":
        return mean_all(values)
    return sum_all(values) if reduction == "sum" else values


def under_torch(name: str, run: Callable[..., Any], signature: str, doc: str, sample: Sample) -> Function:
    """The function under `torch` that calls `run`, with the parameters of `signature` and a number as `reduction`."""
    names = [part.split("=")[0].split()[-1] for part in signature.split(", ")]

    def call(*values: Any) -> Any:
        given = dict(zip(names, values, strict=True))
        return run(**(given | {"reduction": reduction_word(given["reduction"])}))

    return Function(name, (signature, call), doc=doc, samples=(sample,), method=False)


def reduction_number(size_average: object, reduce: object, reduction: str) -> int:
    """The number of the reduction that the arguments of a loss ask for. Raises ValueError for an unknown name."""
    return _OF_WORDS[checked_reduction(legacy_reduction(size_average, reduce, reduction))]


def reduction_word(number: int) -> str:
    """The name of a reduction that is given as a number; a number that has none, and stands for "none", as a text."""
    return _NUMBERS.get(number, str(number) if number else "none")


# --- in records ---

#: for formulas: what the gradient is divided by, and the weight of each element
N = 'n = input.numel() if reduction == "mean" else 1; '
W = "w = 1 if weight is None else weight; "


def reduced_array(values: Array, reduction: str) -> Any:
    """The losses of the elements reduced, in the order of PyTorch's sums."""
    if reduction not in ("mean", "sum"):
        return values
    if reduction == "sum":
        return total(values)
    wide = half_to_single(values)  # the mean of half precision is rounded once
    return np.asarray(total(wide) / wide.dtype.type(values.size), values.dtype)


def share(x: Any, reduction: str) -> float:
    """The factor of each element of x in the result: 1, or 1 / n for a mean."""
    if reduction != "mean":
        return 1.0
    return 1.0 / x.size if x.size else math.inf
