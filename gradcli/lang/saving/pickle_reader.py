"""Pickles read without running anything: a closed table of opcodes, and of the globals that plain values and tensors need.

`pickletools` takes the opcodes apart; a machine without recursion carries them out. What is not in the tables is an error, and so is
what does not fit: nothing that a file says is imported, called or set on an object.
"""

from __future__ import annotations

import math
import pickletools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.mappings import Mapping, OrderedDict, SavedState
from gradcli.core.calling.signature import language
from gradcli.core.kernels import Array, conjugates
from gradcli.core.nn.parameter import as_parameter
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.device import check as check_device
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.vocabulary.torch_types import Device
from gradcli.errors import ProgramError
from gradcli.lang.libraries.collections import Counter
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.saving.storage_layout import STORAGES
from gradcli.lang.values.execution import check_time

#: opcodes between two looks at the clock and at memory
_PERIOD = 256
_MOST_DIMENSIONS = 64
_LAST = (1 << 62) - 1

#: gives the elements of a storage by its key, dtype and number
Load = Callable[[str, DType, int], Array]


def refused(why: str) -> ProgramError:
    """The error for a file that is not read."""
    return ProgramError("UnpicklingError", f"Weights only load failed. {why}")


_NO_CUDA = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a CPU-only machine, "
    "please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
)


def check_place(name: str) -> None:
    """RuntimeError for a device that is not there."""
    if name.startswith("cuda"):
        raise ProgramError("RuntimeError", _NO_CUDA)
    check_device(name)


class _Global:
    """A function that a pickle may name. No value of a program."""

    __slots__ = ("call", "name")

    def __init__(self, name: str, call: Callable[..., Value] | None = None) -> None:
        self.name = name
        self.call = call


class _Storage:
    """A storage that a pickle refers to. No value of a program."""

    __slots__ = ("array", "dtype")

    def __init__(self, array: Array, dtype: DType) -> None:
        self.array = array
        self.dtype = dtype


class _Mark:
    """Where the items of a list, a dict or a tuple begin on the stack."""

    __slots__ = ()


_MARK = _Mark()


# --- what globals do ------------------------------------------------------------------------------


def _expect(fits: bool, what: str) -> None:
    if not fits:
        raise refused(f"{what} makes no sense")


def _numbers(value: Value) -> bool:
    return isinstance(value, tuple) and len(value) <= _MOST_DIMENSIONS and all(type(n) is int and 0 <= n <= _LAST for n in value)


def _tensor(
    storage: Value, offset: Value, size: Value, stride: Value, requires_grad: Value, hooks: Value, metadata: Value = None
) -> Tensor:
    _expect(type(storage) is _Storage and type(requires_grad) is bool, "a tensor")
    _expect(_numbers(size) and _numbers(stride) and len(size) == len(stride) and _numbers((offset,)), "the shape of a tensor")
    count = math.prod(size)
    step = storage.array.itemsize
    limits.check_elements(count, step)
    # numpy multiplies the other sizes of a tensor without elements, too
    _expect(math.prod(n or 1 for n in size) * step <= _LAST, "the shape of a tensor")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if count else 0
    _expect(last < storage.array.size or not count, "a tensor that reaches beyond its storage")
    if count:
        array = np.lib.stride_tricks.as_strided(storage.array[offset:], size, [s * step for s in stride])
    else:
        array = np.empty(size, storage.array.dtype)
    bit = next((name for name in ("conj", "neg") if type(metadata) is dict and metadata.get(name) is True), "")
    _expect(bit != "conj" or storage.dtype.is_complex, "a conjugate")
    made = Tensor(conjugates.conjugated(array) if bit == "conj" else -array if bit else array, storage.dtype)
    if bit:
        made.set_property(bit, True)
    if requires_grad and not storage.dtype.is_differentiable:
        raise dtypes.cannot_require_grad()
    made.requires_grad = requires_grad
    return made


def _parameter(data: Value, requires_grad: Value, hooks: Value) -> Tensor:
    _expect(type(data) is Tensor and type(requires_grad) is bool, "a parameter")
    return as_parameter(data, requires_grad)


def _size(values: Value) -> Size:
    _expect(_numbers(values), "a size")
    return Size(values)


def _device(kind: Value, index: Value = None) -> Device:
    _expect(type(kind) is str and kind.isalpha() and len(kind) < 20 and (index is None or _numbers((index,))), "a device")
    return Device(kind if index is None else f"{kind}:{index}")


def _complex(real: Value, imag: Value) -> complex:
    _expect(type(real) is float and type(imag) is float, "a complex number")
    return complex(real, imag)


def _set(values: Value) -> set[Value]:
    _expect(type(values) is list, "a set")
    made: set[Value] = set()
    for value in values:
        made.add(_key(value))
    return made


def _ordered() -> OrderedDict:
    return OrderedDict()


def _counter(table: Value) -> Counter:
    _expect(type(table) is dict, "a counter")
    return Counter(table)


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "torch._utils _rebuild_tensor_v2": _tensor,
    "torch._utils _rebuild_parameter": _parameter,
    "torch Size": _size,
    "torch device": _device,
    "__builtin__ complex": _complex,
    "__builtin__ set": _set,
    "collections OrderedDict": _ordered,
    "collections Counter": _counter,
}
_GLOBALS: dict[str, Value] = {
    **{name: _Global(name, function) for name, function in _FUNCTIONS.items()},
    **{f"torch {name}": _Global(name) for name in STORAGES},
    **{f"torch {dtype.name}": dtype for dtype in dtypes.ALL},
}


def _unmarked(items: Sequence[Value]) -> bool:
    return all(item is not _MARK for item in items)


def _key(value: Value) -> Value:
    language.check_hashable(value)
    return value


# --- the machine ----------------------------------------------------------------------------------


class Reader:
    """A machine with a stack. `load` gives the storages that the pickle refers to, `anywhere` lets them come from other devices."""

    def __init__(self, load: Load, anywhere: bool = False) -> None:
        self._load = load
        self._anywhere = anywhere
        self._stack: list[Value] = []
        self._memo: dict[int, Value] = {}
        self._storages: dict[str, _Storage] = {}

    def read(self, content: bytes) -> Value:
        """The value in a pickle. UnpicklingError for what is not in the tables, or does not fit."""
        try:
            for count, (opcode, argument, _) in enumerate(pickletools.genops(content)):
                if not count % _PERIOD:
                    check_time()
                    limits.memory.check()
                if opcode.name == "STOP":
                    break
                run = _OPCODES.get(opcode.name)
                if run is None:
                    raise refused(f"Unsupported operand {opcode.name}")
                run(self, argument)
        except (ValueError, IndexError, KeyError, TypeError, UnicodeError, OverflowError) as error:
            raise refused("the pickle makes no sense") from error
        if len(self._stack) != 1:
            raise refused("the pickle makes no sense")
        return _checked(self._stack.pop())

    # --- opcodes ---

    def _push(self, value: Value) -> None:
        self._stack.append(value)

    def _integer(self, value: int) -> None:
        limits.check_integer(value)
        self._stack.append(value)

    def _text(self, value: str) -> None:
        limits.check_string(len(value))
        self._stack.append(value)

    def _global(self, name: str) -> None:
        found = _GLOBALS.get(name)
        if found is None:
            shown = ascii(name.replace(" ", ".")[:200])[1:-1]
            raise refused(f"Unsupported global: GLOBAL {shown} was not an allowed global by default")
        self._stack.append(found)

    def _put(self, number: int) -> None:
        self._memo[number] = self._stack[-1]

    def _get(self, number: int) -> None:
        self._stack.append(self._memo[number])

    def _marked(self) -> list[Value]:
        """Take the items above the last mark, and the mark."""
        at = len(self._stack) - 1
        while self._stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise refused("the pickle makes no sense")
        items = self._stack[at + 1 :]
        del self._stack[at:]
        limits.check_list(len(items))
        return items

    def _tuple(self, count: int) -> None:
        items = tuple(self._stack[len(self._stack) - count :])
        _expect(len(items) == count and _unmarked(items), "a tuple")
        del self._stack[len(self._stack) - count :]
        self._stack.append(items)

    def _append(self, items: Sequence[Value]) -> None:
        target = self._stack[-1]
        _expect(type(target) is list and _unmarked(items), "a list")
        limits.check_list(len(target) + len(items))
        target.extend(items)

    def _set_items(self, items: Sequence[Value]) -> None:
        target = self._stack[-1]
        table = target.table if isinstance(target, Mapping) else target
        _expect(isinstance(table, dict) and len(items) % 2 == 0 and _unmarked(items), "a dict")
        limits.check_list(len(table) + len(items) // 2)
        for at in range(0, len(items), 2):
            table[_key(items[at])] = items[at + 1]

    def _pops(self, count: int) -> list[Value]:
        return [self._stack.pop() for _ in range(count)][::-1]

    def _reduce(self, _: None) -> None:
        function, args = self._pops(2)
        _expect(type(function) is _Global and function.call is not None and type(args) is tuple, "a call")
        self._stack.append(function.call(*args))

    def _build(self, _: None) -> None:
        """Set the versions of a state_dict; nothing else has a state."""
        given = self._stack.pop()
        target = self._stack[-1]
        _expect(type(target) is OrderedDict and type(given) is dict and list(given) == ["_metadata"], "the state of an object")
        target.__class__ = SavedState  # the object stays the same, since the memo may refer to it
        target.metadata = given["_metadata"]

    def _persistent(self, _: None) -> None:
        """A storage, by its type, key, place and number of elements."""
        given = self._stack.pop()
        _expect(type(given) is tuple and len(given) == 5 and given[0] == "storage" and type(given[1]) is _Global, "a storage")
        _, kind, key, place, count = given
        _expect(type(key) is str and kind.name in STORAGES and type(place) is str and _numbers((count,)), "a storage")
        if not self._anywhere:
            check_place(place)
        dtype = STORAGES[kind.name]
        known = self._storages.get(key)
        if known is None:
            known = self._storages[key] = _Storage(self._load(key, dtype, count), dtype)
        _expect(known.dtype is dtype and known.array.size == count, "a storage")
        self._stack.append(known)


def _checked(value: Value) -> Value:
    """A value, none of whose parts belongs to the machine."""
    seen: set[int] = set()
    rest = [value]
    while rest:
        one = rest.pop()
        _expect(type(one) not in (_Global, _Storage, _Mark), "a function or a storage as a value")
        held = one.table if isinstance(one, Mapping) else one
        if isinstance(held, (list, tuple, set, dict)) and id(held) not in seen:
            seen.add(id(held))
            rest.extend(held)
            if isinstance(held, dict):
                rest.extend(held.values())
    return value


_OPCODES: dict[str, Callable[[Reader, Any], None]] = {
    "PROTO": lambda machine, version: _expect(version == 2, "the protocol of the pickle"),
    "NONE": lambda machine, _: machine._push(None),
    "NEWTRUE": lambda machine, _: machine._push(True),
    "NEWFALSE": lambda machine, _: machine._push(False),
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "LONG1", "LONG4"), Reader._integer),
    "BINFLOAT": Reader._push,
    "BINUNICODE": Reader._text,
    "EMPTY_TUPLE": lambda machine, _: machine._push(()),
    "EMPTY_LIST": lambda machine, _: machine._push([]),
    "EMPTY_DICT": lambda machine, _: machine._push({}),
    "MARK": lambda machine, _: machine._push(_MARK),
    "TUPLE1": lambda machine, _: machine._tuple(1),
    "TUPLE2": lambda machine, _: machine._tuple(2),
    "TUPLE3": lambda machine, _: machine._tuple(3),
    "TUPLE": lambda machine, _: machine._push(tuple(machine._marked())),
    "APPEND": lambda machine, _: machine._append(machine._pops(1)),
    "APPENDS": lambda machine, _: machine._append(machine._marked()),
    "SETITEM": lambda machine, _: machine._set_items(machine._pops(2)),
    "SETITEMS": lambda machine, _: machine._set_items(machine._marked()),
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), Reader._put),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), Reader._get),
    "GLOBAL": Reader._global,
    "REDUCE": Reader._reduce,
    "BUILD": Reader._build,
    "BINPERSID": Reader._persistent,
}
