"""What operators, subscripts, iteration and truth do with values of any type: host values, tensors, our own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gradcli import limits
from gradcli.core.ops import operators as core
from gradcli.core.tensor.node import state
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import ProgramError
from gradcli.lang.python import comparing, numbers
from gradcli.lang.python.dict_views import DictView, ItemsView, KeysView
from gradcli.lang.python.dicts_and_sets import range_length
from gradcli.lang.python.object_protocol import HOST_TYPES
from gradcli.lang.python.reprs import iterate_set
from gradcli.lang.values import representation
from gradcli.lang.values.execution import check_time, counting, ticking
from gradcli.lang.values.shape_error_labels import label_operands
from gradcli.lang.values.types import type_name
from gradcli.lang.values.value_classes import IteratorValue, NumpyArray, make_error

__all__ = ["make_error", "range_length", "type_name"]

_NUMBERS = (int, float, bool)
_SEQUENCES = (str, list, tuple)


# --- for the runtime of host values ---------------------------------------------------------------


class _Ops:
    """The interpreter's side of the runtime of host values."""

    __slots__ = ()

    def equal(self, a: Any, b: Any) -> bool:
        check_time()
        return equal(a, b)

    def less(self, a: Any, b: Any) -> bool:
        check_time()
        return truth(COMPARE["<"](a, b))

    def truth(self, value: Any) -> bool:
        return truth(value)

    def hashable(self, value: Any) -> None:
        comparing.check_hashable(value)

    def iterate(self, value: Any) -> Iterator[Any]:
        return stepping(value)

    def call(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        from gradcli.lang.values.calls import call

        return call(function, args, state.origin, kwargs)

    def repr_of(self, value: Any) -> str:
        return representation.repr_text(value)

    def str_of(self, value: Any) -> str:
        return representation.str_text(value)

    def format_of(self, value: Any, spec: str) -> str:
        return representation.format_own(value, spec)

    def to_number(self, value: Any) -> int | float:
        return to_number(value)

    def type_name(self, value: Any) -> str:
        return type_name(value)


OPS = _Ops()
HOST_BINARY = numbers.binary_table(OPS)


# --- arithmetic -----------------------------------------------------------------------------------


def _never(a: Tensor, b: Any) -> None:
    return None


def _binary(symbol: str) -> Callable[[Any, Any], Any]:
    for_tensors = core.PLAIN[symbol]
    quick = core.QUICK.get(symbol, _never)
    for_host = HOST_BINARY[symbol]
    shown = "** or pow()" if symbol == "**" else symbol

    def operate(a: Any, b: Any) -> Any:
        if type(a) is Tensor:
            made = quick(a, b)
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
            made = for_host(a, b)
            return as_size(made) if type(a) is Size or type(b) is Size else made
        return _mixed(symbol, shown, for_host, a, b)

    return operate


def _is_plain(value: Any) -> bool:
    return type(value) in HOST_TYPES or isinstance(value, tuple | DictView)


def as_size(result: Any) -> Any:
    """Slices and sums of a torch.Size are one too."""
    return Size(result) if type(result) is tuple and all(type(item) is int for item in result) else result


def _mixed(symbol: str, shown: str, for_host: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Operands of different worlds: a sequence times a 0-d tensor, text formatting; else Python's TypeError."""
    if symbol == "*":
        if isinstance(a, _SEQUENCES) and type(b) is Tensor:
            return for_host(a, index_of(b))
        if isinstance(b, _SEQUENCES) and type(a) is Tensor:
            return for_host(index_of(a), b)
    if symbol == "%" and type(a) is str:
        return for_host(a, b)
    if symbol == "+" and isinstance(a, _SEQUENCES):
        kind = "str" if isinstance(a, str) else "list" if isinstance(a, list) else "tuple"
        raise ProgramError("TypeError", f'can only concatenate {kind} (not "{type_name(b)}") to {kind}')
    raise ProgramError("TypeError", f"unsupported operand type(s) for {shown}: '{type_name(a)}' and '{type_name(b)}'")


BINARY: dict[str, Callable[[Any, Any], Any]] = {symbol: _binary(symbol) for symbol in numbers.BINARY}


def to_number(value: Any) -> int | float:
    """The number in a tensor of one element, for functions that take real numbers."""
    if type(value) is Tensor:
        if value.array.size != 1:
            raise ProgramError("ValueError", "only one element tensors can be converted to Python scalars")
        return value.item()
    raise ProgramError("TypeError", f"must be real number, not {type_name(value)}")


def index_of(value: Any) -> int:
    """The integer that a value stands for as an index. Raises Python's and PyTorch's errors."""
    if isinstance(value, int):
        return int(value)
    if type(value) is Tensor:
        if value.array.size == 1 and value.array.dtype.kind in "iub":
            return int(value.array.item())
        raise ProgramError("TypeError", "only integer tensors of a single element can be converted to an index")
    raise ProgramError("TypeError", f"'{type_name(value)}' object cannot be interpreted as an integer")


def _inplace(symbol: str) -> Callable[[Any, Any], Any]:
    binary = BINARY[symbol]

    def operate(a: Any, b: Any) -> Any:
        if type(a) is Tensor:
            try:
                return core.augmented(symbol, a, b)
            except ProgramError as error:
                label_operands(error, a, b)
                raise
        if type(b) is Tensor or not _is_plain(a) or not _is_plain(b):
            if isinstance(a, list) and symbol == "+":
                return numbers.augmented(OPS, HOST_BINARY, symbol, a, b)
            return binary(a, b)
        return numbers.augmented(OPS, HOST_BINARY, symbol, a, b)

    return operate


INPLACE: dict[str, Callable[[Any, Any], Any]] = {symbol: _inplace(symbol) for symbol in numbers.BINARY}


def _unary(symbol: str) -> Callable[[Any], Any]:
    for_tensors = core.UNARY[symbol]
    for_host = numbers.UNARY[symbol]

    def operate(a: Any) -> Any:
        if type(a) is Tensor:
            return for_tensors(a)
        if type(a) in HOST_TYPES:
            return for_host(a)
        raise ProgramError("TypeError", f"bad operand type for unary {symbol}: '{type_name(a)}'")

    return operate


UNARY: dict[str, Callable[[Any], Any]] = {symbol: _unary(symbol) for symbol in "-+~"}


# --- truth and comparison -------------------------------------------------------------------------


def truth(value: Any) -> bool:
    """`bool(value)`."""
    if type(value) is Tensor:
        return core.truth(value)
    if type(value) in HOST_TYPES or isinstance(value, tuple | DictView):
        return bool(value)
    methods = getattr(type(value), "SCRIPT_METHODS", None)
    if methods is not None and "__len__" in methods:
        return bool(methods["__len__"](value))
    return True


def equal(a: Any, b: Any) -> bool:
    """The truth of `a == b`."""
    if type(a) is Tensor or type(b) is Tensor:
        return truth(core.COMPARE["=="](a, b))
    return _equal_plain(a, b)


def _equal_plain(a: Any, b: Any) -> bool:
    """`a == b` where neither is a tensor."""
    if isinstance(a, list | tuple | dict):
        if type(a) is type(b) or isinstance(b, list | tuple | dict):
            return comparing.equal(a, b, _equal_leaf)
        return False
    return _equal_leaf(a, b)


def _equal_leaf(a: Any, b: Any) -> bool:
    if type(a) is Tensor or type(b) is Tensor:
        return truth(core.COMPARE["=="](a, b))
    if isinstance(a, KeysView | ItemsView) and isinstance(b, set | KeysView | ItemsView):
        return bool(numbers.BINARY["^"](a, b) == set())
    if isinstance(a, list | tuple | dict) or isinstance(b, list | tuple | dict):
        return False  # of the same kind they were compared element by element
    return bool(a == b)


def _equality(wanted: bool) -> Callable[[Any, Any], Any]:
    for_tensors = core.COMPARE["==" if wanted else "!="]

    def compare(a: Any, b: Any) -> Any:
        if type(a) is Tensor or type(b) is Tensor:
            return for_tensors(a, b)
        return _equal_plain(a, b) is wanted

    return compare


def _ordering(symbol: str, primitive: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    for_tensors = core.COMPARE[symbol]

    def leaf(a: Any, b: Any) -> Any:
        if type(a) is Tensor or type(b) is Tensor:
            return for_tensors(a, b)
        numeric = type(a) in _NUMBERS and type(b) in _NUMBERS
        if numeric or (isinstance(a, str) and isinstance(b, str)) or (isinstance(a, set) and isinstance(b, set)):
            return primitive(a, b)
        raise ProgramError("TypeError", f"'{symbol}' not supported between instances of '{type_name(a)}' and '{type_name(b)}'")

    def compare(a: Any, b: Any) -> Any:
        if (isinstance(a, list) and isinstance(b, list)) or (isinstance(a, tuple) and isinstance(b, tuple)):
            return comparing.order(a, b, equal, leaf, primitive)
        return leaf(a, b)

    return compare


def contains(item: Any, container: Any) -> Any:
    """`item in container`."""
    if type(container) is Tensor:
        return _tensor_contains(container, item)
    if type(container) is IteratorValue:
        return any(comparing.same(OPS, element, item) for element in iterate(container))
    if not _is_plain(container):
        own = getattr(type(container), "SCRIPT_METHODS", {}).get("__contains__")
        if own is not None:
            return own(container, item)
        raise ProgramError("TypeError", f"argument of type '{type_name(container)}' is not iterable")
    return comparing.contains(OPS, container, item)


def _tensor_contains(tensor: Tensor, item: Any) -> bool:
    """`item in tensor`: whether any element is equal."""
    if type(item) is not Tensor and type(item) not in _NUMBERS:
        from gradcli.lang.values.types import type_of

        shown = representation.repr_text(type_of(item))
        raise ProgramError("RuntimeError", f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {shown}.")
    return bool(core.COMPARE["=="](tensor, item).array.any())


def _is(a: Any, b: Any) -> bool:
    return a is b


def _is_not(a: Any, b: Any) -> bool:
    return a is not b


def _not_in(item: Any, container: Any) -> bool:
    return not contains(item, container)


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": _equality(True),
    "!=": _equality(False),
    "<": _ordering("<", operator.lt),
    "<=": _ordering("<=", operator.le),
    ">": _ordering(">", operator.gt),
    ">=": _ordering(">=", operator.ge),
    "in": contains,
    "not in": _not_in,
    "is": _is,
    "is not": _is_not,
}


# --- iteration ------------------------------------------------------------------------------------


def iterate(value: Any, message: str = "'{}' object is not iterable") -> Iterator[Any]:
    """A host iterator over a value's items. `message` is the TypeError for what has none, with the type's name for `{}`."""
    kind = type(value)
    if kind is list or kind is range or kind is tuple or kind is str:
        return iter(value)
    if kind is Tensor:
        return core.iterate(value)  # type: ignore[no-any-return]
    if kind is dict:
        return iter(KeysView(value))
    if kind is set:
        return iterate_set(value, representation.repr_text)
    if kind is IteratorValue or isinstance(value, DictView | tuple):
        return iter(value)
    if kind is NumpyArray:
        return iter(value.array.tolist())
    methods = getattr(kind, "SCRIPT_METHODS", None)
    if methods is not None and "__iter__" in methods:
        return iter(methods["__iter__"](value))
    raise ProgramError("TypeError", message.format(type_name(value)))


def stepping(value: Any, message: str = "'{}' object is not iterable") -> Iterator[Any]:
    """`iterate`, each item counted as a step where steps are bounded: for built-in functions that loop."""
    source = iterate(value, message)
    return ticking(source) if counting() else source


def collect(value: Any, message: str = "'{}' object is not iterable") -> list[Any]:
    """All items in a new list, within the bounds."""
    if type(value) in (list, tuple):
        return list(value)
    if type(value) is range:
        limits.check_list(range_length(value))
    if not counting():
        return list(iterate(value, message))
    out: list[Any] = []
    for item in stepping(value, message):
        out.append(item)
        limits.check_list(len(out))
    return out
