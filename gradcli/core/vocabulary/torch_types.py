"""The small types of `torch`: layouts, devices, facts about number types, and the types of tensors as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.overloads import Parser
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, ScriptType
from gradcli.core.calling.signature import Signature, language
from gradcli.core.ops.create.from_data import from_data
from gradcli.core.ops.create.leaf import check_sizes, empty, leaf
from gradcli.core.ops.shape.casting import ALIAS
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.device import check as check_device
from gradcli.core.tensor.device import kind_of, no_accelerator
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


class Symbol(Scripted):
    """A named constant of torch's that only stands for itself: `torch.strided`, a memory format."""

    __slots__ = ("name", "type_name")

    SCRIPT_NAME = "layout"
    SCRIPT_TYPE: ScriptType

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class MemoryFormat(Symbol):
    """A memory format of torch's."""

    __slots__ = ()

    SCRIPT_NAME = "memory_format"


LAYOUT = Symbol.SCRIPT_TYPE = ScriptType("layout", "torch", None, lambda v: type(v) is Symbol)
MEMORY_FORMAT = MemoryFormat.SCRIPT_TYPE = ScriptType("memory_format", "torch", None, lambda v: type(v) is MemoryFormat)
STRIDED = Symbol("strided")
CONTIGUOUS_FORMAT = MemoryFormat("contiguous_format")
PRESERVE_FORMAT = MemoryFormat("preserve_format")
CHANNELS_LAST = MemoryFormat("channels_last")
CHANNELS_LAST_3D = MemoryFormat("channels_last_3d")


class Device(Scripted):
    """`torch.device`. Others than the cpu can be named, and hold no tensors. `str(d)` is its name."""

    __slots__ = ("name",)

    SCRIPT_NAME = "device"
    SCRIPT_ATTRIBUTES = {"type": lambda d: d.kind, "index": lambda d: d.index}

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def kind(self) -> str:
        """`type`: the name without the index."""
        return self.name.partition(":")[0]

    @property
    def index(self) -> int | None:
        """Which of the devices of this kind; None where it was not said."""
        number = self.name.partition(":")[2]
        return int(number) if number else None

    def enter(self) -> None:
        """Begin a block in which new tensors are made on this device."""
        check_device(self)

    def exit(self) -> None:
        """End the block."""

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.kind}'{index})"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


CPU = Device("cpu")


def _named(device: str | int | Device) -> Device:
    if isinstance(device, Device):
        return device
    if isinstance(device, int):
        raise no_accelerator(device)
    kind_of(device)
    return Device(device)


def _numbered(type: str, index: int | None) -> Device:
    kind = kind_of(type)
    if kind != type:
        raise runtime_error(f"type (string) must not include an index because index was passed explicitly: {type}")
    if index is not None and index < 0:
        raise no_accelerator(index)
    return Device(kind if index is None else f"{kind}:{index}")


_DEVICE = Parser("device", [Signature("named device", _named), Signature("str type, int? index=-1", _numbered)])


def _device(*args: Any, **kwargs: Any) -> Device:
    signature, values = _DEVICE.find(args, kwargs)
    if len(values) == 2 and len(args) < 2 and "index" not in kwargs:
        values[1] = None
    made: Device = signature.implementation(*values)
    return made


def _not_available() -> bool:
    return False


def _device_count() -> int:
    return 0


def _seed_nothing(seed: int) -> None:
    """Without effect: there is no generator but the cpu's."""


def _no_accelerator(check_available: bool = False) -> None:
    """The device of the accelerator: none is there."""


def _empty_cache() -> None:
    """Without effect: there is no memory of an accelerator."""


def _allocated(device: Any = None) -> int:
    return 0


def _no_cuda(device: Any = None) -> None:
    """What needs an accelerator."""
    raise ProgramError("AssertionError", "Torch not compiled with CUDA enabled")


NOT_AVAILABLE = Routine(_not_available, "is_available")
IS_INITIALIZED = Routine(_not_available, "is_initialized")
EMPTY_CACHE = Routine(_empty_cache, "empty_cache")
MEMORY_ALLOCATED = Routine(_allocated, "memory_allocated")
MAX_MEMORY_ALLOCATED = Routine(_allocated, "max_memory_allocated")
MEMORY_RESERVED = Routine(_allocated, "memory_reserved")
SYNCHRONIZE = Routine(_no_cuda, "synchronize")
CURRENT_DEVICE = Routine(lambda: _no_cuda(), "current_device")
GET_DEVICE_NAME = Routine(_no_cuda, "get_device_name")
GET_DEVICE_PROPERTIES = Routine(_no_cuda, "get_device_properties")
GET_DEVICE_CAPABILITY = Routine(_no_cuda, "get_device_capability")
CURRENT_ACCELERATOR = Routine(_no_accelerator, "current_accelerator")
DEVICE_COUNT = Routine(_device_count, "device_count")
SEED_NOTHING = Routine(_seed_nothing, "manual_seed")
#: a switch of a library that is not there
OFF = False
DEVICE = ScriptType("device", "torch", _device, lambda v: type(v) is Device)


_BFLOAT16 = {
    "eps": 0.0078125,
    "max": 3.3895313892515355e38,
    "min": -3.3895313892515355e38,
    "tiny": 1.1754943508222875e-38,
    "resolution": 0.01,
}


class TypeInfo(Scripted):
    """`torch.finfo(dtype)`."""

    __slots__ = ("dtype", "info")

    SCRIPT_NAME = "finfo"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES = {
        "eps": lambda t: t.number("eps"),
        "max": lambda t: t.number("max"),
        "min": lambda t: t.number("min"),
        "tiny": lambda t: t.number("tiny"),
        "smallest_normal": lambda t: t.number("tiny", "smallest_normal"),
        "resolution": lambda t: t.number("resolution"),
        "bits": lambda t: t.dtype.itemsize * 8,
        "dtype": lambda t: t.dtype.name,
    }

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.info: Any = np.finfo(dtype.np) if dtype.is_floating_point else np.iinfo(dtype.np)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeInfo) and other.dtype is self.dtype

    __hash__ = None  # type: ignore[assignment]

    def number(self, name: str, shown: str = "") -> float | int:
        """One of numpy's figures as a Python number. Raises AttributeError for one that integers do not have, called `shown`."""
        if self.dtype is dtypes.bfloat16:
            return _BFLOAT16[name]
        if self.dtype.is_floating_point:
            return float(str(getattr(self.info, name))) if name == "resolution" else float(getattr(self.info, name))
        if name not in ("max", "min"):
            raise ProgramError("AttributeError", f"'torch.iinfo' object has no attribute '{shown or name}'")
        return int(getattr(self.info, name))

    def __repr__(self) -> str:
        def g(name: str) -> str:
            return f"{self.number(name):g}"

        if not self.dtype.is_floating_point:
            return f"iinfo(min={g('min')}, max={g('max')}, dtype={self.dtype.name})"
        return (
            f"finfo(resolution={g('resolution')}, min={g('min')}, max={g('max')}, eps={g('eps')}, "
            f"smallest_normal={g('tiny')}, tiny={g('tiny')}, dtype={self.dtype.name})"
        )


class IntegerInfo(TypeInfo):
    """`torch.iinfo(dtype)`."""

    __slots__ = ()

    SCRIPT_NAME = "iinfo"


def _info_of_floats(type: DType) -> TypeInfo:
    if not type.is_differentiable:
        raise ProgramError("TypeError", "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
    return TypeInfo(type.real)


def _info_of_integers(type: DType) -> TypeInfo:
    if type.is_differentiable:
        raise ProgramError("TypeError", "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
    if type is dtypes.bool_:
        raise ProgramError("TypeError", "torch.bool is not supported by torch.iinfo")
    return IntegerInfo(type)


_FINFO = Parser("finfo", [Signature("dtype type", _info_of_floats), Signature("", lambda: TypeInfo(dtypes.get_default()))])
_IINFO = Parser("iinfo", [Signature("dtype type", _info_of_integers)])


def _finfo(*args: Any, **kwargs: Any) -> Any:
    return _FINFO.call(args, kwargs)


def _iinfo(*args: Any, **kwargs: Any) -> Any:
    return _IINFO.call(args, kwargs)


FINFO = TypeInfo.SCRIPT_TYPE = ScriptType("finfo", "torch", _finfo, lambda v: type(v) is TypeInfo)
IINFO = IntegerInfo.SCRIPT_TYPE = ScriptType("iinfo", "torch", _iinfo, lambda v: type(v) is IntegerInfo)


_NO_SUCH_NEW = (
    "new() received an invalid combination of arguments - got ({got}), but expected one of:\n * (*, torch.device device = None)\n"
    "      didn't match because some of the arguments have invalid types: ({wrong})\n * (torch.Storage storage)\n * (Tensor other)\n"
    " * (tuple of ints size, *, torch.device device = None)\n * (object data, *, torch.device device = None)\n"
)
_OPTIONS = (
    "TensorOptions(dtype={}, device=cpu, layout=Strided, requires_grad=false (default), pinned_memory=false (default), "
    "memory_format=(nullopt))"
)


#: the ways to call `torch.Tensor`, each with the number of arguments that PyTorch counts for it
_WAYS = {
    "*, torch.device device = None": 2,
    "torch.Storage storage": 1,
    "Tensor other": 1,
    "tuple of ints size, *, torch.device device = None": 3,
    "object data, *, torch.device device = None": 3,
}


def _wrong_keywords(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ProgramError:
    """PyTorch's TypeError for keywords that no way to call `torch.Tensor` has; it lists them from the last to the first."""
    names = list(reversed(kwargs))
    given = ", ".join([*map(language.type_name, args), *(f"{name}={language.type_name(kwargs[name])}" for name in names)])
    reason = f"\n      didn't match because some of the keywords were incorrect: {', '.join(names)}"
    ways = "".join(f"\n * ({way}){reason if count == len(args) + len(names) else ''}" for way, count in _WAYS.items())
    got = given if args else given + ", "
    text = f"new() received an invalid combination of arguments - got ({got}), but expected one of:{ways}\n"
    return ProgramError("TypeError", text)


def _by_keyword(name: str, value: Any) -> tuple[Any] | None:
    """The argument that a keyword stands for; None where it is not known, or does not take the value."""
    if name == "size" and isinstance(value, (list, tuple)) and all(type(size) is int for size in value):
        return (Size(value),)
    return (value,) if name == "data" or (name == "other" and type(value) is Tensor) else None


def _same_type(tensor: Tensor, dtype: DType | None) -> Tensor:
    """`torch.LongTensor(tensor)`: a view of the tensor, which has to have the dtype."""
    if dtype is not None and tensor.dtype is not dtype:
        expected, got = _OPTIONS.format(dtype.c_name), _OPTIONS.format(tensor.dtype.c_name)
        raise ProgramError("TypeError", f"expected {expected} (got {got})")
    return ALIAS(tensor)  # type: ignore[no-any-return]


def legacy(dtype: DType | None) -> Callable[..., Tensor]:
    """`torch.Tensor(...)`, `torch.LongTensor(...)`: sizes as integers, or data."""

    def construct(*args: Any, **kwargs: Any) -> Tensor:
        device = kwargs.get("device")
        names = [name for name in kwargs if name != "device"]
        if names:
            found = None if args or len(names) > 1 else _by_keyword(names[0], kwargs[names[0]])
            if found is None:
                raise _wrong_keywords(args, kwargs)
            args = found
        place = device if device is None or type(device) is Device else _device(device)
        if place is not None and place.kind != "cpu":
            raise runtime_error(f"legacy constructor expects device type: cpu but device type: {place.kind} was passed")
        wanted = dtype or dtypes.get_default()
        if len(args) == 1 and isinstance(args[0], Size):
            return empty(tuple(args[0]), wanted)
        if not args:
            return from_data([], wanted)
        args = tuple(number if type(number := language.plain(a)) is int else a for a in args)
        first = args[0]
        if len(args) == 1 and type(first) is Tensor:
            return _same_type(first, dtype)
        elif len(args) == 1 and type(first) is not int:
            others = (language.as_array, language.as_sequence)
            sequence = isinstance(first, (list, tuple, range, str)) or any(kind(first) is not None for kind in others)
            if not sequence or language.as_number(first) is not None:
                raise ProgramError("TypeError", f"new(): data must be a sequence (got {language.type_name(first)})")
            return from_data(first, wanted)
        if type(first) is not int:
            got = ", ".join(language.type_name(a) for a in args)
            wrong = ", ".join(f"!{language.type_name(a)}!" for a in args)
            raise shape_error(_NO_SUCH_NEW.format(got=got, wrong=wrong), "TypeError")
        for i, size in enumerate(args):
            if type(size) is not int or not -1 << 63 <= size < 1 << 63:
                text = "Overflow when unpacking long long"
                if type(size) is not int:
                    text = f"type must be tuple of ints,but got {language.type_name(size)}"
                raise shape_error(f"new(): argument 'size' failed to unpack the object at pos {i + 1} with error \"{text}\"", "TypeError")
        check_sizes(args, wanted)
        return empty(args, wanted)

    return construct


def _tensor_type(name: str, dtype: DType | None) -> ScriptType:
    return ScriptType(name, "torch", legacy(dtype), lambda v: type(v) is Tensor and (dtype is None or v.dtype is dtype))


def _size(iterable: Any = ()) -> Size:
    from gradcli.core.calling.sizes import size_of  # most programs make none

    return size_of(language.collect(iterable))


def _variable(data: Any = None, requires_grad: Any = False, volatile: Any = False) -> Tensor:
    if volatile:
        warnings.emit("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
    if data is None:
        data = from_data([], dtypes.get_default())
    if type(data) is not Tensor:
        raise ProgramError("TypeError", f"Variable data has to be a tensor, but got {language.type_name(data)}")
    made = leaf(data.array, data.dtype, requires_grad)
    made.version = data.counter()
    return made


TENSOR = _tensor_type("Tensor", None)
FLOAT_TENSOR = _tensor_type("FloatTensor", dtypes.float32)
DOUBLE_TENSOR = _tensor_type("DoubleTensor", dtypes.float64)
LONG_TENSOR = _tensor_type("LongTensor", dtypes.int64)
INT_TENSOR = _tensor_type("IntTensor", dtypes.int32)
SHORT_TENSOR = _tensor_type("ShortTensor", dtypes.int16)
CHAR_TENSOR = _tensor_type("CharTensor", dtypes.int8)
BYTE_TENSOR = _tensor_type("ByteTensor", dtypes.uint8)
HALF_TENSOR = _tensor_type("HalfTensor", dtypes.float16)
BFLOAT16_TENSOR = _tensor_type("BFloat16Tensor", dtypes.bfloat16)
BOOL_TENSOR = _tensor_type("BoolTensor", dtypes.bool_)
SIZE = ScriptType("Size", "torch", _size, lambda v: isinstance(v, Size))
DTYPE = ScriptType("dtype", "torch", None, lambda v: isinstance(v, DType))
VARIABLE = ScriptType("Variable", "torch.autograd.variable", _variable, lambda v: type(v) is Tensor)
