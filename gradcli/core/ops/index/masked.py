"""Elements where a mask is True: masked_fill, masked_select, masked_scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.graph.write_checks import check_memory, check_overlap, warn_of_samples
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import Operand, check_broadcast, common_shape
from gradcli.core.ops.rules import zeros_as
from gradcli.core.ops.shape.broadcasting import expanded_shape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import scalar_of
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def _fill(x: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, np.asarray(value).astype(np.asarray(x).dtype), x)


_UNFILLED = Rule(lambda xp, grad, mask: xp.call(MASKED_FILL, grad, mask, 0), "grad.masked_fill(mask, 0)")
MASKED_FILL: Op = Op(
    "MaskedFillBackward0", _fill, "input", "mask value", saved="mask", layout="contiguous", jvp="transpose", complex=True, input=_UNFILLED
)
#: `masked_fill_` of a new result, which keeps its memory format
FILLED: Op = Op(
    "MaskedFillBackward0", _fill, "input", "mask value", saved="mask", layout="preserved", jvp="transpose", complex=True, input=_UNFILLED
)
MASKED_FILL_TENSOR = Op(
    "MaskedFillBackward1",
    lambda x, value, mask: _fill(x, mask, value),
    "input value",
    "mask",
    layout="contiguous",
    input=_UNFILLED,
    value=Rule(lambda xp, grad, mask: xp.sum(xp.call(MASKED_SELECT, grad, mask)), "grad.masked_select(mask).sum()"),
    complex=True,
    real_part=False,
)


def masked_fill(input: Tensor, mask: Tensor, value: Operand) -> Tensor:
    """A copy with `value`, a number or a 0-d tensor, where `mask` is True; the shapes of both tensors broadcast."""
    check_broadcast((mask.array, input.array))
    return _filled(input, mask, value)


def _masked_fill_(input: Tensor, mask: Tensor, value: Operand) -> Tensor:
    """The new values of `masked_fill_`, which looks at the shapes last; a mask may be the tensor, but no part of it."""
    made = _filled(input, mask, value)
    if mask.batch is None and input.batch is None:
        check_overlap(input, mask)
    return made


def _filled(input: Tensor, mask: Tensor, value: Operand) -> Tensor:
    if type(value) is Tensor and value.array.ndim:
        raise shape_error(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.array.ndim} dimension(s).")
    if mask.dtype is not dtypes.bool_:
        raise runtime_error(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.c_name}")
    check_broadcast((input.array, mask.array))
    if type(value) is Tensor and value.dtype.is_complex and not input.dtype.is_complex and not value.requires_grad:
        value = scalar_of(value.item(), input.dtype)
    if type(value) is Tensor:
        return MASKED_FILL_TENSOR(input, value, watched(mask))  # type: ignore[no-any-return]
    return MASKED_FILL(input, watched(mask), scalar_of(value, input.dtype))  # type: ignore[no-any-return]


def _masked_scatter(a: Array, source: Array, mask: Array) -> Array:
    shape = np.broadcast_shapes(a.shape, mask.shape)
    made = memory_format.zeros_like(a) if a.shape == shape else np.empty(shape, a.dtype)
    made[...] = a
    wide = np.broadcast_to(mask, shape)
    made[wide] = source.reshape(-1)[: np.count_nonzero(wide)]
    return made


def _masked_back(grad: Array, mask: Array, shape: Any) -> Array:
    made = np.zeros(shape, grad.dtype)
    taken = grad[np.broadcast_to(mask, grad.shape)]
    made.reshape(-1)[: taken.size] = taken
    return made


def _masked_select(a: Array, mask: Array) -> Array:
    shape = np.broadcast_shapes(a.shape, mask.shape)
    return np.asarray(np.broadcast_to(a, shape)[np.broadcast_to(mask, shape)])


def _masked_select_rule(xp: Any, grad: Any, input: Any, mask: Any, input_dtype: Any) -> Any:
    shape = np.broadcast_shapes(input.shape, mask.shape)
    zeros = zeros_as(xp, input) if input.shape == shape else xp.zeros(shape, input_dtype)
    return xp.call(_SCATTER_INTO, zeros, grad, mask)


MASKED_SELECT: Op = Op(
    "MaskedSelectBackward0",
    _masked_select,
    "input",
    "mask",
    saved="mask self",
    input=Rule(_masked_select_rule, "zeros_like(input).masked_scatter(mask, grad)"),
    complex=True,
)


def _scattering(**layout: Any) -> Op:
    return Op(
        "MaskedScatterBackward0",
        _masked_scatter,
        "input source",
        "mask",
        **layout,
        complex=True,
        input=Rule(lambda xp, grad, mask: xp.call(MASKED_FILL, grad, mask, 0.0), "grad.masked_fill(mask, 0)"),
        source=Rule(
            lambda xp, grad, mask, source_shape: xp.call(MASKED_SCATTER_BACK, grad, mask, source_shape),
            "taken = grad.masked_select(mask); F.pad(taken, (0, source.numel() - taken.numel())).reshape(source.shape)",
        ),
    )


MASKED_SCATTER = _scattering(layout="contiguous")
#: into zeros that are laid out as a tensor
_SCATTER_INTO = _scattering()
MASKED_SCATTER_BACK: Op = Op(
    "MaskedScatterBackwardBackward0",
    _masked_back,
    "input",
    "mask shape",
    saved="mask",
    input=Rule(
        lambda xp, grad, mask, input_shape, input_dtype: xp.call(MASKED_SCATTER, xp.zeros(input_shape, input_dtype), grad, mask),
        "zeros_like(input).masked_scatter(mask, grad)",
    ),
    complex=True,
)


def _check_mask(values: Sequence[Any], out: Tensor | None = None) -> None:
    if values[1].dtype is not dtypes.bool_:
        raise runtime_error("masked_select: expected BoolTensor for mask")


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` is True, as a vector; shapes broadcast."""
    _check_mask((input, mask))
    if state.mapped and state.mapped[-1].levels(mask):
        raise runtime_error(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch this "
            "would return a differently shaped Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
            "feature."
        )
    common_shape([mask.array.shape, input.array.shape])
    return MASKED_SELECT(input, watched(mask))  # type: ignore[no-any-return]


def _check_source(input: Tensor, source: Tensor) -> None:
    if input.dtype is not source.dtype:
        raise runtime_error(
            f"masked_scatter: expected self and source to have same dtypes but got{input.dtype.torch_name} and {source.dtype.torch_name}"
        )


def _masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The new values of `masked_scatter_`. Raises RuntimeError."""
    check_memory(input)
    _check_source(input, source)
    if np.may_share_memory(input.array, source.array):
        raise runtime_error("masked_scatter_ of a tensor that shares memory with its source is not part of gradcli")
    expanded_shape(mask, input.array.shape)
    if mask.dtype is dtypes.bool_:
        places = np.argwhere(np.broadcast_to(mask.array, input.array.shape))
        if len(places) > source.array.size > 0:  # PyTorch writes what there is before it raises its error
            input.array[tuple(places[: source.array.size].T)] = source.array.reshape(-1)
    return masked_scatter(input, mask, source)


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the elements of `source`, in their order, where `mask` is True; the shapes of input and mask broadcast."""
    warn_of_samples("masked_scatter", input, mask, source)
    shape = common_shape([mask.array.shape, input.array.shape])
    _check_source(input, source)
    if mask.dtype is dtypes.uint8:
        warnings.emit(
            "masked_scatter_ received a mask with dtype torch.uint8, this behavior is now deprecated,please use a mask with dtype "
            "torch.bool instead. (Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/TensorAdvancedIndexing.cpp:3130.)"
        )
    if mask.dtype is not dtypes.bool_:
        raise runtime_error(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.torch_name}")
    if source.array.size < np.count_nonzero(np.broadcast_to(mask.array, shape)):
        raise runtime_error("Number of elements of source < number of ones in mask")
    return MASKED_SCATTER(input, source, watched(mask))  # type: ignore[no-any-return]


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

_X = [0.5, -1.5, 2.0]

FUNCTIONS = (
    Function(
        "masked_fill",
        ("Tensor input, Tensor mask, Tensor value", masked_fill),
        ("Tensor input, Tensor mask, Number value", masked_fill),
        doc="input with value where mask is True.",
        ops=(MASKED_FILL, MASKED_FILL_TENSOR),
        samples=(
            Sample("x.masked_fill(x > 1, 9)", lambda x: np.where(x > 1, 9, x), x=_X),
            Sample("x.masked_fill(x > 1, y)", lambda x, y: np.where(x > 1, y, x), x=_X, y=0.7),
        ),
        written=(("Tensor input, Tensor mask, Tensor value", _masked_fill_), ("Tensor input, Tensor mask, Number value", _masked_fill_)),
        fills=True,
    ),
    Function(
        "masked_select",
        ("Tensor input, Tensor mask", masked_select),
        doc="The elements where a mask is True, as a vector.",
        ops=(MASKED_SELECT,),
        samples=(Sample("masked_select(x, x > 2.5)", lambda x: x[x > 2.5], x=_M),),
        out=Out("{name}(): self and result must have the same scalar type", first=True, inspect=_check_mask),
        overlap="any",
    ),
    Function(
        "masked_scatter",
        ("Tensor input, Tensor mask, Tensor source", masked_scatter),
        doc="A copy with elements of source written where a mask is True.",
        ops=(MASKED_SCATTER,),
        written=(("Tensor input, Tensor mask, Tensor source", _masked_scatter_),),
        samples=(Sample("masked_scatter(x, x > 4.5, v)", None, x=_M, v=[7.0, 8.0]),),
        inplace=True,
    ),
)
