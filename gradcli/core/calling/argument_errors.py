"""The text of PyTorch's "invalid combination of arguments" (torch/csrc/utils/invalid_arguments.cpp).

It compares the arguments with the signatures *as listed*, by the names of types alone, so it says less than the parser
knows: a number never fits `Number`, a parameter with a default is never found by its name, and `*` counts as a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

TypeName = Callable[[object], str]

_ALSO = {"float": ("float", "int"), "int": ("int",)}


def describe(listed: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any], type_name: TypeName) -> str:
    """What follows `received an invalid combination of arguments - `; `listed` are signatures in parentheses."""
    kwargs = {key: kwargs[key] for key in _hashed_order(kwargs)}
    if len(listed) > 1:
        lines = "".join(f" * {text}\n{_reason(text, args, kwargs, type_name)}" for text in listed)
        return f"got {_plain(args, kwargs, type_name)}, but expected one of:\n{lines}"
    parameters = _parameters(listed[0])
    unknown = _unknown(parameters, kwargs)
    if unknown:
        return f"got unrecognized keyword arguments: {', '.join(unknown)}"
    fits = len(args) + len(kwargs) == len(parameters)
    got = _compared(parameters, args, kwargs, type_name) if fits else _plain(args, kwargs, type_name)
    return f"got {got}, but expected {listed[0]}"


_BITS, _FACTOR = (1 << 64) - 1, 0xC6A4A7935BD1E995


def _hashed_order(keys: Iterable[str]) -> list[str]:
    """Keys in the order of C++'s hash table, through which PyTorch walks: the bucket that was used last comes first, as its last key."""
    buckets: dict[int, list[str]] = {}
    for key in keys:
        buckets.setdefault(_hash(key) % 13, []).append(key)
    return [key for bucket in reversed(buckets.values()) for key in reversed(bucket)]


def _hash(key: str) -> int:
    """The hash of a string in libstdc++: MurmurHash64A."""
    data = key.encode()
    value = 0xC70F6907 ^ (len(data) * _FACTOR & _BITS)
    for at in range(0, len(data), 8):
        part = int.from_bytes(data[at : at + 8], "little")
        if at + 8 <= len(data):
            part = _mixed(part * _FACTOR & _BITS) * _FACTOR & _BITS
        value = (value ^ part) * _FACTOR & _BITS
    return _mixed(_mixed(value) * _FACTOR & _BITS)


def _mixed(value: int) -> int:
    return value ^ value >> 47


def _reason(text: str, args: Sequence[Any], kwargs: Mapping[str, Any], type_name: TypeName) -> str:
    """The line under a signature with as many parameters as there are arguments."""
    parameters = _parameters(text)
    if len(args) + len(kwargs) != len(parameters):
        return ""
    unknown = _unknown(parameters, kwargs)
    if unknown:
        return f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}\n"
    return f"      didn't match because some of the arguments have invalid types: {_compared(parameters, args, kwargs, type_name)}\n"


def _parameters(text: str) -> list[tuple[str, str]]:
    """(type, name) of each parameter; what stands before and after the last space of its text."""
    # no parameters at all are still one, without a name
    return [(kind or name, name) for kind, _, name in (part.rpartition(" ") for part in text[1:-1].split(", "))]


def _unknown(parameters: list[tuple[str, str]], kwargs: Mapping[str, Any]) -> list[str]:
    """Keywords that none of the last parameters has."""
    names = {name for _, name in parameters[max(len(parameters) - len(kwargs), 0) :]}
    return [key for key in kwargs if key not in names]


def _plain(args: Sequence[Any], kwargs: Mapping[str, Any], type_name: TypeName) -> str:
    shown = "".join(f"{type_name(a)}, " for a in args) + "".join(f"{k}={type_name(v)}, " for k, v in kwargs.items())
    return f"({shown[:-2] if args else shown})"


def _compared(parameters: list[tuple[str, str]], args: Sequence[Any], kwargs: Mapping[str, Any], type_name: TypeName) -> str:
    """The types given, each that does not fit its parameter between exclamation marks."""
    shown = ""
    for i, (kind, name) in enumerate(parameters):
        value = args[i] if i < len(args) else kwargs[name]
        text = ("" if i < len(args) else f"{name}=") + _detailed(value, type_name)
        fits = type_name(value) in _ALSO.get(kind, (kind,))
        shown += f"{text}, " if fits else f"!{text}!, "
    return f"({shown[:-2] if args else shown})"


def _detailed(value: Any, type_name: TypeName) -> str:
    """The type's name; of a list or tuple with those of its elements."""
    if not isinstance(value, (list, tuple)):
        return type_name(value)
    inner = ", ".join(map(type_name, value))
    if isinstance(value, list):
        return f"{type_name(value)} of [{inner}]"
    return f"{type_name(value)} of ({inner}{',' if len(value) == 1 else ''})"
