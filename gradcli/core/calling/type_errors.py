"""Python's errors for values of the wrong type, with the names of the types as fields."""

from __future__ import annotations

from gradcli.core.calling.signature import language
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError


def type_error(text: str, *values: object) -> ProgramError:
    """A TypeError; each `{}` in `text` stands for the type of one of `values`."""
    names = tuple([language.type_name(value) for value in values])
    return ProgramError("TypeError", text.format(*names), names=names)


def as_dtype(value: object, function: str, name: str, position: int = 1) -> DType:
    """The dtype in an argument, which Python's number types name too. Raises TypeError for another value."""
    found = value if isinstance(value, DType) else language.as_dtype(value)
    if found is None:
        raise type_error(f"{function}(): argument '{name}' (position {position}) must be torch.dtype, not {{}}", value)
    return found


def no_attribute(value: object, name: str) -> ProgramError:
    """The AttributeError for `value.name`."""
    kind = language.type_name(value)
    return ProgramError("AttributeError", f"'{kind}' object has no attribute '{name}'", names=(kind,))


def not_iterable(value: object) -> ProgramError:
    """The TypeError for a loop over `value`."""
    return type_error("'{}' object is not iterable", value)


def not_subscriptable(value: object) -> ProgramError:
    """The TypeError for `value[...]`."""
    return type_error("'{}' object is not subscriptable", value)


def not_an_integer(value: object) -> ProgramError:
    """The TypeError for `value` as an index; a tensor may be one."""
    if type(value) is Tensor:
        return ProgramError("TypeError", "only integer tensors of a single element can be converted to an index")
    return type_error("'{}' object cannot be interpreted as an integer", value)


def not_one_element() -> ProgramError:
    """The ValueError for a tensor of several elements, or none, as a Python number."""
    return ProgramError("ValueError", "only one element tensors can be converted to Python scalars", code=Code.MANY_ELEMENTS_AS_NUMBER)


def not_callable(value: object) -> ProgramError:
    """The TypeError for `value()`."""
    kind = language.type_name(value)
    return ProgramError("TypeError", f"'{kind}' object is not callable", code=Code.NOT_CALLABLE, names=(kind,))


def unsupported_operands(symbol: str, a: object, b: object) -> ProgramError:
    """The TypeError for `a symbol b`; for `**` the message names `pow()` too. A sequence times a value is repeated in Python."""
    if symbol == "*" and any(type(one) is Tensor and isinstance(other, (str, list, tuple)) for one, other in ((a, b), (b, a))):
        return not_an_integer(a if type(a) is Tensor else b)
    names = (symbol, language.type_name(a), language.type_name(b))
    shown = "** or pow()" if symbol == "**" else symbol
    text = f"unsupported operand type(s) for {shown}: '{names[1]}' and '{names[2]}'"
    return ProgramError("TypeError", text, code=Code.UNSUPPORTED_OPERANDS, names=names)


def not_ordered(symbol: str, a: object, b: object) -> ProgramError:
    """The TypeError for the comparison `a symbol b`."""
    return type_error(f"'{symbol}' not supported between instances of '{{}}' and '{{}}'", a, b)
