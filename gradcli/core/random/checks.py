"""Checks of what is to be drawn. Each raises ProgramError with PyTorch's message for what PyTorch refuses."""

from __future__ import annotations

import math

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.kernels import Array
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.errors import Code, ProgramError, runtime_error

LOWEST64 = -(2**63)
#: Bits of the significand, the hidden one included.
DIGITS = {dtypes.float16: 11, dtypes.bfloat16: 8, dtypes.float32: 24, dtypes.float64: 53}
_LARGEST = {
    dtypes.float16: 65504.0,
    dtypes.bfloat16: 2.0**127 * (2 - 2.0**-7),
    dtypes.float32: 2.0**127 * (2 - 2.0**-23),
    dtypes.float64: 2.0**1023 * (2 - 2.0**-52),
}
_FULL_RANGE = "random_full_64_bits_range_kernel_cpu"


def require_float(kind: DType, kernel: str) -> None:
    """Refuse a dtype that is not floating; `kernel` is what PyTorch's message calls the function."""
    if not kind.is_floating_point:
        refuse_dtype(kind, kernel)


def refuse_dtype(kind: DType, kernel: str) -> None:
    """Raise PyTorch's error for a dtype that `kernel` is not implemented for."""
    raise ProgramError("NotImplementedError", f"\"{kernel}\" not implemented for '{kind.torch_name}'")


def uniform_bounds(kind: DType, low: float, high: float) -> None:
    """Refuse bounds of `uniform_` in the wrong order, and bounds or a range that the dtype does not hold."""
    require_float(kind, "check_uniform_bounds")
    largest = _LARGEST[kind]
    _require(-largest <= low <= largest, f"from is out of bounds for {kind.c_name}")
    _require(-largest <= high <= largest, f"to is out of bounds for {kind.c_name}")
    _require(low <= high, f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    _require(
        high - low <= largest,
        f"uniform_ expects to-from <= std::numeric_limits<{kind.torch_name}>::max(), but found to={high:g} and from={low:g} "
        "which result in to-from to exceed the limit",
    )


def integer_range(low: int, high: int | None, kind: DType) -> tuple[int, int]:
    """The first integer of `random_(low, high)` and the one after the last.

    For floats the ends move inward to integers that the dtype holds. A missing `high` is the end of the dtype, or of all
    64 bits where `low` is the lowest integer.
    """
    if high is None and low == LOWEST64:
        return low, low + 2**64
    expects = "random_ expects 'from' "
    if high is None:
        if kind.is_floating_point:
            last = min(2 ** DIGITS[kind], 2**63 - 1)
            low = _held_from(low, kind)
            text = f"casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got from={low} > to_inc={last}"
            _require(low < last, expects + text)
        else:
            last = _integer_bounds(kind)[1]
        high = last + 1
    else:
        _require(low < high, f"{expects}to be less than 'to', but got from={low} >= to={high}")
        if kind.is_floating_point:
            low, high = _held_from(low, kind), _held_to(high, kind)
            _require(low < high, f"{expects}casted to dtype to be less than 'to' casted to dtype, but got from={low} >= to={high}")
    for value, name in ((low, "from"), (high - 1, "to - 1")):
        _bound(value, name, kind)
    return low, high


def _bound(value: int, name: str, kind: DType) -> None:
    if kind.is_floating_point:
        _require(abs(value) <= _LARGEST[kind], f"{name} is out of bounds for {kind.c_name}")
        digits = DIGITS[kind]
        if abs(value) > 2**digits:
            warnings.emit(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {kind.c_name} can support "
                "discrete uniform distribution only within this range. This warning will become an error in version 1.7 "
                "release, please fix the code in advance (Triggered internally at "
                f"/__w/pytorch/pytorch/aten/src/ATen/native/DistributionTemplates.h:{110 if name == 'from' else 111}.)"
            )
        return
    first, last = _integer_bounds(kind)
    _require(first <= value <= last, f"{name} is out of bounds for {kind.c_name}")


def _integer_bounds(kind: DType) -> tuple[int, int]:
    if kind is dtypes.bool_:
        return 0, 1
    info = np.iinfo(kind.np)
    return int(info.min), int(info.max)


def _stored(value: int, kind: DType) -> int:
    """The integer after a round trip through a float; an infinity becomes the lowest integer, as on x86-64."""
    with np.errstate(over="ignore"):
        there = np.array([value]).astype(np.float64 if kind is dtypes.float64 else np.float32)
        back = float(dtypes.cast(there, kind)[0])
    return int(back) if math.isfinite(back) and back < 2.0**63 else LOWEST64


def _held_from(low: int, kind: DType) -> int:
    """The first integer from `low` on that a floating dtype holds."""
    after = _stored(low + 1, kind)
    if after >= low:
        return low
    return after + (1 << max(abs(low + 1).bit_length() - DIGITS[kind], 0))


def _held_to(high: int, kind: DType) -> int:
    """The end of a range below `high` of integers that a floating dtype holds."""
    before = _stored(high - 1, kind)
    if before < high:
        return high
    return before - (1 << max(abs(high - 1).bit_length() - DIGITS[kind], 0))


def full_range(kind: DType) -> None:
    """Refuse a dtype that `random_` does not fill with all 64 bits."""
    if kind in (dtypes.bool_, dtypes.float16):
        refuse_dtype(kind, _FULL_RANGE)
    _require(kind is dtypes.int64 or kind.is_floating_point, f"{_FULL_RANGE} handles only int64, double, float and bfloat16")


def permutation(n: int, kind: DType) -> None:
    """Refuse a size of `randperm` whose numbers the dtype does not hold."""
    _require(n >= 0, f"Trying to create tensor with negative dimension {n}: [{n}]")
    if kind is dtypes.bool_:
        refuse_dtype(kind, "randperm")
    if kind.is_floating_point:
        digits = DIGITS[kind]
        most = "2049" if kind is dtypes.float16 else f"2^{digits}+1"
        _require(kind is dtypes.bfloat16 or n <= 2**digits + 1, f"n cannot be greater than {most} for {kind.torch_name} type.")
    else:
        name = "int" if kind is dtypes.int32 else f"{kind.name}_t"
        _require(n - 1 <= _integer_bounds(kind)[1], f"value cannot be converted to type {name} without overflow")


def multinomial(weights: Array, num_samples: int, replacement: bool, kind: DType) -> None:
    """Refuse arguments of `multinomial` for which no weight needs to be read."""
    _require(weights.ndim in (1, 2), "prob_dist must be 1 or 2 dim", None)
    _require(kind.is_floating_point, f"multinomial only supports floating-point dtypes for input, got: {kind.torch_name}", None)
    _require(num_samples > 0, "cannot sample n_sample <= 0 samples")
    _require(replacement or num_samples <= weights.shape[-1], "cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    _require(weights.shape[-1] <= 2**24, "number of categories cannot exceed 2^24")
    if num_samples == 1:
        text = "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        _require(weights.shape[-1] > 0, text)


def weights_all_at_once(weights: Array) -> None:
    """Refuse weights that are no distribution, for a draw without replacement or of one sample."""
    valid = bool(((weights >= 0) & (weights < np.inf)).all())
    _require(valid, "probability tensor contains either `inf`, `nan` or element < 0")
    _require(bool((weights.sum(-1) != 0).all()), "invalid multinomial distribution (sum of probabilities <= 0)")


def _require(condition: bool, message: str, code: Code | None = Code.AFTER_CHECKS) -> None:
    if not condition:
        raise runtime_error(message, code)


def row_of_weights(row: Array, total: Array) -> None:
    """Raise RuntimeError for weights of one distribution that are negative, infinite or nan, or whose running sum ends at 0."""
    text = "invalid multinomial distribution (encountering probability entry "
    for value in row[~((row >= 0) & np.isfinite(row))][:1].tolist():
        raise runtime_error(f"{text}= infinity or NaN)" if value > 0 else f"{text}< 0)")
    if not row.size or not total[-1] > 0:
        raise runtime_error("invalid multinomial distribution (sum of probabilities <= 0)")
