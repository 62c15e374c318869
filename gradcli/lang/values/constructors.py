"""What calling a type makes: `int(x)`, `list(x)` and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.python import conversions, dicts_and_sets, sequences
from gradcli.lang.values import operators, representation, subscripts
from gradcli.lang.values.operators import OPS, index_of
from gradcli.lang.values.types import type_name

_REQUIRES_GRAD = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first. (Triggered internally at "
    "/__w/pytorch/pytorch/torch/csrc/autograd/generated/python_variable_methods.cpp:822.)"
)


def scalar(tensor: Tensor) -> Any:
    """The number in a tensor, for conversions; PyTorch warns once where gradients would be lost."""
    if tensor.array.size != 1:
        raise ProgramError("ValueError", "only one element tensors can be converted to Python scalars")
    if tensor.requires_grad:
        warnings.emit(_REQUIRES_GRAD, once="scalar")
    return tensor.item()


def make_int(*args: Any, **kwargs: Any) -> int:
    """`int(x)`, `int(text, base)`."""
    if len(args) == 1 and not kwargs:
        value = args[0]
        if type(value) is Tensor:
            value = scalar(value)
        elif type(value) not in (int, float, bool, str):
            kind = type_name(value)
            raise ProgramError("TypeError", f"int() argument must be a string, a bytes-like object or a real number, not '{kind}'")
        return conversions.to_int(value)
    return conversions.to_int(*args, **kwargs)


def make_float(*args: Any, **kwargs: Any) -> float:
    """`float(x)`."""
    if len(args) == 1 and not kwargs:
        value = args[0]
        if type(value) is Tensor:
            value = scalar(value)
        elif type(value) not in (int, float, bool, str):
            raise ProgramError("TypeError", f"float() argument must be a string or a real number, not '{type_name(value)}'")
        return conversions.to_float(value)
    return conversions.to_float(*args, **kwargs)


def _at_most_one(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ProgramError("TypeError", f"{name}() takes no keyword arguments")
    if len(args) > 1:
        raise ProgramError("TypeError", f"{name} expected at most 1 argument, got {len(args)}")


def make_bool(*args: Any, **kwargs: Any) -> bool:
    """`bool(x)`."""
    _at_most_one("bool", args, kwargs)
    return operators.truth(args[0]) if args else False


def make_str(*args: Any, **kwargs: Any) -> str:
    """`str(x)`."""
    if len(args) > 1 or kwargs:
        raise ProgramError("TypeError", "str() takes one argument here: bytes are not part of gradcli's language")
    return representation.str_text(args[0]) if args else ""


def make_list(*args: Any, **kwargs: Any) -> list[Any]:
    """`list(x)`."""
    _at_most_one("list", args, kwargs)
    return sequences.elements(OPS, args[0]) if args else []


def make_tuple(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """`tuple(x)`."""
    _at_most_one("tuple", args, kwargs)
    if args and type(args[0]) is tuple:
        return args[0]
    return tuple(sequences.elements(OPS, args[0])) if args else ()


def make_set(*args: Any, **kwargs: Any) -> set[Any]:
    """`set(x)`."""
    _at_most_one("set", args, kwargs)
    return dicts_and_sets.make_set(OPS, args[0]) if args else set()


def make_dict(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    """`dict(x, **more)`."""
    if len(args) > 1:
        raise ProgramError("TypeError", f"dict expected at most 1 argument, got {len(args)}")
    made: dict[Any, Any] = {}
    dicts_and_sets.fill_dict(OPS, made, args, kwargs)
    return made


def dict_from_keys(iterable: Any, value: Any = None, /) -> dict[Any, Any]:
    """`dict.fromkeys(iterable, value)`."""
    made: dict[Any, Any] = {}
    for key in operators.stepping(iterable):
        subscripts.put(made, key, value)
        limits.check_list(len(made))
    return made


def make_range(*args: Any, **kwargs: Any) -> range:
    """`range(stop)`, `range(start, stop, step)`."""
    if kwargs:
        raise ProgramError("TypeError", "range() takes no keyword arguments")
    if not 1 <= len(args) <= 3:
        which = "at least 1 argument" if not args else "at most 3 arguments"
        raise ProgramError("TypeError", f"range expected {which}, got {len(args)}")
    bounds = [index_of(arg) for arg in args]
    if len(bounds) == 3 and bounds[2] == 0:
        raise ProgramError("ValueError", "range() arg 3 must not be zero")
    return range(*bounds)


def make_slice(*args: Any, **kwargs: Any) -> slice:
    """`slice(stop)`, `slice(start, stop, step)`."""
    if kwargs:
        raise ProgramError("TypeError", "slice() takes no keyword arguments")
    if not 1 <= len(args) <= 3:
        which = "at least 1 argument" if not args else "at most 3 arguments"
        raise ProgramError("TypeError", f"slice expected {which}, got {len(args)}")
    return slice(*args)


MAKERS: dict[str, Callable[..., Any]] = {
    "int": make_int,
    "float": make_float,
    "bool": make_bool,
    "str": make_str,
    "list": make_list,
    "tuple": make_tuple,
    "set": make_set,
    "dict": make_dict,
    "range": make_range,
    "slice": make_slice,
}
