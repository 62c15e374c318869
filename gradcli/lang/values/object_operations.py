"""The object protocol for values of any type: iteration, conversion to numbers, formatting, and `OPS` for Python's own types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.type_errors import not_an_integer, not_one_element, type_error
from gradcli.core.ops import operators as core
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError
from gradcli.lang.python import comparing
from gradcli.lang.python.dict_views import DictView, KeysView
from gradcli.lang.python.dicts_and_sets import range_length
from gradcli.lang.python.formatting import format_value
from gradcli.lang.python.object_protocol import TorchVersion, Value
from gradcli.lang.python.reprs import iterate_set
from gradcli.lang.values.calls import call
from gradcli.lang.values.comparison import COMPARE, equal
from gradcli.lang.values.execution import check_time, counting, execution, ticking
from gradcli.lang.values.representation import repr_text, str_text, text_from
from gradcli.lang.values.special_methods import Instance, hash_method, special, truth
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.value_classes import IteratorValue, NumpyValue, Special

# --- iteration ------------------------------------------------------------------------------------


def iterate(value: Value, message: str = "'{}' object is not iterable") -> Iterator[Value]:
    """A Python iterator over the items of a value. Raises TypeError with the text `message`, where `{}` is the name of the type."""
    kind = type(value)
    if kind is list or kind is range or kind is tuple or kind is str:
        return iter(value)
    if kind is Tensor:
        return core.iterate(value)  # type: ignore[no-any-return]
    if kind is dict:
        return iter(KeysView(value))
    if kind is set or kind is frozenset:
        return iterate_set(value, repr_text)
    if kind is IteratorValue or isinstance(value, DictView | tuple | TorchVersion):
        return iter(value)
    if isinstance(value, Instance) or special(value, "__iter__") is not None:
        return _iterate_instance(value, message)
    methods = getattr(kind, "SCRIPT_METHODS", None)
    if methods is not None and "__iter__" in methods:
        return iter(methods["__iter__"](value))
    raise _not_iterable(message, value)


def _not_iterable(message: str, value: Value) -> ProgramError:
    error = type_error(message, value)
    error.code = Code.NOT_ITERABLE
    return error


def _iterate_instance(value: Value, message: str) -> Iterator[Value]:
    """The items that `__iter__` or, as Python has it too, `__getitem__` of a class of the program gives. Raises TypeError."""
    begin = special(value, "__iter__")
    if begin is None:
        item_at = special(value, "__getitem__")
        if item_at is None:
            raise _not_iterable(message, value)
        places = count()
        return _until(lambda: item_at(next(places)), "IndexError")
    source = begin()
    advance = special(source, "__next__")
    if advance is not None:
        return _until(advance, "StopIteration")
    known = type(source) is IteratorValue or isinstance(source, Iterator)
    if not known and "__next__" not in getattr(type(source), "SCRIPT_METHODS", ()):
        raise type_error("iter() returned non-iterator of type '{}'", source)
    return iterate(source)


def _until(advance: Callable[[], Value], end: str) -> Iterator[Value]:
    """The values that `advance` gives, until it raises an error of the type `end`."""
    while True:
        try:
            value = advance()
        except ProgramError as error:
            if not error.is_a(end):
                raise
            return
        yield value


def stepping(value: Value, message: str = "'{}' object is not iterable") -> Iterator[Value]:
    """`iterate`, each item counted as a step where steps are bounded: for built-in functions that loop."""
    source = iterate(value, message)
    return ticking(source) if counting() else source


def collect(value: Value, message: str = "'{}' object is not iterable") -> list[Value]:
    """All items in a new list, within the bounds."""
    if type(value) in (list, tuple):
        return list(value)
    if type(value) is range:
        limits.check_list(range_length(value))
    if not counting():
        return list(iterate(value, message))
    out: list[Value] = []
    for item in stepping(value, message):
        out.append(item)
        limits.check_list(len(out))
    return out


# --- numbers --------------------------------------------------------------------------------------


def to_number(value: Value) -> int | float:
    """The number in a tensor of one element, for functions that take real numbers. PyTorch warns once if the tensor requires grad.

    Raises TypeError, ValueError.
    """
    if type(value) is Tensor:
        return real_number(item_of(value), "double")
    if isinstance(value, NumpyValue) and (number := value.number()) is not None:
        return number
    for name in ("__float__", "__index__"):
        method = special(value, name)
        if method is not None:
            return method()  # type: ignore[no-any-return]
    raise ProgramError("TypeError", f"must be real number, not {type_name(value)}")


def item_of(tensor: Tensor, warned: bool = True) -> Value:
    """The number in a tensor of one element, real or complex. PyTorch warns once if the tensor requires grad. Raises ValueError."""
    if tensor.array.size != 1:
        raise not_one_element()
    warnings.of_scalar(warned and tensor.requires_grad)
    return core.item(tensor)


def real_number(number: Value, name: str) -> int | float:
    """The number in a tensor as a real one. Raises PyTorch's RuntimeError, which calls the type `name`, for an imaginary part."""
    if type(number) is complex:
        if number.imag:
            raise ProgramError("RuntimeError", f"value cannot be converted to type {name} without overflow")
        return number.real
    return number  # type: ignore[no-any-return]


def index_of(value: Value) -> int:
    """The integer that a value stands for as an index. Raises TypeError with Python's or PyTorch's text."""
    if isinstance(value, int):
        return int(value)
    if type(value) is Tensor:
        if value.array.size == 1 and value.array.dtype.kind in "iub":
            return int(value.array.item())
        raise ProgramError("TypeError", "only integer tensors of a single element can be converted to an index")
    method = special(value, "__index__")
    if method is None:
        raise not_an_integer(value)
    found = method()
    if type(found) is not int:
        raise type_error("__index__ returned non-int (type {})", found)
    return found


# --- the protocol ---------------------------------------------------------------------------------


class _Ops:
    """`Ops` for all values of the language."""

    __slots__ = ()

    def equal(self, a: Value, b: Value) -> bool:
        check_time()
        return equal(a, b)

    def less(self, a: Value, b: Value) -> bool:
        check_time()
        return truth(COMPARE["<"](a, b))

    def greater(self, a: Value, b: Value) -> bool:
        check_time()
        return truth(COMPARE[">"](a, b))

    truth = staticmethod(truth)
    hashable = staticmethod(comparing.check_hashable)
    iterate = staticmethod(stepping)
    repr_of = staticmethod(repr_text)
    str_of = staticmethod(str_text)
    to_number = staticmethod(to_number)
    to_index = staticmethod(index_of)
    type_name = staticmethod(type_name)

    def call(self, function: Value, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> Value:
        return call(function, args, state.origin, kwargs)

    def format_of(self, value: Value, spec: str) -> str:
        if type(value) is Tensor and value.array.ndim == 0 and not value.is_parameter:
            return format_text(core.item(value), spec)
        method = special(value, "__format__")
        if method is not None:
            return text_from(method(spec), "__format__")
        if not spec:
            return str_text(value)
        raise ProgramError("TypeError", f"unsupported format string passed to {type_name(value)}.__format__")


OPS = _Ops()


def format_text(value: Value, spec: str) -> str:
    """`format(value, spec)`."""
    if not spec and type(value) is not Tensor and not isinstance(value, Special):
        return str_text(value)
    return format_value(OPS, value, spec)


def deterministic_hash(value: Value, /) -> int:
    """`hash(value)`: a hash that is the same in each run: of texts it is not Python's, which differs from run to run."""
    comparing.check_hashable(value)
    return _hash(value, {})


def _hash(value: Value, known: dict[int, int]) -> int:
    """The hash of a value that may be a key; `known` has those of tuples by identity."""
    kind = type(value)
    if isinstance(value, tuple):
        found = known.get(id(value))
        if found is None:
            limits.evaluation.tick()
            found = known[id(value)] = hash(tuple([_hash(item, known) for item in value]))
        return found
    if kind is frozenset:
        return hash(frozenset([_hash(item, known) for item in value]))
    if isinstance(value, str):
        import hashlib

        return int.from_bytes(hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big")
    if isinstance(value, Instance):
        return execution.addresses.of(value) if hash_method(value) is None else hash(value)
    if kind in (int, float, bool, complex) or special(value, "__hash__") is not None:
        return hash(value)
    return execution.addresses.of(value)
