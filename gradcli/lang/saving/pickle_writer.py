"""Pickles of plain values and tensors, in protocol 2, as torch.save writes them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import mappings
from gradcli.core.calling.mappings import OrderedDict, SavedState
from gradcli.core.kernels import Array, blocks, conjugates, memory_format
from gradcli.core.kernels.memory_format import address, owner
from gradcli.core.nn.module import Module
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.vocabulary.torch_types import Device
from gradcli.errors import ProgramError
from gradcli.lang.libraries.collections import Counter
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.saving.storage_layout import encoded, storage_name
from gradcli.lang.values.type_names import type_name

#: values nested deeper than this are not saved: Python stops where its own stack ends
_DEEPEST = 200
#: items that one opcode adds to a list or a dict
_BATCH = 1000
_MODULES = "gradcli saves no whole modules, which torch.load does not read by default either: save model.state_dict()"


class Writer:
    """A pickle under way, and the storages that it refers to."""

    def __init__(self) -> None:
        self.out = bytearray(b"\x80\x02")
        #: the bytes of the storages, in the order of their keys
        self.storages: list[bytes] = []
        self._depth = 0
        self._memo: dict[Any, int] = {}
        #: the storages that were written: key, dtype, array and number of elements, by the identity of the array that owns the memory
        self._known: dict[int, tuple[str, DType, Array, int]] = {}
        #: what has an entry in the memo, so that no identity is used again
        self._kept: list[Value] = []

    def finish(self, value: Value) -> bytes:
        """The pickle of a value. TypeError for what is neither plain nor a tensor."""
        self.save(value)
        return bytes(self.out + b".")

    def save(self, value: Value) -> None:
        """Write a value."""
        kind = type(value)
        if kind in _CONSTANTS:
            self.out += _CONSTANTS[kind](value)
            return
        key = ("text", value) if kind is str else id(value)
        if key in self._memo:
            self._get(key)
            return
        if self._depth >= _DEEPEST:
            raise ProgramError("RecursionError", "maximum recursion depth exceeded")
        self._depth += 1
        try:
            write = _WRITERS.get(kind)
            if write is None:
                raise _not_saved(value)
            write(self, value)
        finally:
            self._depth -= 1

    # --- the memo ---

    def _note(self, key: Any, value: Value = None) -> None:
        number = self._memo[key] = len(self._memo)
        self._kept.append(value)
        self.out += b"q%c" % number if number < 256 else b"r" + struct.pack("<I", number)
        if not number & 1023:
            limits.memory.check()

    def _get(self, key: Any) -> None:
        number = self._memo[key]
        self.out += b"h%c" % number if number < 256 else b"j" + struct.pack("<I", number)

    def _global(self, module: str, name: str) -> None:
        key = ("global", module, name)
        if key in self._memo:
            self._get(key)
            return
        self.out += f"c{module}\n{name}\n".encode()
        self._note(key)

    # --- plain values ---

    def _text(self, value: str) -> None:
        content = value.encode("utf-8", "surrogatepass")
        self.out += b"X" + struct.pack("<I", len(content)) + content
        self._note(("text", value))

    def _complex(self, value: complex) -> None:
        self._call("__builtin__", "complex", (value.real, value.imag))

    def _tuple(self, value: tuple[Value, ...]) -> None:
        if not value:
            self.out += b")"
            return
        start = len(self.out)
        if len(value) > 3:
            self.out += b"("
        for item in value:
            self.save(item)
        if id(value) in self._memo:
            # a list within has the tuple itself, and so wrote it
            del self.out[start:]
            self._get(id(value))
            return
        self.out += b"\x85\x86\x87"[len(value) - 1 : len(value)] if len(value) <= 3 else b"t"
        self._note(id(value), value)

    def _list(self, value: list[Value]) -> None:
        self.out += b"]"
        self._note(id(value), value)
        self._batches(value, self.save, b"a", b"e")

    def _dict(self, value: dict[Value, Value]) -> None:
        self.out += b"}"
        self._note(id(value), value)
        self._items(value)

    def _items(self, table: dict[Value, Value]) -> None:
        self._batches(list(table.items()), self._pair, b"s", b"u")

    def _pair(self, pair: tuple[Value, Value]) -> None:
        self.save(pair[0])
        self.save(pair[1])

    def _batches(self, values: Iterable[Value], save: Callable[[Value], None], one: bytes, many: bytes) -> None:
        rest = iter(values)
        while batch := list(islice(rest, _BATCH)):
            if len(batch) == 1:
                save(batch[0])
                self.out += one
                continue
            self.out += b"("
            for value in batch:
                save(value)
            self.out += many

    def _set(self, value: set[Value]) -> None:
        self._call("__builtin__", "set", (list(value),), value)

    def _call(self, module: str, name: str, args: tuple[Value, ...], value: Value = None) -> None:
        """What the reader makes by calling a function; `value` is noted where it may stand in several places."""
        self._global(module, name)
        self._tuple(args)
        self.out += b"R"
        self._note(object() if value is None else id(value), value)

    # --- torch's values ---

    def _size(self, value: Size) -> None:
        self._call("torch", "Size", (tuple(value),), value)

    def _dtype(self, value: DType) -> None:
        self._global("torch", value.name)

    def _device(self, value: Device) -> None:
        self._call("torch", "device", (value.kind,) if value.index is None else (value.kind, value.index), value)

    def _counter(self, value: mappings.Counter) -> None:
        self._call("collections", "Counter", (dict(value.table),), value)

    def _ordered(self, value: OrderedDict) -> None:
        self._call("collections", "OrderedDict", (), value)
        self._items(value.table)
        if type(value) is SavedState:
            metadata = OrderedDict(dict(_versions(value.table)))
            self._dict({"_metadata": metadata})
            self.out += b"b"

    def _tensor(self, value: Tensor) -> None:
        if not value.is_parameter:
            self._bare_tensor(value, value.requires_grad)
            return
        self._global("torch._utils", "_rebuild_parameter")
        self._bare_tensor(value, False)
        self.save(value.requires_grad)
        self._call("collections", "OrderedDict", ())
        self.out += b"\x87"
        self._note(object())
        self.out += b"R"
        self._note(id(value), value)

    def _bare_tensor(self, tensor: Tensor, requires_grad: bool) -> None:
        """A tensor by its storage, and where it lies in it."""
        blocks.settle()
        array = conjugates.plain(np.asarray(tensor.array))
        key, dtype, base, count = self._storage(array, tensor.dtype)
        step = array.itemsize
        offset = (address(array) - address(base)) // step if base.size else 0
        self._global("torch._utils", "_rebuild_tensor_v2")
        self.out += b"(("
        self.save("storage")
        self._global("torch", storage_name(dtype))
        for part in (key, "cpu", count):
            self.save(part)
        self.out += b"t"
        self._note(object())
        self.out += b"Q"
        self.save(offset)
        self._tuple(tuple(array.shape))
        self._tuple(memory_format.element_strides(array))
        self.save(requires_grad)
        self._call("collections", "OrderedDict", ())
        if bits := {name: True for name in ("conj", "neg") if tensor.property_of(name)}:
            self.save(bits)
        self.out += b"t"
        self._note(object())
        self.out += b"R"
        if requires_grad == tensor.requires_grad and not tensor.is_parameter:
            self._note(id(tensor), tensor)
        else:
            self._note(object())

    def _storage(self, array: Array, dtype: DType) -> tuple[str, DType, Array, int]:
        base = owner(array)
        known = self._known.get(id(base))
        if known is None:
            if base.flags.c_contiguous:
                row = base.reshape(-1)
            elif base.flags.f_contiguous:
                row = base.reshape(-1, order="F")
            else:
                raise ProgramError("RuntimeError", "gradcli saves no tensor whose memory has gaps: save x.clone()")
            row = row.view(dtype.np)
            limits.check_room(row.nbytes)
            known = self._known[id(base)] = str(len(self.storages)), dtype, base, row.size
            self.storages.append(encoded(row, dtype))
        if known[1] is not dtype:
            text = "Cannot save multiple tensors or storages that view the same data as different types"
            raise ProgramError("RuntimeError", text)
        return known


def _not_saved(value: Value) -> ProgramError:
    if isinstance(value, Module):
        return ProgramError("TypeError", _MODULES, names=(type_name(value),))
    text = f"gradcli saves plain values and tensors, no '{type_name(value)}' object"
    return ProgramError("TypeError", text, names=(type_name(value),))


def _versions(table: dict[str, Value]) -> Iterable[tuple[str, Value]]:
    """The versions of the modules behind a state_dict, by their paths: 2 for those that count batches."""
    paths = {""}
    for name in table:
        parts = name.split(".")[:-1] if type(name) is str else []
        paths.update(".".join(parts[: end + 1]) for end in range(len(parts)))
    for path in sorted(paths):
        counts = f"{path}.num_batches_tracked" if path else "num_batches_tracked"
        yield path, {"version": 2 if counts in table else 1}


def _integer(value: int) -> bytes:
    if 0 <= value < 1 << 8:
        return b"K%c" % value
    if 0 <= value < 1 << 16:
        return b"M" + struct.pack("<H", value)
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    content = value.to_bytes((value.bit_length() >> 3) + 1, "little", signed=True)
    return b"\x8a%c" % len(content) + content if len(content) < 256 else b"\x8b" + struct.pack("<i", len(content)) + content


#: by type, the bytes of values that are never shared
_CONSTANTS: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda value: b"N",
    bool: lambda value: b"\x88" if value else b"\x89",
    int: _integer,
    float: lambda value: b"G" + struct.pack(">d", value),
}
_WRITERS: dict[type, Callable[[Writer, Any], None]] = {
    str: Writer._text,
    complex: Writer._complex,
    tuple: Writer._tuple,
    list: Writer._list,
    dict: Writer._dict,
    set: Writer._set,
    Size: Writer._size,
    DType: Writer._dtype,
    Device: Writer._device,
    mappings.Counter: Writer._counter,
    Counter: Writer._counter,
    OrderedDict: Writer._ordered,
    SavedState: Writer._ordered,
    Tensor: Writer._tensor,
}
