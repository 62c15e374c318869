"""Data types and PyTorch's promotion rules (torch/csrc documentation "tensor attributes": categories and priorities)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.core.kernels import memory_format
from gradcli.errors import Code, ProgramError, runtime_error

if TYPE_CHECKING:
    from gradcli.core.tensor.tensor import Tensor


_INT64_END = 1 << 63


class DType:
    """A torch dtype. `np` is what it is stored as; bfloat16 is kept as float32 values rounded to bfloat16."""

    __slots__ = (
        *("name", "np", "torch_name", "c_name", "is_floating_point", "is_complex", "is_differentiable", "is_special", "is_plain"),
        *("itemsize", "rank", "scalars"),
    )

    def __init__(self, name: str, storage: type, torch_name: str, c_name: str, rank: int, itemsize: int) -> None:
        self.name = name
        self.np: np.dtype[Any] = np.dtype(storage)
        self.torch_name = torch_name
        self.c_name = c_name
        self.is_floating_point = self.np.kind == "f"
        self.is_complex = self.np.kind == "c"
        #: whether tensors of this dtype can have gradients
        self.is_differentiable = self.is_floating_point or self.is_complex
        #: bfloat16 and the complex dtypes: results need more than numpy's function
        self.is_special = self.is_complex or name == "bfloat16"
        #: float32 or float64: numpy computes with it just as torch does
        self.is_plain = self.is_floating_point and self.np.itemsize == itemsize > 2
        self.itemsize = itemsize
        self.rank = rank
        #: recently used Python numbers as numpy scalars
        self.scalars: dict[float, Any] = {}

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    @property
    def tensor_name(self) -> str:
        """The type of a tensor of this dtype, as PyTorch's messages call it."""
        return f"CPU{self.torch_name}Type" if self.name in ("bool", "bfloat16") or self.is_complex else f"torch.{self.torch_name}Tensor"

    def scalar(self, value: float) -> Any:
        """A Python number as a numpy scalar, with which numpy's operations take half the time."""
        if type(value) is int:
            check_whole(value)
        made = self.np.type(value)
        # 0.0 and -0.0 would share a place, and so would a large float and an integer that is refused
        if value and -_INT64_END <= value < 2 * _INT64_END:
            if len(self.scalars) > 256:
                self.scalars.clear()
            self.scalars[value] = made
        return made

    @property
    def category(self) -> int:
        """0 bool, 1 integer, 2 floating point, 3 complex: the order in which categories win."""
        return 3 if self.is_complex else 2 if self.is_floating_point else 0 if self.rank == 0 else 1

    @property
    def real(self) -> DType:
        """The dtype of the real and imaginary parts; a real dtype is its own."""
        return self if not self.is_complex else float32 if self is complex64 else float64


def cannot_require_grad() -> ProgramError:
    """PyTorch's error for a new leaf of integers or booleans that is to require grad."""
    text = "Only Tensors of floating point and complex dtype can require gradients"
    return runtime_error(text, Code.INTEGERS_REQUIRE_GRAD)


def check_whole(value: int) -> None:
    """Refuse a whole number that 64 bits cannot hold, signed or unsigned, as PyTorch does where it takes numbers."""
    if value >= 1 << 64:
        raise ProgramError("OverflowError", "int too big to convert")
    if value < -1 << 63:
        raise ProgramError("OverflowError", "can't convert negative int to unsigned")


bool_ = DType("bool", np.bool_, "Bool", "bool", 0, 1)
uint8 = DType("uint8", np.uint8, "Byte", "unsigned char", 1, 1)
int8 = DType("int8", np.int8, "Char", "signed char", 2, 1)
int16 = DType("int16", np.int16, "Short", "short int", 3, 2)
int32 = DType("int32", np.int32, "Int", "int", 4, 4)
int64 = DType("int64", np.int64, "Long", "long int", 5, 8)
float16 = DType("float16", np.float16, "Half", "c10::Half", 6, 2)
bfloat16 = DType("bfloat16", np.float32, "BFloat16", "c10::BFloat16", 7, 2)
float32 = DType("float32", np.float32, "Float", "float", 8, 4)
float64 = DType("float64", np.float64, "Double", "double", 9, 8)
complex64 = DType("complex64", np.complex64, "ComplexFloat", "c10::complex<float>", 10, 8)
complex128 = DType("complex128", np.complex128, "ComplexDouble", "c10::complex<double>", 11, 16)

ALL = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128)
NAMED = {d.name: d for d in ALL} | {
    "float": float32,
    "double": float64,
    "half": float16,
    "long": int64,
    "int": int32,
    "short": int16,
    "cfloat": complex64,
    "cdouble": complex128,
}
_OF_NUMPY = {d.np: d for d in ALL if d is not bfloat16}

_default: DType = float32


def of(storage: np.dtype[Any]) -> DType:
    """The torch dtype of a numpy array's dtype. Raises KeyError for a dtype that torch does not have."""
    return _OF_NUMPY[storage]


def get_default() -> DType:
    """The dtype of new floating point tensors."""
    return _default


def set_default(dtype: DType) -> None:
    """`torch.set_default_dtype`. Raises TypeError for a dtype that is not floating."""
    global _default
    if not dtype.is_floating_point:
        raise ProgramError(
            "TypeError",
            "only floating-point types are supported as the default type",
        )
    _default = dtype


def round_bfloat16(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """float32 values rounded to bfloat16, ties to even: the upper 16 bits of the pattern."""
    made = np.array(array, np.float32)
    bits = made.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    np.copyto(made, rounded.view(np.float32), where=~np.isnan(made))
    if made.ndim and array.dtype == np.float32 and not memory_format.is_dense(array.shape, memory_format.element_strides(array)):
        gaps = memory_format.copy_with_gaps(array)
        gaps[...] = made
        return gaps
    if made.ndim and (1 in made.shape or not made.size):  # numpy forgets the strides of such dimensions
        return memory_format.laid_out(made, memory_format.preserved(array))
    return made


def cast(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """A copy of `array` as `dtype`. As in C, a float becomes an integer of 32 bits first, of which a shorter type keeps the low bits."""
    if array.dtype.kind == "c" and not dtype.is_complex:
        return cast(array != 0 if dtype is bool_ else array.real.copy("K"), dtype)
    if dtype is bfloat16:
        return round_bfloat16(array)
    if array.dtype.kind == "f" and dtype.np.kind in "iu" and dtype.np.itemsize < 8:
        # floats out of the range of 32 bits, and nan, become the lowest integer
        held = np.where((array > -2147483649.0) & (array < 2147483648.0), array, array.dtype.type(-2147483648.0))
        return held.astype(np.int32).astype(dtype.np)
    return memory_format.in_dtype(array, dtype.np)


def stored(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """float32 values as memory of a half precision dtype holds them; for any other dtype the array itself."""
    return cast(array, dtype).astype(array.dtype) if dtype.itemsize == 2 else array


def promote(a: DType, b: DType) -> DType:
    """`torch.promote_types`."""
    if a is b:
        return a
    if a.rank > b.rank:
        a, b = b, a
    if b is complex64 and a is float64:
        return complex128
    if b.is_floating_point:
        if a is float16 and b is bfloat16:
            return float32
        return b
    if a is uint8 and b is int8:
        return int16
    return b


def complex_of(dtype: DType) -> DType:
    """The complex dtype whose parts have a floating dtype; a complex one itself. Raises RuntimeError for float16 and for integers."""
    if dtype.is_complex:
        return dtype
    if not dtype.is_differentiable:
        raise runtime_error(f"Unknown Complex ScalarType for {dtype.torch_name}")
    if dtype is float16:
        raise runtime_error("complex32 is not part of gradcli: convert the tensor of float16 to float32 first")
    return complex128 if dtype is float64 else complex64


def scalar_dtype(value: object) -> DType:
    """The dtype that a Python number has by itself."""
    if value is True or value is False:
        return bool_
    if type(value) is complex:
        return complex_of(_default)
    return int64 if type(value) is int else _default


def widened(dtype: DType) -> DType:
    """The dtype that PyTorch's kernels compute in: single precision for half precision, else the dtype itself."""
    return float32 if dtype is float16 or dtype is bfloat16 else dtype


def largest(dtype: DType) -> float:
    """The largest finite value of a floating dtype."""
    return 3.3895313892515355e38 if dtype is bfloat16 else float(np.finfo(dtype.np).max)


def result_type(operands: Iterable[Tensor | complex | bool]) -> DType:
    """`torch.result_type`: tensors with dimensions win over 0-d tensors, those over Python numbers, within a category."""
    kinds: list[DType | None] = [None, None, None]
    wide = False
    for operand in operands:
        if isinstance(operand, (bool, int, float, complex)):
            level, dtype = 2, scalar_dtype(operand)
            if type(operand) is int and not -_INT64_END <= operand < _INT64_END:
                check_whole(operand)
                if kinds[2] is not None and not kinds[2].is_floating_point and not wide:
                    raise _no_promotion(kinds[2].torch_name, "UInt64")
                wide = True
            elif wide and not dtype.is_floating_point:
                raise _no_promotion("UInt64", dtype.torch_name)
        else:
            level, dtype = (0 if operand.array.ndim else 1), operand.dtype
        known = kinds[level]
        kinds[level] = dtype if known is None else promote(known, dtype)
    result: DType | None = None
    for lower in reversed(kinds):
        result = _combine(lower, result)
    assert result is not None
    if wide and bool_ in kinds[:2] and result is int64:
        raise _no_promotion("Bool", "UInt64")
    return result


def _no_promotion(first: str, second: str) -> ProgramError:
    """The error of a whole number that has 64 bits without a sign beside what it would have to be promoted with."""
    return runtime_error(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {first} and {second}")


def _combine(higher: DType | None, lower: DType | None) -> DType | None:
    if higher is None:
        return lower
    if lower is None or lower.category <= higher.category:
        return higher
    if lower.is_complex and higher.is_floating_point:
        return complex_of(higher)
    return promote(higher, lower)


# --- Python's numbers as numbers of a dtype ---


def scalar_of(value: Any, dtype: DType, name: str = "") -> Any:
    """A Python number stored as `dtype`; PyTorch's error, where it does not fit, calls the type `name`, or as C++ does."""
    if type(value) is int and not name:
        check_whole(value)
    if dtype is bool_:
        return bool(value)
    if dtype.is_complex:
        parts = (value.real, value.imag) if type(value) in (float, complex) else ()
        if any(math.isfinite(part) and abs(part) > largest(dtype.real) for part in parts):
            raise _overflow(dtype, name)
        return value
    if type(value) is complex:
        if value.imag:
            raise _overflow(dtype, name)
        value = value.real
    if type(value) not in (int, float):
        return value
    if dtype.is_floating_point:
        if math.isfinite(value) and abs(value) > largest(dtype):
            raise _overflow(dtype, name)
        return value
    info = np.iinfo(dtype.np)
    # negative numbers wrap around in an unsigned type, if they are whole
    low = -info.max if info.min == 0 and type(value) is int else info.min
    if not low <= value <= info.max:
        raise _overflow(dtype, name)
    return wrapped(int(value), dtype)


def wide_scalar_of(value: Any, dtype: DType) -> Any:
    """As `scalar_of`, where PyTorch goes through a wider type: in half precision too large numbers become infinite."""
    if dtype in (float16, bfloat16):
        value = scalar_of(value, float64)
        return value if abs(value) <= largest(dtype) or value != value else math.copysign(math.inf, value)
    return scalar_of(value, dtype)


def filling(value: Any, dtype: DType, count: int) -> Any:
    """The number that `count` elements are filled with: PyTorch stores a single one, others go through `scalar_of`."""
    return wide_scalar_of(value, dtype) if count == 1 else scalar_of(value, dtype)


def wrapped(value: int, dtype: DType) -> Any:
    """A whole number as `dtype`, without the bits that it has no room for; PyTorch takes those of 64 bits."""
    check_whole(value)
    if dtype.category != 1:
        return value
    return np.array(value & ((1 << np.iinfo(dtype.np).bits) - 1), np.uint64).astype(dtype.np)[()]


_C_TYPES = {
    "int32": "int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
}


def _overflow(dtype: DType, name: str) -> ProgramError:
    name = name or _C_TYPES.get(dtype.name, f"{dtype.name}_t")
    return runtime_error(f"value cannot be converted to type {name} without overflow", Code.NUMBER_TOO_LARGE)
