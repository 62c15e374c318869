"""Dropout of whole channels, and dropout that keeps mean and variance of what SELU gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph import in_place as inplace
from gradcli.core.ops.elementwise.add_multiply import ADD, MUL
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

#: minus the limit of SELU for small arguments
_ALPHA = 1.7580993408473766


def _noise(input: Tensor, p: float, features: bool) -> Any:
    """Ones and zeros; with `features` one for each channel."""
    shape = input.array.shape
    if features:
        if len(shape) < 2:
            raise ProgramError("RuntimeError", "Feature dropout requires at least 2 dimensions in the input")
        shape = (*shape[:2], *(1 for _ in shape[2:]))
    return generator.default.bernoulli(1 - p, shape, input.dtype.np, bfloat16=input.dtype is dtypes.bfloat16)


def drop(input: Tensor, p: float, train: bool, features: bool, alpha: bool) -> Any:
    """What PyTorch's four kinds of dropout have in common; p is checked already, or not."""
    if not 0.0 <= p <= 1.0:
        raise ProgramError("RuntimeError", f"dropout probability has to be between 0 and 1, but got {p:g}")
    if not train or p == 0 or not input.array.size:
        return input
    if p == 1:
        return MUL(input, Tensor(np.zeros((), input.dtype.np), input.dtype))
    noise = _noise(input, p, features)
    if not input.dtype.is_floating_point:
        raise inplace.result_dtype_error("Float", input.dtype)
    kind = noise.dtype.type
    if not alpha:
        return MUL(input, Tensor(dtypes.cast(np.asarray(noise / kind(1 - p)), input.dtype), input.dtype))
    a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = np.asarray((noise - kind(1)) * kind(_ALPHA * a) + kind(_ALPHA * a * p))
    factor = np.asarray(noise * kind(a))
    product = MUL(input, Tensor(dtypes.cast(factor, input.dtype), input.dtype))
    return ADD(product, Tensor(dtypes.cast(shift, input.dtype), input.dtype))


def _run(name: str, features: bool, alpha: bool, input: Tensor, p: Any, train: Any, in_place: bool) -> Any:
    if in_place:
        return inplace.apply(input, f"{name}_", lambda x: drop(x, float(p), bool(train), features, alpha))
    return drop(input, float(p), bool(train), features, alpha)


def _check(p: Any) -> None:
    if p < 0.0 or p > 1.0:
        raise ProgramError("ValueError", f"dropout probability has to be between 0 and 1, but got {p}")


def _framed(input: Tensor, p: Any, training: Any, in_place: bool, batched: bool) -> Any:
    """With a batch dimension for the time being, where there is none."""
    if batched:
        return _run("feature_dropout", True, False, input, p, training, in_place)
    suffix = "_" if in_place else ""
    framed = catalog.method(f"unsqueeze{suffix}").method(input, (0,), {})
    made = _run("feature_dropout", True, False, framed, p, training, in_place)
    return catalog.method(f"squeeze{suffix}").method(made, (0,), {})


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Channels of rows set to 0 by chance."""
    _check(p)
    rank = input.array.ndim
    if rank not in (2, 3):
        raise ProgramError(
            "RuntimeError",
            f"dropout1d: Expected 2D or 3D input, but received a {rank}D input. Note that dropout1d exists to provide channel-wise dropout "
            "on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).",
        )
    return _framed(input, p, training, inplace, rank == 3)


def _told(name: str, rank: int, spatial: int, dimensions: str) -> None:
    warnings.emit(
        f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an error in a future release. To retain the "
        f"behavior and silence this warning, please use dropout instead. Note that {name} exists to provide channel-wise dropout on inputs "
        f"with {spatial} spatial dimensions, a channel dimension, and an optional batch dimension (i.e. {dimensions} inputs)."
    )


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Channels of images set to 0 by chance."""
    _check(p)
    rank = input.array.ndim
    if rank not in (3, 4):
        _told("dropout2d", rank, 2, "3D or 4D")
    if rank == 3:
        warnings.emit(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to interpret the "
            "input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please switch "
            "to using dropout1d instead."
        )
    return _framed(input, p, training, inplace, True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Channels of volumes set to 0 by chance."""
    _check(p)
    rank = input.array.ndim
    if rank not in (4, 5):
        _told("dropout3d", rank, 3, "4D or 5D")
    return _framed(input, p, training, inplace, rank == 5)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Elements set to the least that SELU gives by chance, then scaled and shifted (Klambauer et al. 2017)."""
    _check(p)
    return _run("alpha_dropout", False, True, input, p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """The same with whole channels."""
    _check(p)
    return _run("feature_alpha_dropout", True, True, input, p, training, inplace)


def _plain(name: str, features: bool, alpha: bool) -> Function:
    def run(input: Tensor, p: float, train: bool) -> Any:
        return drop(input, p, train, features, alpha)

    return Function(name, ("Tensor input, float p, bool train", run), doc="Dropout of another kind.", method=False)


_CHANNELS = "Whole channels set to 0 by chance, the others made larger."
FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(dropout1d, "dropout1d", _CHANNELS, reads="dim"),
    PythonFunction(dropout2d, "dropout2d", _CHANNELS, reads="dim"),
    PythonFunction(dropout3d, "dropout3d", _CHANNELS, reads="dim"),
    PythonFunction(alpha_dropout, "alpha_dropout", "Dropout that keeps mean and variance after SELU.", checked_as="alpha_dropout"),
    PythonFunction(
        feature_alpha_dropout,
        "feature_alpha_dropout",
        "Dropout of channels that keeps mean and variance after SELU.",
        checked_as="feature_alpha_dropout",
    ),
    _plain("feature_dropout", True, False),
    _plain("alpha_dropout", False, True),
    _plain("feature_alpha_dropout", True, True),
)
