"""PyTorch's argument parsing: overloads tried in order, and its error texts (torch/csrc/utils/python_arg_parser.cpp).

A signature is written as `Tensor input, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None`. Types:
Tensor, Operand (a tensor or a number), Number, float, int (`symint`: also a tensor of one integer in any rank), bool, str, ints (`ints1`:
also one int; `ints2`, `ints3`: which is repeated), Tensors, dtype, Generator, device (`named`: any), any. `?` admits None.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradcli.core.tensor import dtypes
from gradcli.core.tensor.device import check as check_device
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import UNMET, ProgramError, runtime_error

_SHOWN = {
    "Operand": "Tensor",
    "symint": "int",
    "ints": "tuple of ints",
    "floats": "tuple of floats",
    "scalars": "tuple of Scalars",
    "ints1": "tuple of ints",
    "Tensors": "tuple of Tensors",
    "dtype": "torch.dtype",
    "layout": "torch.layout",
    "device": "torch.device",
    "named": "torch.device",
    "memory_format": "torch.memory_format",
    "Generator": "torch.Generator",
    "any": "object",
}

#: what numpy calls these parameters is taken too
_NUMPY_NAMES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}

#: the lists that PyTorch does not take for sizes: in those it refuses truth values
_DIMENSIONS = ("bins", "dim", "dims", "source", "destination", "dims_self", "dims_other")

#: the integers of a list are below this and not below its negative
_END = 1 << 63
_OVERFLOW = "Overflow when unpacking long long"


def _default_type_name(value: object) -> str:
    if type(value) is Tensor:
        return "Parameter" if value.is_parameter else "Tensor"
    if isinstance(value, Size):
        return "torch.Size"
    if isinstance(value, DType):
        return "torch.dtype"
    return str(getattr(type(value), "SCRIPT_NAME", type(value).__name__))


class Language:
    """What the language adds to argument parsing: names of its own types, dtypes for `int`, `float` and `bool`, numpy's arrays.

    `length`, `item` and `iterate` are len(), subscripts and iteration of any value, such as an instance of a program's class; `equal`
    and `check_hashable` compare values and refuse keys without recursion of Python's own. `decorate` makes a function that enters a grad
    mode each time it is called. `deep_copy` copies a value and all that it holds.
    """

    __slots__ = (
        *("type_name", "type_repr", "qualified_name", "as_dtype", "as_array", "as_number", "as_sequence"),
        *("as_mapping", "length", "item", "iterate", "collect", "equal", "check_hashable", "decorate", "deep_copy", "attributes"),
    )

    def __init__(self) -> None:
        self.type_name: Callable[[object], str] = _default_type_name
        self.type_repr: Callable[[object], str] = lambda value: repr(type(value))
        #: module and qualified name of a function or a class of the program; None for other values
        self.qualified_name: Callable[[object], str | None] = lambda value: None
        self.as_dtype: Callable[[object], DType | None] = lambda value: None
        #: the array in a value of type `numpy.ndarray`; None for other values
        self.as_array: Callable[[object], np.ndarray[Any, Any] | None] = lambda value: None
        #: the Python number that one of numpy's scalars is equal to; None for other values
        self.as_number: Callable[[object], float | None] = lambda value: None
        #: the items of what has a length and subscripts by place, such as a deque; None for what Python's sequences are, and for others
        self.as_sequence: Callable[[object], list[Any] | None] = lambda value: None
        #: the items of what has `keys` and subscripts, such as a dict or a ModuleDict; None for other values
        self.as_mapping: Callable[[object], dict[Any, Any] | None] = lambda value: value if type(value) is dict else None
        self.length: Callable[[Any], int] = len
        self.item: Callable[[Any, Any], Any] = operator.getitem
        self.iterate: Callable[[Any], Iterator[Any]] = iter
        #: the items of any value in a new list, within the bounds
        self.collect: Callable[[Any], list[Any]] = list
        self.equal: Callable[[Any, Any], bool] = operator.eq
        self.check_hashable: Callable[[Any], object] = hash
        self.decorate: Callable[[Any, Any], Any] = lambda mode, function: function
        self.deep_copy: Callable[[Any], Any] = copy.deepcopy
        #: `__dict__` of an instance of a program's class; None for other values
        self.attributes: Callable[[object], Any] = lambda value: None

    def plain(self, value: Any) -> Any:
        """The value with Python numbers for numpy's scalars, also within a list or tuple."""
        if isinstance(value, (list, tuple)) and any(self.as_number(item) is not None for item in value):
            return [self.plain(item) for item in value]
        number = self.as_number(value)
        return value if number is None else number


language = Language()


class Parameter:
    """One parameter of a signature."""

    __slots__ = ("name", "type", "nullable", "default", "has_default", "keyword_only", "check", "repeats")

    def __init__(self, text: str, keyword_only: bool) -> None:
        declared, _, rest = text.strip().partition(" ")
        name, equals, default = rest.partition("=")
        self.nullable = declared.endswith("?")
        self.type = declared.rstrip("?")
        #: how many numbers a single one stands for
        self.repeats = 1
        if self.type in ("ints2", "ints3"):
            self.type, self.repeats = "ints1", int(self.type[-1])
        self.name = name.strip()
        self.has_default = bool(equals)
        self.default: Any = _literal(default.strip()) if equals else None
        self.keyword_only = keyword_only
        self.check: Callable[[Any], bool] = _CHECKS[self.type]

    def key_in(self, kwargs: dict[str, Any]) -> str | None:
        """Under which of its names the parameter is given."""
        if self.name in kwargs:
            return self.name
        return next((other for other in _NUMPY_NAMES.get(self.name, ()) if other in kwargs), None)

    def shown(self) -> str:
        """The text by which error messages list it."""
        text = f"{_SHOWN.get(self.type, self.type)} {self.name}"
        if not self.has_default:
            return text
        default = self.default
        if self.name == "reduction" and self.type == "int":
            default = "at::Reduction::Mean"  # PyTorch declares this, which its parser reads as 0
        elif isinstance(default, str):
            default = f'"{default}"'
        elif type(default) is tuple and default:
            default = f"{{{','.join(map(str, default))}}}"
        return f"{text} = {default}"

    def convert(self, value: Any, function: str) -> Any:
        """What the implementation of `function` receives."""
        kind = self.type
        if kind in ("Number", "float", "int", "symint") and type(value) is Tensor:
            value = value.number()
        elif type(value) is int:
            if kind in ("Number", "Operand"):
                dtypes.check_whole(value)
            elif kind in ("int", "symint"):
                check_long(value)
        if kind == "float" and type(value) is not float:
            return float(scalar_of(value, dtypes.float64) if type(value) is complex else value)
        if kind in ("ints", "ints1"):
            if isinstance(value, (tuple, list)):
                return self._unpacked(value, function)
            number = int(value.number() if type(value) is Tensor else value)
            check_long(number)
            return (number,) * self.repeats
        if kind == "floats":
            for i, v in enumerate(value):
                if type(v) is complex or not _is_number(v):
                    why = f"found element of type {language.type_name(v)} at pos {i + 1}"
                    raise ProgramError("TypeError", f"{function}(): argument '{self.name}' must be {_SHOWN[kind]}, but {why}")
            return tuple(v.number() if type(v) is Tensor else v for v in value)
        if kind == "dtype" and not isinstance(value, DType):
            return language.as_dtype(value)
        if kind == "device":
            check_device(value)
        return value

    def _unpacked(self, value: Any, function: str) -> tuple[int, ...]:
        for i, v in enumerate(value):
            if not (is_index(v) or type(v) is bool or type(language.as_number(v)) is int):
                why = f'at pos {i + 1} with error "type must be {_SHOWN[self.type]},but got {language.type_name(v)}"'
                raise ProgramError("TypeError", f"{function}(): argument '{self.name}' failed to unpack the object {why}")
            if type(v) is Tensor and v.array.dtype.kind == "b" and self.name not in _DIMENSIONS:
                raise runtime_error(UNMET.format("scalar.isIntegral( false)"))
        numbers = tuple(v if type(v) is int else int(v.number() if type(v) is Tensor else v) for v in value)
        if numbers and not -_END <= min(numbers) <= max(numbers) < _END:
            i = next(i for i, n in enumerate(numbers) if not -_END <= n < _END)
            why = f'at pos {i + 1} with error "{_OVERFLOW}"'
            raise ProgramError("TypeError", f"{function}(): argument '{self.name}' failed to unpack the object {why}")
        return numbers


def check_long(value: int) -> None:
    """Raise PyTorch's ValueError for a whole number that an argument of 64 bits with a sign does not hold."""
    if not -_END <= value < _END:
        raise ProgramError("ValueError", _OVERFLOW)


def scalar(value: Any) -> Any:
    """The Python number that PyTorch takes from one of numpy's scalars: a truth value of numpy's is a float there, and no flag."""
    number = language.plain(value)
    return float(number) if type(number) is bool and type(value) is not bool else number


def _literal(text: str) -> Any:
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    if text[0] in "'\"":
        return text[1:-1]
    if text == "()":
        return ()
    if text[0] == "{":
        return tuple(map(int, text[1:-1].split(",")))
    return float(text) if any(c in text for c in ".einf") else int(text)


def _is_int(v: Any) -> bool:
    return type(v) is int or (type(v) is Tensor and v.array.ndim == 0 and v.array.dtype.kind in "iu")


def is_index(v: Any) -> bool:
    """Whether a value can be an element of a list of integers: tensors of one element too, be it a truth value."""
    return type(v) is int or (type(v) is Tensor and v.array.size == 1 and v.array.dtype.kind in "iub")


def _is_number(v: Any) -> bool:
    return type(v) in (int, float, bool, complex) or (type(v) is Tensor and v.array.ndim == 0 and not v.requires_grad)


def _is_device(v: Any) -> bool:
    return type(v).__name__ in ("Device", "str", "int")


def _is_ints(v: Any) -> bool:
    """By the first element alone, as PyTorch has it: the others are looked at when the list is taken apart."""
    return isinstance(v, (tuple, list)) and (not v or is_index(v[0]))


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda v: type(v) is Tensor,
    "Operand": lambda v: type(v) is Tensor or type(v) in (float, int, bool, complex),
    "Number": _is_number,
    "float": lambda v: type(v) is not complex and _is_number(v),
    "int": _is_int,
    "symint": lambda v: is_index(v) and (type(v) is int or v.array.dtype.kind != "b"),
    "bool": lambda v: type(v) is bool,
    "str": lambda v: isinstance(v, str),
    "ints": _is_ints,
    "floats": lambda v: isinstance(v, (tuple, list)) and (not v or _is_number(v[0])),
    "scalars": lambda v: isinstance(v, (tuple, list)) and all(_is_number(one) and type(one) is not Tensor for one in v),
    "ints1": lambda v: is_index(v) or _is_ints(v),
    "Tensors": lambda v: isinstance(v, (tuple, list)) and all(type(one) is Tensor for one in v),
    "dtype": lambda v: isinstance(v, DType) or language.as_dtype(v) is not None,
    "Generator": lambda v: type(v).__name__ == "Generator",
    "layout": lambda v: type(v).__name__ == "Symbol",
    "device": _is_device,
    "named": _is_device,
    "memory_format": lambda v: type(v).__name__ == "MemoryFormat",
    "any": lambda v: True,
}


_INT = {int}


class Signature:
    """One overload: parameters, and the function that implements it (called with every parameter in order).

    With `out` there is a parameter of that name, which the implementation does not get. A text may end in ` |deprecated`
    (accepted with a warning, never offered in an error), ` |no out` (takes none), ` |2 outs` (takes so many), ` |outs` (takes any
    number) or ` |function` (is no method).
    """

    __slots__ = ("parameters", "implementation", "min_args", "max_positional", "varargs", "deprecated", "out_at", "outs", "is_method")

    def __init__(self, text: str, implementation: Callable[..., Any], out: bool = False) -> None:
        self.parameters: list[Parameter] = []
        self.implementation = implementation
        text, _, flag = text.partition(" |")
        self.deprecated = flag == "deprecated"
        keyword_only = False
        for part in _split(text):
            if part == "*":
                keyword_only = True
            else:
                self.parameters.append(Parameter(part, keyword_only))
        #: the position of `out`: the last of all, or before the options of a new tensor
        self.out_at = -1
        #: how many tensors `out` is a tuple of; 0 for any number, or for a tensor
        self.outs = int(flag.removesuffix(" outs")) if flag.endswith(" outs") else 0
        if out and flag != "no out":
            names = [p.name for p in self.parameters]
            self.out_at = names.index("dtype") if "layout" in names else len(names)
            self.parameters.insert(self.out_at, Parameter(f"Tensor{'s' if flag.endswith('outs') else ''}? out=None", True))
        # only overloads that take a tensor as input are methods
        self.is_method = flag != "function" and self._own() is not None
        self._count()

    def _own(self) -> int | None:
        """Which parameter a method's tensor stands for: the first, or in a deprecated overload the one named input."""
        for i, p in enumerate(self.parameters):
            if p.type in ("Tensor", "Operand") and (i == 0 or (self.deprecated and p.name == "input")):
                return i
        return None

    def _count(self) -> None:
        positional = [p for p in self.parameters if not p.keyword_only]
        self.min_args = sum(not p.has_default for p in self.parameters)
        self.max_positional = len(positional)
        self.varargs = len(positional) == 1 and positional[0].type in ("ints", "ints1")

    def without_self(self) -> Signature:
        """The signature of the method: without the tensor itself, and without `out`."""
        own, run = self._own() or 0, self.implementation
        made = Signature("", (lambda input, *rest: run(*rest[:own], input, *rest[own:])) if own else run)
        made.deprecated = self.deprecated
        made.parameters = [p for i, p in enumerate(self.parameters) if i not in (own, self.out_at)]
        made._count()
        return made

    def shown(self) -> str:
        """The text by which error messages list it."""
        parts: list[str] = []
        star = False
        for p in self.parameters:
            if p.keyword_only and not star:
                parts.append("*")
                star = True
            parts.append(p.shown())
        return f"({', '.join(parts)})"

    def bind(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], strict: bool) -> list[Any] | None:
        """The values for the implementation, or None where this overload does not fit (`strict`: PyTorch's error)."""
        count = len(args)
        if self.varargs and not _INT.issuperset(map(type, args)):
            args = tuple(number if type(number := language.plain(a)) is int else a for a in args)
        if count > self.max_positional and not (self.varargs and count and is_index(args[0])):
            return self._fail(strict, self._too_many(name, count))
        values: list[Any] = []
        taken: list[tuple[int, Parameter]] = []
        at = 0
        left = len(kwargs)
        for p in self.parameters:
            if at < count:
                if p.keyword_only:
                    return self._fail(strict, self._too_many(name, count))
                value, keyword, given = args[at], False, True
            elif kwargs and (key := p.key_in(kwargs)) is not None:
                value, keyword, given = kwargs[key], True, True
            else:
                value, keyword, given = None, True, False
            if not given:
                if not p.has_default:
                    return self._fail(strict, self._missing(name, len(values)))
                values.append(p.default)
                continue
            if value is None and p.nullable:
                values.append(None)
            elif p.check(value):
                taken.append((len(values), p))
                values.append(value)
            elif self.varargs and at == 0 and not keyword and _is_ints(args):
                taken.append((0, p))
                values.append(args)
                at = count
                continue
            elif (number := scalar(value)) is not value and p.check(number):
                taken.append((len(values), p))
                values.append(number)
            else:
                # of a list of tensors PyTorch says what else is in it, whatever other overloads there are
                mixed = p.type == "Tensors" and isinstance(value, (tuple, list))
                return self._fail(strict or mixed, self._wrong_type(name, p, value, None if keyword else at + 1))
            if keyword:
                left -= 1
            else:
                at += 1
        if left > 0:
            return self._fail(strict, self._extra_keyword(name, kwargs, count))
        # lists are taken apart, and may turn out wrong, only where the overload fits
        for i, p in taken:
            values[i] = p.convert(values[i], name)
        return values

    @staticmethod
    def _fail(strict: bool, message: str) -> None:
        if strict:
            raise ProgramError("TypeError", message)

    def _too_many(self, name: str, count: int) -> str:
        most, least = self.max_positional, self.min_args
        if least != most:
            return f"{name}() takes from {least} to {most} positional arguments but {count} were given"
        return f"{name}() takes {most} positional argument{'' if most == 1 else 's'} but {count} {'was' if count == 1 else 'were'} given"

    def _missing(self, name: str, first: int) -> str:
        """PyTorch counts all parameters from the first that is missing on, given ones included."""
        missing = [p.name for p in self.parameters[first:] if not p.has_default]
        names = ", ".join(f'"{m}"' for m in missing)
        # PyTorch's plural is the wrong way round
        return f"{name}() missing {len(missing)} required positional argument{'s' if len(missing) == 1 else ''}: {names}"

    def _wrong_type(self, name: str, p: Parameter, value: Any, position: int | None) -> str:
        if p.type == "Tensors" and isinstance(value, (tuple, list)):
            i, found = next((i, v) for i, v in enumerate(value) if type(v) is not Tensor)
            return f"expected Tensor as element {i} in argument {self.parameters.index(p)}, but got {language.type_name(found)}"
        where = f" (position {position})" if position is not None else ""
        shown = _SHOWN.get(p.type, p.type)
        if p.type in ("ints", "ints1") and isinstance(value, (tuple, list)) and position is not None:  # of a keyword it says the type alone
            for i, element in enumerate(value):
                if not is_index(element):
                    found = language.type_name(element)
                    return f"{name}(): argument '{p.name}'{where} must be {shown}, but found element of type {found} at pos {i}"
        return f"{name}(): argument '{p.name}'{where} must be {shown}, not {language.type_name(value)}"

    def _extra_keyword(self, name: str, kwargs: dict[str, Any], count: int) -> str:
        names = [p.name for p in self.parameters]
        for key in kwargs:
            if key not in names:
                return f"{name}() got an unexpected keyword argument '{key}'"
            if names.index(key) < count:
                return f"{name}() got multiple values for argument '{key}'"
        return "invalid keyword arguments"


def _split(text: str) -> list[str]:
    """Split at commas outside braces."""
    parts: list[str] = []
    depth = 0
    current = ""
    for c in text:
        depth += (c == "{") - (c == "}")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    if current.strip():
        parts.append(current.strip())
    return parts
