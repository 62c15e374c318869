"""Dropout of elements and of whole channels, and alpha dropout, which keeps mean and variance after SELU."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph.inplace_forms import apply
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import result_dtype_error
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import not_implemented, with_method
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import ADD, MUL
from gradcli.core.ops.layers.samples import SQUARE
from gradcli.core.ops.operators import is_true, ordered
from gradcli.core.ops.rules import check_no_complex_gradient
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error

#: minus the limit of SELU for small arguments (Klambauer et al. 2017)
_ALPHA = 1.7580993408473766


def check_probability(p: float) -> None:
    """Raise RuntimeError for p outside [0, 1]."""
    if not 0.0 <= p <= 1.0:
        raise runtime_error(f"dropout probability has to be between 0 and 1, but got {p:g}")


def drop(input: Tensor, p: float, train: bool, channels: bool = False, alpha: bool = False, in_place: bool = False) -> Any:
    """All kinds of dropout; with `channels` the second dimension is dropped as a whole.

    Raises RuntimeError for p outside [0, 1], for a dtype that is not floating, and for channels of less than two dimensions.
    """
    check_probability(p)
    if not train or p == 0 or not input.array.size:
        return input
    factor, shift = _noise(input, p, channels, alpha)
    product = apply(input, lambda x: MUL(x, factor)) if in_place else MUL(input, factor)
    return product if shift is None else apply(product, lambda x: ADD(x, shift))


def _noise(input: Tensor, p: float, channels: bool, alpha: bool) -> tuple[Tensor, Tensor | None]:
    """The factor of each element and, for alpha dropout, what is added to it."""
    if p == 1:
        return Tensor(np.zeros((), input.dtype.np), input.dtype), None
    shape = input.array.shape
    if channels:
        if len(shape) < 2:
            raise shape_error("Feature dropout requires at least 2 dimensions in the input")
        shape = (*shape[:2], *(1 for _ in shape[2:]))
    if input.dtype.is_complex:
        raise not_implemented("bernoulli_scalar_cpu_", input.dtype)
    noise = np.empty(shape, input.dtype.np) if channels else memory_format.empty_like(input.array)
    kept = memory_format.filled(noise, lambda size: generator.default.bernoulli(1 - p, size, input.dtype))
    if not input.dtype.is_floating_point:  # PyTorch raises this after it has drawn
        raise result_dtype_error("Float", dtypes.int64 if alpha and input.dtype is dtypes.bool_ else input.dtype)
    kind = dtypes.widened(input.dtype).np.type
    if not alpha:
        return _as_tensor(np.divide(kept, kind(1 - p), out=kept, casting="same_kind"), kept, input.dtype), None
    a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    slope, least = (dtypes.stored(np.asarray(number, kind), input.dtype) for number in (_ALPHA * a, _ALPHA * a * p))
    shift = (kept - kind(1)) * slope + least
    return _as_tensor(kept * kind(a), kept, input.dtype), _as_tensor(shift, kept, input.dtype)


def _as_tensor(values: Array, like: Array, dtype: DType) -> Tensor:
    """Numbers that lie as the array `like`."""
    return Tensor(memory_format.laid_out(dtypes.cast(np.asarray(values), dtype), memory_format.element_strides(like)), dtype)


# --- with the mask ---


def _masked_rule(xp: Any, grad: Any, mask: Any, slope: float, input_dtype: DType) -> Any:
    kept = mask.astype(input_dtype.np)
    if xp is traced and state.enabled:
        return scalars.times_data(xp, grad, dtypes.stored(kept * kept.dtype.type(slope), input_dtype))
    return scalars.times(xp, scalars.times_data(xp, grad, kept), slope)


MASKED = Op(
    "NativeDropoutBackward0",
    lambda x, mask, scale, *_: x * mask if scale == 1 else x * mask * scale,
    "input",
    "mask scale slope p",
    layout="preserved",
    in_half=lambda dtype, x, mask, scale, *_: x * mask * dtypes.stored(np.asarray(scale, np.float32), dtype).astype(x.dtype),
    saved="p result1=mask",
    complex=True,
    jvp="linear",
    input=Rule(_masked_rule, "grad * mask * slope"),
)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout unless `train` is False, and which elements it keeps. The gradient is scaled only where `train` is True.

    Raises RuntimeError for p outside [0, 1] and for a dtype that is not floating.
    """
    check_no_complex_gradient("native_dropout", input)
    drops = (train is None or train) and input.array.size > 0
    draw = partial(generator.default.bernoulli, 1 - p, dtype=dtypes.bool_) if drops else np.ones
    kind = dtypes.bool_ if input.array.size else input.dtype
    mask = Tensor(memory_format.filled(memory_format.empty_like(input.array, kind.np), draw), kind)
    if drops and not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise result_dtype_error("Float", input.dtype)
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    return MASKED(input, mask.array, scale if drops else 1, scale if train else 1.0, p), mask


# --- torch.nn.functional ---


def _kernel(name: str, **how: bool) -> tuple[Function, Function]:
    """The function of C++ and its in-place form, by whether they write."""
    signature = "Tensor input, float p, bool train"
    return (
        kernel(name, signature, lambda input, p, train: drop(input, p, train, **how)),
        kernel(f"{name}_", signature, lambda input, p, train: drop(input, p, train, in_place=True, **how)),
    )


_DROPOUT = _kernel("dropout")
_ALPHA_DROPOUT = _kernel("alpha_dropout", alpha=True)
_FEATURE_DROPOUT = _kernel("feature_dropout", channels=True)
_FEATURE_ALPHA_DROPOUT = _kernel("feature_alpha_dropout", channels=True, alpha=True)


def _check(p: Any) -> None:
    if ordered(p, "<", 0.0) or ordered(p, ">", 1.0):
        raise ProgramError("ValueError", f"dropout probability has to be between 0 and 1, but got {formatted(p)}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each element is 0 with probability p; the others are divided by 1 - p. Raises ValueError for p outside [0, 1]."""
    _check(p)
    return _DROPOUT[is_true(inplace)](input, p, training)


def _drop_channels(input: Tensor, p: Any, training: Any, inplace: Any, batched: bool) -> Any:
    """Dropout of channels; an input that is not `batched` gets a batch dimension for the time being."""
    written = is_true(inplace)
    run = _FEATURE_DROPOUT[written]
    if batched:
        return run(input, p, training)
    suffix = "_" if written else ""
    framed = catalog.method(f"unsqueeze{suffix}").method(input, (0,), {})
    return catalog.method(f"squeeze{suffix}").method(run(framed, p, training), (0,), {})


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of the channels of inputs (channels, length) or (batch, channels, length). Raises RuntimeError for other ranks."""
    _check(p)
    rank = with_method(input, "dim").array.ndim
    if rank not in (2, 3):
        raise shape_error(
            f"dropout1d: Expected 2D or 3D input, but received a {rank}D input. Note that dropout1d exists to provide channel-wise dropout "
            "on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _drop_channels(input, p, training, inplace, rank == 3)


def _warn_of_rank(name: str, rank: int, spatial: int, dimensions: str) -> None:
    warnings.emit(
        f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an error in a future release. To retain the "
        f"behavior and silence this warning, please use dropout instead. Note that {name} exists to provide channel-wise dropout on inputs "
        f"with {spatial} spatial dimensions, a channel dimension, and an optional batch dimension (i.e. {dimensions} inputs)."
    )


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of the channels of images (batch, channels, height, width); warns of other ranks."""
    _check(p)
    rank = with_method(input, "dim").array.ndim
    if rank not in (3, 4):
        _warn_of_rank("dropout2d", rank, 2, "3D or 4D")
    if rank == 3:
        warnings.emit(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to interpret the "
            "input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please switch "
            "to using dropout1d instead."
        )
    return _drop_channels(input, p, training, inplace, True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of the channels of volumes, with or without a batch dimension; warns of other ranks."""
    _check(p)
    rank = with_method(input, "dim").array.ndim
    if rank not in (4, 5):
        _warn_of_rank("dropout3d", rank, 3, "4D or 5D")
    return _drop_channels(input, p, training, inplace, rank == 5)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Elements are set to the limit of SELU with probability p, then all are scaled and shifted (Klambauer et al. 2017)."""
    _check(p)
    return _ALPHA_DROPOUT[is_true(inplace)](input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Alpha dropout of whole channels."""
    _check(p)
    return _FEATURE_ALPHA_DROPOUT[is_true(inplace)](input, p, training)


def _declared(name: str, doc: str, *samples: Sample, **how: bool) -> Function:
    """The function under `torch`, which has no default for p."""
    signature = "Tensor input, float p, bool train"
    return Function(name, (signature, lambda input, p, train: drop(input, p, train, **how)), doc=doc, samples=samples, method=False)


_CHANNELS = "Whole channels set to 0 by chance, the others made larger."
_OTHER = "Dropout of another kind."
_WRITTEN = "Dropout of another kind, in place."
FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(dropout, "dropout", "Elements set to 0 by chance, the others made larger.", unchecked=True),
    _declared("dropout", "Elements set to 0 by chance."),
    _declared(
        "dropout_", "Elements set to 0 by chance, in place.", Sample("torch.dropout_(x * 1, 0.5, False)", np.copy, x=SQUARE), in_place=True
    ),
    PythonFunction(dropout1d, "dropout1d", _CHANNELS, unchecked=True),
    PythonFunction(dropout2d, "dropout2d", _CHANNELS, unchecked=True),
    PythonFunction(dropout3d, "dropout3d", _CHANNELS, unchecked=True),
    PythonFunction(alpha_dropout, "alpha_dropout", "Dropout that keeps mean and variance after SELU.", unchecked=True),
    PythonFunction(
        feature_alpha_dropout, "feature_alpha_dropout", "Dropout of channels that keeps mean and variance after SELU.", unchecked=True
    ),
    _declared("feature_dropout", _OTHER, channels=True),
    _declared("alpha_dropout", _OTHER, alpha=True),
    _declared("feature_alpha_dropout", _OTHER, channels=True, alpha=True),
    _declared("feature_dropout_", _WRITTEN, channels=True, in_place=True),
    _declared("alpha_dropout_", _WRITTEN, alpha=True, in_place=True),
    _declared("feature_alpha_dropout_", _WRITTEN, channels=True, alpha=True, in_place=True),
    Function(
        "native_dropout",
        ("Tensor input, float p, bool? train |2 outs", native_dropout),
        doc="Elements set to 0 by chance, and which are kept.",
        ops=(MASKED,),
        samples=(Sample("torch.native_dropout(x, 0.5, False)[0]", np.copy, x=SQUARE),),
        method=False,
    ),
)
