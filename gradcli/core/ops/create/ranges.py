"""Evenly spaced numbers: arange, range, linspace, logspace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.functions.out import Out
from gradcli.core.kernels import Array, elementary
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.create.leaf import OPTIONS, leaf, making
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of, wide_scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

Made = tuple[Array, DType]


def _check_step(start: Any, end: Any, step: Any) -> None:
    if not (step > 0 or step < 0):
        raise runtime_error("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise runtime_error(f"unsupported range: {start:g} -> {end:g}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise runtime_error("upper bound and lower bound inconsistent with step sign")


def _real(number: Any, dtype: DType = dtypes.float64) -> Any:
    """The number, a complex one in a real dtype. Raises RuntimeError for an imaginary part."""
    return scalar_of(number, dtype) if type(number) is complex else number


def _whole(start: Any, end: Any, step: Any) -> tuple[int, int, int]:
    """The ends and the step as integers. Raises ValueError for a step below 1, RuntimeError for a number that is too large."""
    whole = scalar_of(start, dtypes.int64), scalar_of(end, dtypes.int64), scalar_of(step, dtypes.int64)
    if not int(step):
        raise ProgramError("ValueError", "step must be nonzero")
    return whole


def _stepped(start: Any, step: Any, count: int, dtype: DType) -> Made:
    """`count` numbers from `start` on."""
    limits.check_elements(count, dtype.itemsize)
    if dtype.is_floating_point:
        return dtypes.cast(start + step * np.arange(count, dtype=np.float64), dtype), dtype
    return (int(start) + int(step) * np.arange(count, dtype=np.int64)).astype(dtype.np), dtype


def _arange(start: Any, end: Any, step: Any, dtype: DType | None) -> Made:
    if dtype is None:
        dtype = dtypes.get_default() if any(type(v) in (float, complex) for v in (start, end, step)) else dtypes.int64
    if dtype is dtypes.bool_ or dtype.is_complex:
        raise not_implemented("arange_cpu", dtype)
    start, end, step = _real(start), _real(end), _real(step)
    _check_step(start, end, step)
    if dtype is dtypes.int64:
        start, end, step = map(int, _whole(start, end, step))
    elif not dtype.is_floating_point:
        scalar_of(step, dtypes.int64)
    count = -((start - end) // step) if dtype is dtypes.int64 else math.ceil((end - start) / step)
    if max(count, abs(end - start) if dtype is dtypes.int64 else 0) >= 1 << 63:
        raise runtime_error("invalid size, possible overflow?")
    return _in_registers(start, step, count, dtype) if dtype.is_floating_point else _stepped(start, step, count, dtype)


def _in_registers(start: Any, step: Any, count: int, dtype: DType) -> Made:
    """`count` floats from `start` on, as PyTorch's vector code computes them.

    It rounds the first number of a register, of 32 bytes, and adds the multiples of the step to it. It takes two registers at a
    time; the numbers that fill no two are computed from `start`.
    """
    limits.check_elements(count, dtype.itemsize)
    lanes = 32 // dtype.itemsize
    start, step, at = np.float64(start), np.float64(step), np.arange(count, dtype=np.float64)
    values = elementary.fused(step, at, start)
    whole = count - count % (2 * lanes)
    lane = at[:whole] % lanes
    first = dtypes.cast(elementary.fused(step, at[:whole] - lane, start), dtype).astype(np.float64)
    values[:whole] = elementary.fused(lane, step, first)
    return dtypes.cast(values, dtype), dtype


def _warn_of_range() -> None:
    warnings.emit(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's range "
        "builtin. Instead, use torch.arange, which produces values in [start, end)."
    )


def _range(start: Any, end: Any, step: Any, dtype: DType | None) -> Made:
    if dtype is not None and (dtype is dtypes.bool_ or dtype.is_complex):
        raise not_implemented("range_cpu", dtype)
    wanted = dtype or dtypes.get_default()
    kind = dtypes.int64 if not wanted.is_floating_point else dtypes.float64 if wanted.itemsize > 2 else dtypes.float32
    start, end, step = _real(start, kind), _real(end, kind), _real(step, kind)
    for value in (start, end, step):
        scalar_of(value, wanted if wanted.is_floating_point else dtypes.int64)
    _check_step(start, end, step)
    if not wanted.is_floating_point:
        start, end, step = _whole(start, end, step)
    return _stepped(start, step, int((end - start) / step) + 1, wanted)


def _range_leaf(
    start: Any, end: Any, step: Any, dtype: DType | None, layout: Any, device: Any, requires_grad: bool, warned: bool = False
) -> Tensor:
    if not warned:
        _warn_of_range()
    return leaf(*_range(start, end, step, dtype), requires_grad)


def _number(value: Any) -> Any:
    """The number of a 0-d tensor; a number itself."""
    return value.item() if type(value) is Tensor and not value.array.ndim else value


def _ends(name: str, start: Any, end: Any) -> tuple[Any, Any]:
    """Both ends as numbers. Raises RuntimeError for a tensor that has dimensions."""
    given = {what: value for what, value in (("start", start), ("end", end)) if type(value) is Tensor}
    if any(value.array.ndim for value in given.values()):
        found = " and ".join(f"{what} with {value.array.ndim} dimension(s)" for what, value in given.items())
        raise shape_error(f"{name} only supports 0-dimensional start and end tensors, but got {found}.")
    return _number(start), _number(end)


def linear(name: str, start: Any, end: Any, steps: int, dtype: DType) -> Array:
    """Evenly spaced values, from both ends toward the middle in the precision of `dtype`, as PyTorch's kernel computes them."""
    start, end = _ends(name, start, end)
    if steps < 0:
        raise runtime_error("number of steps must be non-negative")
    if dtype is dtypes.bool_ and steps > 1:
        raise not_implemented(f"{name}_cpu", dtype)
    limits.check_elements(steps, dtype.itemsize)
    if steps > 1:
        start, end = scalar_of(start, dtype), scalar_of(end, dtype)
    if dtype.is_complex:
        return _linear_of_parts(name, complex(start), complex(end), steps, dtype)
    work = np.float64 if name == "logspace" or dtype is dtypes.float64 or not dtype.is_floating_point else np.float32
    if steps == 1:
        return np.array([start], work)
    first: Any = work(start)
    last: Any = work(end)
    count = max(steps - 1, 1)
    at: Any = np.arange(steps, dtype=work)
    lower = np.arange(steps) < steps // 2
    if name == "logspace":  # the ends and their distance are rounded to the dtype; the rest is in double precision
        first, last = (dtypes.cast(x, dtype).astype(np.float64) for x in (first, last))
        step = dtypes.cast(last - first, dtype).astype(np.float64) / count
        return np.asarray(np.where(lower, first + step * at, last - step * at[::-1]))
    if dtype in (dtypes.float16, dtypes.bfloat16):  # each operation rounds, and so does the conversion of the counts
        first, last, at = (dtypes.stored(x, dtype) for x in (first, last, at))
        step = dtypes.stored(dtypes.stored(last - first, dtype) / dtypes.stored(np.asarray(count, work), dtype), dtype)
        up, down = (dtypes.stored(step * counts, dtype) for counts in (at, at[::-1]))
        return np.asarray(np.where(lower, first + up, last - down))
    step = (last - first) / work(count)
    return np.asarray(np.where(lower, elementary.fused(step, at, first), elementary.fused(-step, work(steps - 1) - at, last)), work)


def _linear_of_parts(name: str, start: complex, end: complex, steps: int, dtype: DType) -> Array:
    """Evenly spaced complex numbers: each of both parts by itself; the exponents of `logspace` without a fused product."""
    made = np.empty(steps, dtype.np)
    if name == "linspace" or steps < 2:
        parts = ((start.real, end.real), (start.imag, end.imag))
        made.real, made.imag = (linear("linspace", first, last, steps, dtype.real) for first, last in parts)
        return made
    first, last = made.dtype.type(start), made.dtype.type(end)
    at = np.arange(steps, dtype=made.real.dtype)
    step = (last - first) / at[-1]
    return np.asarray(np.where(at < steps // 2, first + step * at, last - step * at[::-1]))


def _one(value: Any, dtype: DType) -> Array:
    """A single number as `dtype`. Raises RuntimeError for one that does not fit."""
    return dtypes.cast(np.array([wide_scalar_of(value, dtype)]), dtype)


def _dtype_between(name: str, start: Any, end: Any, dtype: DType | None) -> DType:
    """The dtype of numbers between two ends. Raises RuntimeError for a real one where an end is complex."""
    default = dtypes.get_default()
    if complex not in map(type, _ends(name, start, end)):
        return dtype or default
    inferred = dtypes.complex_of(default)
    if dtype is not None and not dtype.is_complex:
        raise runtime_error(f"torch.{name}(): inferred dtype {inferred.c_name} can't be safely cast to passed dtype {dtype.torch_name}")
    return dtype or inferred


def _linspace(start: Any, end: Any, steps: int, dtype: DType | None) -> Made:
    wanted = _dtype_between("linspace", start, end, dtype)
    values = linear("linspace", start, end, steps, wanted)
    return _one(_number(start), wanted) if steps == 1 else dtypes.cast(values, wanted), wanted


def _logspace(start: Any, end: Any, steps: int, base: float, dtype: DType | None) -> Made:
    wanted = _dtype_between("logspace", start, end, dtype)
    exponents = linear("logspace", start, end, steps, wanted)
    if wanted.is_complex:
        return elementary.complex_power(np.asarray(base, wanted.np), exponents), wanted
    if steps == 1:  # a single exponent is not rounded to the dtype first
        exponents = np.asarray([_number(start)], np.float64)
    number = np.float64(base)
    # the C library's function, not the vector code of numpy's arrays
    values = np.asarray([number**e for e in exponents] if steps <= elementary.LARGEST else number**exponents)
    return _one(float(values[0]), wanted) if steps == 1 else dtypes.cast(values, wanted), wanted


def _between(more: str, run: Any) -> list[Overload]:
    """An overload for each way to give the ends, as numbers or tensors."""
    kinds = (("Tensor", "Tensor"), ("Number", "Tensor"), ("Tensor", "Number"), ("Number", "Number"))
    return [making(f"{first} start, {last} end, int steps{more}, *", run, late=True) for first, last in kinds]


def counted_out(operator: str = "", flat: bool = True, **more: Any) -> Out:
    """How `arange`, and what PyTorch makes by it, takes `out`; unless `flat`, it cannot have as many elements in another shape."""

    def warn_of_count(out: Tensor, result: Tensor) -> None:
        have, count = out.array.size, result.array.size
        if not flat and have == count and (out.array.ndim != 1 or not out.array.flags.c_contiguous):
            raise ProgramError("NotImplementedError", f"{operator} into an out of several dimensions or with gaps is not part of gradcli")
        if have not in (0, count):
            shape = list(out.array.shape)
            warnings.emit(
                f"The number of elements in the out tensor of shape {shape} is {have} which does not match the computed number of elements "
                f"{count}. Note that this may occur as a result of rounding error. The out tensor will be resized to a tensor of shape "
                f"({count},). (Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/RangeFactories.cpp:199.)"
            )

    return Out(operator=operator, autograd="fallback", silent=True, flat=True, check=warn_of_count, **more)


def _range_out(*_: Any) -> Out:
    """How `range` takes `out`: PyTorch warns before it looks at it."""
    _warn_of_range()
    return Out(autograd="fallback", silent=True, flat=True, inspect=lambda values, out: values.append(True))


_SPACED = Out(autograd="fallback", silent=True, flat=True)

FUNCTIONS = (
    Function(
        "arange",
        making("Number end, *", lambda end, dtype: _arange(0, end, 1, dtype)),
        making("Number start, Number end, *", lambda start, end, dtype: _arange(start, end, 1, dtype), f"{OPTIONS} |no out"),
        making("Number start, Number end, Number step=1, *", _arange),
        doc="Evenly stepped values, the end left out.",
        samples=(Sample("arange(1, 10, 2)"),),
        method=False,
        out=counted_out(),
    ),
    Function(
        "range",
        ("Number start, Number end, Number step=1, *, " + OPTIONS.replace("bool pin_memory=False, ", ""), _range_leaf),
        doc="Numbers from start to end, which is included; use arange.",
        samples=(Sample("torch.range(1, 3)"),),
        method=False,
        out=_range_out,
    ),
    Function(
        "linspace",
        *_between("", _linspace),
        doc="Evenly spaced values, both ends included.",
        samples=(Sample("linspace(0, 1, 5)"),),
        method=False,
        out=_SPACED,
    ),
    Function("logspace", *_between(", float base=10.0", _logspace), doc="base to evenly spaced powers.", method=False, out=_SPACED),
)
