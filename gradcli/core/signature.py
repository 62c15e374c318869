"""PyTorch's argument parsing: overloads tried in order, and its error texts (torch/csrc/utils/python_arg_parser.cpp).

A signature is written as `Tensor input, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None`. Types:
Tensor, Operand (a tensor or a number), Number, float, int, bool, str, ints (`ints1`: also one int), Tensors, dtype,
Generator, any. `?` admits None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core import dtypes, mismatch, warnings
from gradcli.core.dtypes import DType
from gradcli.core.tensor import Size, Tensor
from gradcli.errors import ProgramError

_SHOWN = {
    "Operand": "Tensor",
    "ints": "tuple of ints",
    "ints1": "tuple of ints",
    "Tensors": "tuple of Tensors",
    "dtype": "torch.dtype",
    "layout": "torch.layout",
    "device": "torch.device",
    "memory_format": "torch.memory_format",
    "Generator": "torch.Generator",
    "any": "object",
}


def _default_type_name(value: object) -> str:
    if type(value) is Tensor:
        return "Parameter" if value.is_parameter else "Tensor"
    if isinstance(value, Size):
        return "torch.Size"
    if isinstance(value, DType):
        return "torch.dtype"
    return type(value).__name__


def _no_dtype(value: object) -> DType | None:
    return None


class Hooks:
    """What the language adds: names of its own types, and dtypes for `int`, `float` and `bool`."""

    __slots__ = ("type_name", "as_dtype")

    def __init__(self) -> None:
        self.type_name: Callable[[object], str] = _default_type_name
        self.as_dtype: Callable[[object], DType | None] = _no_dtype


hooks = Hooks()


class Parameter:
    """One parameter of a signature."""

    __slots__ = ("name", "type", "nullable", "default", "has_default", "keyword_only", "check")

    def __init__(self, text: str, keyword_only: bool) -> None:
        declared, _, rest = text.strip().partition(" ")
        name, equals, default = rest.partition("=")
        self.nullable = declared.endswith("?")
        self.type = declared.rstrip("?")
        self.name = name.strip()
        self.has_default = bool(equals)
        self.default: Any = _literal(default.strip()) if equals else None
        self.keyword_only = keyword_only
        self.check: Callable[[Any], bool] = _CHECKS[self.type]

    def shown(self) -> str:
        """As error messages list it."""
        text = f"{_SHOWN.get(self.type, self.type)} {self.name}"
        if not self.has_default:
            return text
        default = f'"{self.default}"' if type(self.default) is str else self.default
        return f"{text} = {default}"

    def convert(self, value: Any) -> Any:
        """What the implementation receives."""
        kind = self.type
        if kind in ("Number", "float", "int") and type(value) is Tensor:
            value = value.item()
        if kind == "float" and type(value) is not float:
            return float(value)
        if kind in ("ints", "ints1"):
            if isinstance(value, (tuple, list)):
                return tuple(v if type(v) is int else int(v.item()) for v in value)
            return (value if type(value) is int else int(value.item()),)
        if kind == "dtype" and not isinstance(value, DType):
            return hooks.as_dtype(value)
        return value


def _literal(text: str) -> Any:
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    if text[0] in "'\"":
        return text[1:-1]
    if text == "()":
        return ()
    return float(text) if any(c in text for c in ".einf") else int(text)


def _is_int(v: Any) -> bool:
    return type(v) is int or (type(v) is Tensor and v.array.ndim == 0 and v.array.dtype.kind in "iu")


def _is_number(v: Any) -> bool:
    return type(v) in (int, float, bool) or (type(v) is Tensor and v.array.ndim == 0 and not v.requires_grad)


def _is_ints(v: Any) -> bool:
    return isinstance(v, (tuple, list)) and all(_is_int(x) for x in v)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda v: type(v) is Tensor,
    "Operand": lambda v: type(v) is Tensor or type(v) in (float, int, bool),
    "Number": _is_number,
    "float": _is_number,
    "int": _is_int,
    "bool": lambda v: type(v) is bool,
    "str": lambda v: type(v) is str,
    "ints": _is_ints,
    "ints1": lambda v: _is_int(v) or _is_ints(v),
    "Tensors": lambda v: isinstance(v, (tuple, list)) and (not v or type(v[0]) is Tensor),
    "dtype": lambda v: isinstance(v, DType) or hooks.as_dtype(v) is not None,
    "Generator": lambda v: type(v).__name__ == "Generator",
    "layout": lambda v: type(v).__name__ == "Symbol",
    "device": lambda v: type(v).__name__ in ("Device", "str", "int"),
    "memory_format": lambda v: type(v).__name__ == "Symbol",
    "any": lambda v: True,
}

#: parameter types for which the argument's type alone decides
_BY_TYPE = {
    "Tensor": (Tensor,),
    "Operand": (Tensor, float, int, bool),
    "Number": (float, int, bool),
    "float": (float,),
    "int": (int,),
    "bool": (bool,),
    "str": (str,),
    "any": (),
}


class Signature:
    """One overload: parameters, and the function that implements it (called with every parameter in order).

    With `out` there is a parameter of that name, which the implementation does not get. A text may end in ` |deprecated`
    (accepted with a warning, never offered in an error), ` |no out` (takes none), ` |outs` (takes several) or ` |function`
    (is no method).
    """

    __slots__ = ("parameters", "implementation", "min_args", "max_positional", "varargs", "deprecated", "out_at", "is_method")

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
        #: where `out` stands: the last of all, or before the options of a new tensor
        self.out_at = -1
        if out and flag != "no out":
            names = [p.name for p in self.parameters]
            self.out_at = names.index("dtype") if "layout" in names else len(names)
            self.parameters.insert(self.out_at, Parameter(f"Tensor{'s' if flag == 'outs' else ''}? out=None", True))
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
        """As error messages list it."""
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
        if count > self.max_positional and not (self.varargs and count and _is_int(args[0])):
            return self._fail(strict, self._too_many(name, count))
        values: list[Any] = []
        at = 0
        left = len(kwargs)
        for p in self.parameters:
            if at < count:
                if p.keyword_only:
                    return self._fail(strict, self._too_many(name, count))
                value, keyword, given = args[at], False, True
            elif p.name in kwargs:
                value, keyword, given = kwargs[p.name], True, True
            else:
                value, keyword, given = None, True, False
            if not given:
                if not p.has_default:
                    return self._fail(strict, self._missing(name, kwargs, at, count))
                values.append(p.default)
                continue
            if value is None and p.nullable:
                values.append(None)
            elif p.check(value):
                values.append(p.convert(value))
            elif self.varargs and at == 0 and not keyword and _is_ints(args):
                values.append(p.convert(args))
                at = count
                continue
            else:
                return self._fail(strict, self._wrong_type(name, p, value, None if keyword else at + 1))
            if keyword:
                left -= 1
            else:
                at += 1
        if left > 0:
            return self._fail(strict, self._extra_keyword(name, kwargs, count))
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

    def _missing(self, name: str, kwargs: dict[str, Any], at: int, count: int) -> str:
        missing = [p.name for i, p in enumerate(self.parameters) if i >= count and not p.has_default and p.name not in kwargs]
        names = ", ".join(f'"{m}"' for m in missing)
        # PyTorch's plural is the wrong way round
        return f"{name}() missing {len(missing)} required positional argument{'s' if len(missing) == 1 else ''}: {names}"

    def _wrong_type(self, name: str, p: Parameter, value: Any, position: int | None) -> str:
        where = f" (position {position})" if position is not None else ""
        shown = _SHOWN.get(p.type, p.type)
        if p.type in ("ints", "ints1") and isinstance(value, (tuple, list)):
            for i, element in enumerate(value):
                if not _is_int(element):
                    found = hooks.type_name(element)
                    return f"{name}(): argument '{p.name}'{where} must be {shown}, but found element of type {found} at pos {i}"
        return f"{name}(): argument '{p.name}'{where} must be {shown}, not {hooks.type_name(value)}"

    def _extra_keyword(self, name: str, kwargs: dict[str, Any], count: int) -> str:
        names = [p.name for p in self.parameters]
        for key in kwargs:
            if key not in names:
                return f"{name}() got an unexpected keyword argument '{key}'"
            if names.index(key) < count:
                return f"{name}() got multiple values for argument '{key}'"
        return "invalid keyword arguments"


def _split(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    parts: list[str] = []
    depth = 0
    current = ""
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    if current.strip():
        parts.append(current.strip())
    return parts


class Parser:
    """The overloads of one function or method; remembers which fits a tuple of argument types."""

    __slots__ = ("name", "signatures", "cache")

    def __init__(self, name: str, signatures: list[Signature]) -> None:
        self.name = name
        self.signatures = signatures
        self.cache: dict[Any, tuple[Callable[..., Any], tuple[Any, ...]]] = {}

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], first: tuple[Any, ...] = ()) -> Any:
        """Find the overload and call its implementation; `first` goes before the parsed arguments (a method's self)."""
        if not kwargs:
            key = tuple(map(type, args))
            known = self.cache.get(key)
            if known is not None:
                return known[0](*first, *args, *known[1])
        signature, values = self.find(args, kwargs)
        if not kwargs:
            self._remember(key, signature, args)
        if signature.out_at >= 0:
            values.pop(signature.out_at)
        return signature.implementation(*first, *values)

    def find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Signature, list[Any]]:
        """The first overload that fits, and its values; PyTorch's TypeError if none does."""
        if len(self.signatures) == 1:
            only = self.signatures[0]
            values = only.bind(self.name, args, kwargs, True)
            assert values is not None
            return only, values
        for signature in self.signatures:
            values = signature.bind(self.name, args, kwargs, False)
            if values is not None:
                if signature.deprecated:
                    self._warn(signature)
                return signature, values
        raise self._no_match(args, kwargs)

    def _offered(self) -> list[str]:
        return [s.shown() for s in self.signatures if not s.deprecated]

    def _warn(self, used: Signature) -> None:
        offered = "".join(f"\n\t{self.name}{text}" for text in self._offered())
        warnings.emit(
            f"This overload of {self.name} is deprecated:\n\t{self.name}{used.shown()}\nConsider using one of the following signatures "
            f"instead:{offered} (Triggered internally at /__w/pytorch/pytorch/torch/csrc/utils/python_arg_parser.cpp:1841.)"
        )

    def _remember(self, key: Any, signature: Signature, args: tuple[Any, ...]) -> None:
        parameters = signature.parameters[: len(args)]
        if signature.deprecated or len(parameters) != len(args) or not all(type(a) in _BY_TYPE.get(p.type, ()) for p, a in zip(parameters, args, strict=True)):
            return
        if signature is not self.signatures[0] and any(type(a) is Tensor and a.array.ndim == 0 for a in args):
            return  # a 0-d tensor may stand for a number in an earlier overload
        if any(
            type(a) is Tensor and i < len(s.parameters) and s.parameters[i].type in ("Number", "float", "int")
            for s in self.signatures[: self.signatures.index(signature)]
            for i, a in enumerate(args)
        ):
            return
        rest = enumerate(signature.parameters)
        self.cache[key] = (signature.implementation, tuple(p.default for i, p in rest if i >= len(args) and i != signature.out_at))

    def _no_match(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ProgramError:
        count = len(args) + len(kwargs)
        plausible = [s for s in self.signatures if not s.deprecated and s.min_args <= count <= len(s.parameters)]
        if len(plausible) == 1:
            plausible[0].bind(self.name, args, kwargs, True)
        text = mismatch.describe(self._offered(), args, kwargs, hooks.type_name)
        return ProgramError("TypeError", f"{self.name}() received an invalid combination of arguments - {text}")


def scalar_of(value: Any, dtype: DType) -> Any:
    """A Python number stored as `dtype`; PyTorch's error where an integer does not fit."""
    if type(value) is int and not dtype.is_floating_point and dtype is not dtypes.bool_:
        info = np.iinfo(dtype.np)
        low = info.min if info.min < 0 else -info.max
        if not low <= value <= info.max:
            raise ProgramError("RuntimeError", f"value cannot be converted to type {short_type(dtype)} without overflow")
        return np.array(value & ((1 << info.bits) - 1), np.uint64).astype(dtype.np)[()]
    return value


def short_type(dtype: DType) -> str:
    """The C++ name that overflow messages use."""
    return {"int32": "int", "int64": "long"}.get(dtype.name, dtype.name)
