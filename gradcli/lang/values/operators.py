"""The operators on values of any type."""

from __future__ import annotations

from collections.abc import Callable

from gradcli.core.calling.type_errors import type_error, unsupported_operands
from gradcli.core.ops import operators as core
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import ProgramError
from gradcli.lang.python import comparing, numbers
from gradcli.lang.python.dict_views import DictView, set_like
from gradcli.lang.python.object_protocol import HOST_TYPES, Value
from gradcli.lang.values import comparison, special_methods, types
from gradcli.lang.values.object_operations import OPS, index_of, iterate
from gradcli.lang.values.shape_error_labels import label_operands
from gradcli.lang.values.type_names import type_name, type_repr
from gradcli.lang.values.value_classes import MISSING, IteratorValue, NumpyValue, Special

_NUMBERS = (int, float, bool, complex)
_SEQUENCES = (str, list, tuple)


_HOST_BINARY = numbers.binary_table(OPS)


# --- arithmetic -----------------------------------------------------------------------------------


def _never(a: Tensor, b: Value) -> None:
    return None


def _binary(symbol: str) -> Callable[[Value, Value], Value]:
    for_tensors = core.PLAIN[symbol]
    fast_path = core.FAST_PATHS.get(symbol, _never)
    for_host = _HOST_BINARY[symbol]

    def operate(a: Value, b: Value) -> Value:
        if type(a) is Tensor:
            made = fast_path(a, b)
            if made is not None:
                return made
            if type(b) is Tensor:
                try:
                    return for_tensors(a, b)
                except ProgramError as error:
                    label_operands(error, a, b)
                    raise
            if type(b) in _NUMBERS:
                return for_tensors(a, b)
        elif type(b) is Tensor:
            if type(a) in _NUMBERS:
                return for_tensors(a, b)
        elif _is_plain(a) and _is_plain(b):
            return _with_size(symbol, for_host, a, b) if type(a) is Size or type(b) is Size else for_host(a, b)
        return _mixed(symbol, for_host, a, b)

    return operate


def _with_size(symbol: str, for_host: Callable[[Value, Value], Value], a: Value, b: Value) -> Value:
    """Operands of which one is a torch.Size, whose sums and multiples are torch.Size too. Raises TypeError with PyTorch's texts."""
    if symbol == "+" and type(a) is Size and not isinstance(b, tuple):
        raise type_error("can only concatenate tuple (not {}) to torch.Size", b)
    if symbol == "*" or (symbol == "+" and isinstance(a, tuple)):
        from gradcli.core.calling.sizes import size_of  # most programs add none

        made = for_host(a, b)
        return size_of(made) if type(made) is tuple else made
    if symbol == "%" and isinstance(a, str):
        return for_host(a, b)
    if symbol == "+" and isinstance(a, _SEQUENCES):
        raise _cannot_join(a, b)
    raise unsupported_operands(symbol, a, b)


def _cannot_join(a: Value, b: Value) -> ProgramError:
    """The error of `a + b` for a sequence of Python and something else."""
    kind = "str" if isinstance(a, str) else "list" if isinstance(a, list) else "tuple"
    return type_error(f'can only concatenate {kind} (not "{{}}") to {kind}', b)


def _is_plain(value: Value) -> bool:
    return type(value) in HOST_TYPES or isinstance(value, tuple | DictView)


def _mixed(symbol: str, for_host: Callable[[Value, Value], Value], a: Value, b: Value) -> Value:
    """Operands that are neither both tensors nor both host values, as in `[1] * tensor(2)`. Raises TypeError with Python's text."""
    if isinstance(a, Special) or isinstance(b, Special) or hasattr(type(a), "special") or hasattr(type(b), "special"):
        found = special_methods.operate(symbol, a, b)
        if found is not MISSING:
            return found
    views = set_like(a), set_like(b)
    if (views[0] is not a or views[1] is not b) and _is_plain(views[0]) and _is_plain(views[1]):
        return for_host(*views)
    if symbol == "*":
        for times, sequence in ((a, b), (b, a)):
            if isinstance(sequence, _SEQUENCES) and type(times) is Tensor:
                made = for_host(sequence, index_of(times))
                return Size(made) if type(sequence) is Size else made
    if symbol == "|" and (made := types.union(a, b)) is not None:
        return made
    if symbol == "%" and isinstance(a, str):
        return for_host(a, b)
    if type(a) is Size and symbol == "+":
        return _with_size(symbol, for_host, a, b)
    if symbol == "+" and isinstance(a, _SEQUENCES):
        raise _cannot_join(a, b)
    raise unsupported_operands(symbol, a, b)


BINARY: dict[str, Callable[[Value, Value], Value]] = {symbol: _binary(symbol) for symbol in numbers.BINARY}


def _inplace(symbol: str) -> Callable[[Value, Value], Value]:
    binary = BINARY[symbol]

    def operate(a: Value, b: Value) -> Value:
        if isinstance(a, Special) or isinstance(b, Special):
            if type(a) is Tensor and isinstance(b, NumpyValue) and (number := b.number()) is not None:
                return core.augmented(symbol, a, float(number) if type(number) is bool else number)
            found = special_methods.operate(symbol, a, b, in_place=True)
            if found is not MISSING:
                return found
            raise unsupported_operands(f"{symbol}=", a, b)
        if type(a) is Tensor:
            try:
                return core.augmented(symbol, a, b)
            except ProgramError as error:
                label_operands(error, a, b)
                raise
        if type(b) is Tensor or not _is_plain(a) or not _is_plain(b):
            if isinstance(a, list) and symbol == "+":
                return numbers.augmented(OPS, _HOST_BINARY, symbol, a, b)
            if hasattr(type(a), "special"):
                found = special_methods.operate(symbol, a, b, in_place=True)
                return binary(a, b) if found is MISSING else found
            return binary(a, b)
        if isinstance(a, tuple) and symbol in "+*" and (type(a) is Size or type(b) is Size):
            return binary(a, b)
        return numbers.augmented(OPS, _HOST_BINARY, symbol, a, b)

    return operate


INPLACE: dict[str, Callable[[Value, Value], Value]] = {symbol: _inplace(symbol) for symbol in numbers.BINARY}


_UNARY_METHODS = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}


def _unary(symbol: str) -> Callable[[Value], Value]:
    for_tensors = core.UNARY[symbol]
    for_host = numbers.UNARY[symbol]

    def operate(a: Value) -> Value:
        if type(a) is Tensor:
            return for_tensors(a)
        if type(a) in HOST_TYPES:
            return for_host(a)
        method = special_methods.special(a, _UNARY_METHODS[symbol])
        if method is not None:
            return method()
        raise ProgramError("TypeError", f"bad operand type for unary {symbol}: '{type_name(a)}'")

    return operate


UNARY: dict[str, Callable[[Value], Value]] = {symbol: _unary(symbol) for symbol in "-+~"}


# --- membership and comparison ------------------------------------------------------------------------


def contains(item: Value, container: Value) -> Value:
    """`item in container`."""
    if type(container) is Tensor:
        return _tensor_contains(container, item)
    if type(container) is IteratorValue:
        return any(comparing.same(OPS, element, item) for element in iterate(container))
    if not _is_plain(container):
        own = getattr(type(container), "SCRIPT_METHODS", {}).get("__contains__")
        if own is not None:
            return own(container, item)
        return _instance_contains(container, item)
    return comparing.contains(OPS, container, item)


def _instance_contains(container: Value, item: Value) -> bool:
    """`item in container` by `__contains__`, or by going through the items. Raises TypeError."""
    method = special_methods.special(container, "__contains__")
    if method is not None:
        return special_methods.truth(method(item))
    iterates = "__iter__" in getattr(type(container), "SCRIPT_METHODS", {}) or special_methods.special(container, "__iter__") is not None
    if not iterates and special_methods.special(container, "__getitem__") is None:
        raise type_error("argument of type '{}' is not iterable", container)
    return any(comparing.same(OPS, element, item) for element in iterate(container))


def _tensor_contains(tensor: Tensor, item: Value) -> bool:
    """`item in tensor`: whether any element is equal."""
    if type(item) is not Tensor and type(item) not in _NUMBERS:
        text = f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type_repr(item)}."
        raise ProgramError("RuntimeError", text)
    return bool(core.COMPARE["=="](tensor, item).array.any())


def _is(a: Value, b: Value) -> bool:
    return a is b


def _is_not(a: Value, b: Value) -> bool:
    return a is not b


def _not_in(item: Value, container: Value) -> bool:
    return not contains(item, container)


COMPARE: dict[str, Callable[[Value, Value], Value]] = {
    **comparison.COMPARE,
    "in": contains,
    "not in": _not_in,
    "is": _is,
    "is not": _is_not,
}
