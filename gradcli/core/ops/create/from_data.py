"""Creation: tensors from data, constants, ranges and the shapes of other tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.signature import hooks, scalar_of, stored
from gradcli.core.functions.function import Function, Sample
from gradcli.core.kernels import elementary
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import state
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError, runtime_error

_MAX_DIMS = 128
_MOST_DIMS = 64


def finish(array: Array, dtype: DType, requires_grad: bool = False) -> Tensor:
    """A fresh leaf; PyTorch's error where its dtype cannot require gradients."""
    out = Tensor(array, dtype)
    if requires_grad:
        if not dtype.is_floating_point:
            raise runtime_error("Only Tensors of floating point and complex dtype can require gradients")
        out.requires_grad = True
    if state.inference:
        out.meta = {"inference": True}
    return out


# --- from data ---


def _sizes(data: Any) -> list[int]:
    """The shape that nested sequences claim: the lengths of their first elements. A tensor in first place stands for one number."""
    sizes: list[int] = []
    while True:
        if not isinstance(data, (list, tuple, str, range)):
            return sizes
        sizes.append(len(data))
        if len(sizes) > _MAX_DIMS:
            raise ProgramError("ValueError", f"too many dimensions '{hooks.type_name(data)}'")
        if not data:
            return sizes
        data = data[0]


def _collect(data: Any, sizes: list[int]) -> list[Any]:
    """The elements in row-major order, level by level; PyTorch's errors for ragged data."""
    level: list[Any] = [data]
    for depth, size in enumerate(sizes):
        below: list[Any] = []
        for part in level:
            if type(part) is Tensor:
                if part.array.ndim == 0:
                    raise ProgramError("TypeError", "not a sequence")
                part = [Tensor(np.asarray(row), part.dtype) for row in part.array]
            elif not isinstance(part, (list, tuple, range)):
                raise ProgramError("TypeError", "not a sequence")
            if len(part) != size:
                raise ProgramError("ValueError", f"expected sequence of length {size} at dim {depth} (got {len(part)})")
            below.extend(part)
        limits.check_elements(len(below))
        level = below
    return level


def _infer(elements: list[Any]) -> DType:
    found: DType | None = None
    for kind in dict.fromkeys(map(type, elements)):
        if kind is float:
            dtype = dtypes.get_default()
        elif kind is int:
            dtype = dtypes.int64
        elif kind is bool:
            dtype = dtypes.bool_
        elif kind in (Tensor, list, tuple, range):
            continue
        else:
            value = next(e for e in elements if type(e) is kind)
            if kind is str:
                raise ProgramError("TypeError", "new(): invalid data type 'str'")
            raise runtime_error(f"Could not infer dtype of {hooks.type_name(value)}")
        found = dtype if found is None else dtypes.promote(found, dtype)
    for element in elements:
        if type(element) is Tensor:
            found = element.dtype if found is None else dtypes.promote(found, element.dtype)
        elif isinstance(element, (list, tuple, range)):
            inner = _infer(list(element))
            found = inner if found is None else dtypes.promote(found, inner)
    return dtypes.get_default() if found is None else found


def _numbers(elements: list[Any], dtype: DType) -> Array:
    """Elements as an array of `dtype`, with PyTorch's errors for what is no number of that kind."""
    kinds = set(map(type, elements))
    if not kinds <= {int, float, bool}:
        elements = [_scalar(e, dtype) for e in elements]
        kinds = set(map(type, elements))
    if dtype.is_floating_point:
        try:
            array = np.array(elements, np.float64)
        except OverflowError:
            raise ProgramError("OverflowError", "int too large to convert to float") from None
        return dtypes.cast(array, dtype)
    if dtype is dtypes.bool_:
        return np.array([bool(e) for e in elements], np.bool_)
    if float in kinds:
        return np.array([scalar_of(e, dtype, dtype.name) for e in elements], dtype.np)
    try:
        array = np.array(elements, np.int64) if elements else np.zeros(0, np.int64)
    except OverflowError:
        raise ProgramError("ValueError", "Overflow when unpacking long long") from None
    if dtype is not dtypes.int64 and elements:
        info = np.iinfo(dtype.np)
        low = info.min or -info.max
        if array.max(initial=0) > info.max or array.min(initial=0) < low:
            raise runtime_error(f"value cannot be converted to type {dtype.name} without overflow")
    return array.astype(dtype.np)


def _scalar(element: Any, dtype: DType) -> Any:
    if type(element) is Tensor:
        if element.array.size != 1 and dtype.is_floating_point:
            raise ProgramError("ValueError", "only one element tensors can be converted to Python scalars")
        if element.array.size != 1:
            raise ProgramError("TypeError", "only integer tensors of a single element can be converted to an index")
        return element.item()
    if type(element) in (int, float, bool):
        return element
    kind = hooks.type_name(element)
    if dtype.is_floating_point:
        raise ProgramError("TypeError", f"must be real number, not {kind}")
    raise ProgramError("TypeError", f"'{kind}' object cannot be interpreted as an integer")


def from_data(data: Any, dtype: DType | None = None) -> Tensor:
    """A tensor of nested lists, tuples, numbers and tensors."""
    if isinstance(data, str):
        raise ProgramError("TypeError", "new(): invalid data type 'str'")
    if type(data) is Tensor:
        wanted = dtype or data.dtype
        return Tensor(dtypes.cast(data.array, wanted), wanted)
    sizes = _sizes(data)
    check_rank(len(sizes))
    if 0 in sizes:  # nothing to store: what follows the first elements may be ragged
        wanted = dtype or _infer(list(data))
        return Tensor(np.zeros(sizes, wanted.np), wanted)
    elements = _collect(data, sizes)
    wanted = dtype or _infer(elements)
    array = _numbers(elements, wanted).reshape(sizes)
    return Tensor(array, wanted)


def tensor(data: Any, dtype: DType | None, device: Any, requires_grad: bool, pin_memory: bool) -> Tensor:
    """`torch.tensor`: always a copy, always a leaf."""
    if type(data) is Tensor:
        warnings.emit(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
        )
    made = from_data(data, dtype)
    return finish(made.array, made.dtype, requires_grad)


def as_tensor(data: Any, dtype: DType | None, device: Any) -> Tensor:
    """`torch.as_tensor`: the tensor itself where nothing changes."""
    if type(data) is Tensor:
        return data if dtype is None or dtype is data.dtype else from_data(data, dtype)
    return from_data(data, dtype)


# --- constants ---


def check_rank(rank: int) -> None:
    """numpy's arrays end at 64 dimensions."""
    if rank > _MOST_DIMS:
        raise runtime_error(f"tensors of more than {_MOST_DIMS} dimensions are not part of gradcli, got {rank}")


def _size(name: str, size: tuple[int, ...], dtype: DType) -> tuple[int, ...]:
    check_rank(len(size))
    count = 1
    for n in size:
        if n < 0:
            raise runtime_error(f"{name}: Dimension size must be non-negative.")
        count *= n
    limits.check_elements(count, dtype.itemsize)
    if math.prod(n or 1 for n in size) >= 1 << 63:
        raise runtime_error("Stride calculation overflowed")
    return size


def constant(name: str, size: tuple[int, ...], value: Any, dtype: DType, requires_grad: bool) -> Tensor:
    """A tensor filled with a number."""
    _size(name, size, dtype)
    return finish(np.full(size, value, dtype.np) if value else np.zeros(size, dtype.np), dtype, requires_grad)


def _filled(name: str, value: Any) -> Callable[..., Tensor]:
    def run(size: tuple[int, ...], dtype: DType | None, layout: Any, device: Any, pin_memory: bool, requires_grad: bool) -> Tensor:
        return constant(name, size, value, dtype or dtypes.get_default(), requires_grad)

    return run


def _filled_like(value: Any) -> Callable[..., Tensor]:
    def run(
        input: Tensor, memory_format: Any, dtype: DType | None, layout: Any, device: Any, pin_memory: bool, requires_grad: bool
    ) -> Tensor:
        wanted = dtype or input.dtype
        return finish(np.full_like(input.array, value, wanted.np, order="K"), wanted, requires_grad)

    return run


def _full(
    size: tuple[int, ...], fill_value: Any, dtype: DType | None, layout: Any, device: Any, pin_memory: bool, requires_grad: bool
) -> Tensor:
    wanted = dtype or dtypes.scalar_dtype(fill_value)
    return constant("full", size, scalar_of(fill_value, wanted), wanted, requires_grad)


def _full_like(
    input: Tensor, fill_value: Any, memory_format: Any, dtype: DType | None, layout: Any, device: Any, pin_memory: bool, requires_grad: bool
) -> Tensor:
    wanted = dtype or input.dtype
    return finish(np.full_like(input.array, scalar_of(fill_value, wanted), wanted.np, order="K"), wanted, requires_grad)


def _new_filled(value: Any) -> Callable[..., Tensor]:
    def run(
        input: Tensor, size: tuple[int, ...], dtype: DType | None, layout: Any, device: Any, pin_memory: bool, requires_grad: bool
    ) -> Tensor:
        return constant("empty", size, value, dtype or input.dtype, requires_grad)

    return run


def _new_full(
    input: Tensor,
    size: tuple[int, ...],
    fill_value: Any,
    dtype: DType | None,
    layout: Any,
    device: Any,
    pin_memory: bool,
    requires_grad: bool,
) -> Tensor:
    wanted = dtype or input.dtype
    return constant("new_full", size, stored(fill_value, wanted), wanted, requires_grad)


def _new_tensor(input: Tensor, data: Any, dtype: DType | None, device: Any, requires_grad: bool, pin_memory: bool) -> Tensor:
    made = from_data(data, dtype or input.dtype)
    return finish(made.array, made.dtype, requires_grad)


# --- ranges ---


def _range_dtype(values: tuple[Any, ...], dtype: DType | None) -> DType:
    if dtype is not None:
        return dtype
    return dtypes.get_default() if any(type(v) is float for v in values) else dtypes.int64


def arange_values(start: Any, end: Any, step: Any, dtype: DType) -> Array:
    """start, start + step, ... below end (above, for a negative step)."""
    if step == 0:
        raise runtime_error("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise runtime_error(f"unsupported range: {start} -> {end}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise runtime_error("upper bound and lower bound inconsistent with step sign")
    count = math.ceil((end - start) / step)
    limits.check_elements(count, dtype.itemsize)
    if dtype.is_floating_point:
        return dtypes.cast(start + step * np.arange(count, dtype=np.float64), dtype)
    return (int(start) + int(step) * np.arange(count, dtype=np.int64)).astype(dtype.np)


def _arange_end(end: Any, *rest: Any) -> Tensor:
    return _arange(0, end, 1, *rest)


def _arange_from(start: Any, end: Any, *rest: Any) -> Tensor:
    return _arange(start, end, 1, *rest)


def _arange(
    start: Any, end: Any, step: Any, dtype: DType | None, layout: Any, device: Any, pin_memory: bool, requires_grad: bool
) -> Tensor:
    wanted = _range_dtype((start, end, step), dtype)
    return finish(arange_values(start, end, step, wanted), wanted, requires_grad)


def _linear(name: str, start: Any, end: Any, steps: int, dtype: DType) -> Array:
    """Evenly spaced values in the precision of `dtype`, from both ends toward the middle, as torch's kernel computes them."""
    given = {what: value for what, value in (("start", start), ("end", end)) if type(value) is Tensor}
    if any(value.array.ndim for value in given.values()):
        found = " and ".join(f"{what} with {value.array.ndim} dimension(s)" for what, value in given.items())
        raise runtime_error(f"{name} only supports 0-dimensional start and end tensors, but got {found}.")
    start, end = (value.item() if type(value) is Tensor else value for value in (start, end))
    if steps < 0:
        raise runtime_error("number of steps must be non-negative")
    limits.check_elements(steps, dtype.itemsize)
    work = np.float64 if dtype is dtypes.float64 or not dtype.is_floating_point else np.float32
    if steps == 1:
        return np.array([start], work)
    first: Any = work(start)
    last: Any = work(end)
    step = (last - first) / work(max(steps - 1, 1))
    if dtype in (dtypes.float16, dtypes.bfloat16):
        step = work(dtypes.cast(np.asarray(step), dtype))
    at: Any = np.arange(steps, dtype=work)
    values = np.where(np.arange(steps) < steps // 2, elementary.fused(step, at, first), elementary.fused(-step, work(steps - 1) - at, last))
    return np.asarray(values, work)


def _linspace(
    start: Any, end: Any, steps: int, dtype: DType | None, layout: Any, device: Any, pin_memory: bool, requires_grad: bool
) -> Tensor:
    wanted = dtype or dtypes.get_default()
    return finish(dtypes.cast(_linear("linspace", start, end, steps, wanted), wanted), wanted, requires_grad)


def _logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float,
    dtype: DType | None,
    layout: Any,
    device: Any,
    pin_memory: bool,
    requires_grad: bool,
) -> Tensor:
    wanted = dtype or dtypes.get_default()
    values = np.power(np.asarray(base, np.float64), _linear("logspace", start, end, steps, wanted).astype(np.float64))
    return finish(dtypes.cast(values, wanted), wanted, requires_grad)


def _eye_square(n: int, *rest: Any) -> Tensor:
    return _eye(n, n, *rest)


def _eye(n: int, m: int, dtype: DType | None, layout: Any, device: Any, pin_memory: bool, requires_grad: bool) -> Tensor:
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise runtime_error(f"{name} must be greater or equal to 0, got {size}")
    wanted = dtype or dtypes.get_default()
    limits.check_elements(n * m, wanted.itemsize)
    return finish(np.eye(n, m, dtype=wanted.np), wanted, requires_grad)


def _tri_indices(lower: bool) -> Callable[..., Tensor]:
    def run(row: int, col: int, offset: int, dtype: DType | None, device: Any) -> Tensor:
        limits.check_elements(row * col, 8)
        pair = np.tril_indices(row, offset, col) if lower else np.triu_indices(row, offset, col)
        wanted = dtype or dtypes.int64
        return finish(np.stack(pair).astype(wanted.np), wanted)

    return run


_OPTIONS = "*, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False"
_ENDS = ("Tensor start, Tensor end", "Number start, Tensor end", "Tensor start, Number end", "Number start, Number end")
_LIKE = (
    "Tensor input, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, "
    "bool pin_memory=False, bool requires_grad=False"
)
_LIKE_FULL = _LIKE.replace("Tensor input, *", "Tensor input, Number fill_value, *")

FUNCTIONS = (
    Function(
        "tensor",
        ("any data, *, dtype? dtype=None, device? device=None, bool requires_grad=False, bool pin_memory=False", tensor),
        doc="A tensor of numbers and nested lists; a copy.",
        samples=(Sample("tensor([[1., 2.], [3., 4.]])"),),
        method=False,
    ),
    Function(
        "as_tensor",
        ("any data, *, dtype? dtype=None, device? device=None", as_tensor),
        doc="A tensor of data; the tensor itself where it is one.",
        method=False,
    ),
    Function("asarray", ("any obj, *, dtype? dtype=None, device? device=None", as_tensor), doc="As as_tensor.", method=False),
    Function(
        "zeros", (f"ints size, {_OPTIONS}", _filled("zeros", 0)), doc="Zeros.", samples=(Sample("zeros(2, 3)"),), method=False, out=True
    ),
    Function("ones", (f"ints size, {_OPTIONS}", _filled("ones", 1)), doc="Ones.", samples=(Sample("ones(2, 3)"),), method=False, out=True),
    # uninitialised memory is zeros here: the same program prints the same text every time
    Function("empty", (f"ints size, {_OPTIONS}", _filled("empty", 0)), doc="Uninitialised in PyTorch; zeros here.", method=False, out=True),
    Function(
        "full",
        (f"ints size, Number fill_value, {_OPTIONS}", _full),
        doc="One number everywhere.",
        samples=(Sample("full((2,), 7.)"),),
        method=False,
        out=True,
    ),
    Function("zeros_like", (_LIKE, _filled_like(0)), doc="Zeros of the same shape.", method=False),
    Function("ones_like", (_LIKE, _filled_like(1)), doc="Ones of the same shape.", method=False),
    Function("empty_like", (_LIKE, _filled_like(0)), doc="Uninitialised in PyTorch; zeros here.", method=False),
    Function("full_like", (_LIKE_FULL, _full_like), doc="One number in the same shape.", method=False),
    Function("new_zeros", (f"Tensor input, ints size, {_OPTIONS}", _new_filled(0)), doc="Zeros of the same dtype.", function=False),
    Function("new_ones", (f"Tensor input, ints size, {_OPTIONS}", _new_filled(1)), doc="Ones of the same dtype.", function=False),
    Function(
        "new_empty", (f"Tensor input, ints size, {_OPTIONS}", _new_filled(0)), doc="Uninitialised in PyTorch; zeros here.", function=False
    ),
    Function(
        "new_full",
        (f"Tensor input, ints size, Number fill_value, {_OPTIONS}", _new_full),
        doc="One number in the same dtype.",
        function=False,
    ),
    Function(
        "new_tensor",
        ("Tensor input, any data, *, dtype? dtype=None, device? device=None, bool requires_grad=False, bool pin_memory=False", _new_tensor),
        doc="A tensor of data in the same dtype.",
        function=False,
    ),
    Function(
        "arange",
        (f"Number end, {_OPTIONS}", _arange_end),
        (f"Number start, Number end, {_OPTIONS} |no out", _arange_from),
        (f"Number start, Number end, Number step=1, {_OPTIONS}", _arange),
        doc="Evenly stepped values, the end left out.",
        samples=(Sample("arange(1, 10, 2)"),),
        method=False,
        out=True,
    ),
    Function(
        "linspace",
        *((f"{ends}, int steps, {_OPTIONS}", _linspace) for ends in _ENDS),
        doc="Evenly spaced values, both ends included.",
        samples=(Sample("linspace(0, 1, 5)"),),
        method=False,
        out=True,
    ),
    Function(
        "logspace",
        *((f"{ends}, int steps, float base=10.0, {_OPTIONS}", _logspace) for ends in _ENDS),
        doc="base to evenly spaced powers.",
        method=False,
        out=True,
    ),
    Function(
        "eye",
        (f"int n, {_OPTIONS}", _eye_square),
        (f"int n, int m, {_OPTIONS}", _eye),
        doc="The identity matrix.",
        samples=(Sample("eye(3)"),),
        method=False,
        out=True,
    ),
    Function(
        "scalar_tensor",
        (
            f"Number s, {_OPTIONS}",
            lambda s, dtype, layout, device, pin, grad: constant(
                "scalar_tensor", (), stored(s, dtype or dtypes.get_default()), dtype or dtypes.get_default(), grad
            ),
        ),
        doc="A 0-d tensor.",
        method=False,
    ),
    Function(
        "tril_indices",
        ("int row, int col, int offset=0, *, dtype? dtype=None, device? device=None", _tri_indices(True)),
        doc="Indices of the lower triangle.",
        method=False,
    ),
    Function(
        "triu_indices",
        ("int row, int col, int offset=0, *, dtype? dtype=None, device? device=None", _tri_indices(False)),
        doc="Indices of the upper triangle.",
        method=False,
    ),
)
