"""Types as values: what `type(x)` gives, what `isinstance` and `except` accept, and what calling a type makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gradcli import limits
from gradcli.core.calling.script_types import Scripted, ScriptType
from gradcli.core.calling.type_errors import type_error
from gradcli.core.random import seeds
from gradcli.core.random.generator import Generator
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.vocabulary import library, torch_types
from gradcli.errors import EXCEPTION_PARENTS, ProgramError, is_exception_subtype
from gradcli.lang.python import comparing, dicts_and_sets, numbers, sequences
from gradcli.lang.python.dict_views import table_of
from gradcli.lang.python.object_protocol import TorchVersion, Value
from gradcli.lang.values import subscripts
from gradcli.lang.values.object_operations import OPS, index_of, item_of, real_number, stepping, to_number
from gradcli.lang.values.representation import repr_text, str_text
from gradcli.lang.values.special_methods import ClassOfInstances, Instance, special, truth
from gradcli.lang.values.type_names import OF_C, path_of, type_name
from gradcli.lang.values.user_classes import ClassMethod, Native, Property, StaticMethod, UserClass
from gradcli.lang.values.value_classes import ExceptionType, NumpyValue, Plain, TypeValue

# --- what calling a type makes ----------------------------------------------------------------------


def _checked(found: Value, kind: type, name: str) -> Value:
    if type(found) is not kind:
        raise type_error(f"{name} returned non-{kind.__name__} (type {{}})", found)
    return found


def _make_int(*args: Value, **kwargs: Value) -> int:
    """`int(x)`, `int(text, base)`."""
    if len(args) == 1 and not kwargs:
        value = args[0]
        if type(value) is Tensor:
            number = item_of(value, warned=False)
            value = real_number(number, "int64_t" if value.dtype.is_complex else "double")
            value = int(value) if type(number) is complex else value
        elif type(value) not in (int, float, bool, str, TorchVersion):
            for name in ("__int__", "__index__", "__trunc__"):
                method = special(value, name)
                if method is not None:
                    return int(_checked(method(), int, name))
            kind = type_name(value)
            raise ProgramError("TypeError", f"int() argument must be a string, a bytes-like object or a real number, not '{kind}'")
        return numbers.to_int(value)
    return numbers.to_int(*args, **kwargs)


def _make_float(*args: Value, **kwargs: Value) -> float:
    """`float(x)`."""
    if len(args) == 1 and not kwargs:
        value = args[0]
        if type(value) is Tensor:
            value = to_number(value)
        elif type(value) not in (int, float, bool, str, TorchVersion):
            method = special(value, "__float__")
            if method is not None:
                return float(_checked(method(), float, f"{type_name(value)}.__float__"))
            raise type_error("float() argument must be a string or a real number, not '{}'", value)
        return numbers.to_float(value)
    return numbers.to_float(*args, **kwargs)


def _make_complex(*args: Value, **kwargs: Value) -> complex:
    """`complex(real, imag)`, `complex(text)`."""
    return numbers.to_complex(*map(_complex_part, args), **{name: _complex_part(value) for name, value in kwargs.items()})


def _complex_part(value: Value) -> Value:
    """An argument of `complex`: a number or a text; what has `__complex__` or `__float__` is a number. Raises TypeError."""
    if type(value) in (int, float, bool, complex, str):
        return value
    if type(value) is Tensor:
        return item_of(value)
    method = special(value, "__complex__")
    if method is not None:
        return _checked(method(), complex, f"{type_name(value)}.__complex__")
    if not isinstance(value, NumpyValue) and special(value, "__float__") is None:
        raise type_error("complex() first argument must be a string or a number, not '{}'", value)
    return to_number(value)


def _at_most_one(name: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
    if kwargs:
        raise ProgramError("TypeError", f"{name}() takes no keyword arguments")
    if len(args) > 1:
        raise ProgramError("TypeError", f"{name} expected at most 1 argument, got {len(args)}")


def _make_bool(*args: Value, **kwargs: Value) -> bool:
    """`bool(x)`."""
    _at_most_one("bool", args, kwargs)
    return truth(args[0]) if args else False


def _make_str(*args: Value, **kwargs: Value) -> str:
    """`str(x)`."""
    if len(args) > 1 or kwargs:
        raise ProgramError("TypeError", "str() takes one argument here: bytes are not part of gradcli's language")
    return str_text(args[0]) if args else ""


def _make_list(*args: Value, **kwargs: Value) -> list[Value]:
    """`list(x)`."""
    _at_most_one("list", args, kwargs)
    return sequences.elements(OPS, args[0]) if args else []


def _make_tuple(*args: Value, **kwargs: Value) -> tuple[Value, ...]:
    """`tuple(x)`."""
    _at_most_one("tuple", args, kwargs)
    if args and type(args[0]) is tuple:
        return args[0]
    return tuple(sequences.elements(OPS, args[0])) if args else ()


def _make_set(*args: Value, **kwargs: Value) -> set[Value]:
    """`set(x)`."""
    _at_most_one("set", args, kwargs)
    return dicts_and_sets.make_set(OPS, args[0]) if args else set()


def _make_frozenset(*args: Value, **kwargs: Value) -> frozenset[Value]:
    """`frozenset(x)`."""
    _at_most_one("frozenset", args, kwargs)
    if args and type(args[0]) is frozenset:
        return args[0]
    return frozenset(dicts_and_sets.make_set(OPS, args[0])) if args else frozenset()


def _make_dict(*args: Value, **kwargs: Value) -> dict[Value, Value]:
    """`dict(x, **more)`."""
    if len(args) > 1:
        raise ProgramError("TypeError", f"dict expected at most 1 argument, got {len(args)}")
    made: dict[Value, Value] = {}
    dicts_and_sets.fill_dict(OPS, made, args, kwargs)
    return made


def dict_from_keys(iterable: Value, value: Value = None, /) -> dict[Value, Value]:
    """`dict.fromkeys(iterable, value)`."""
    made: dict[Value, Value] = {}
    for key in stepping(iterable):
        subscripts.put(made, key, value)
        limits.check_list(len(made))
    return made


def _make_object(*args: Value, **kwargs: Value) -> Value:
    if args or kwargs:
        raise ProgramError("TypeError", "object() takes no arguments")
    return Plain()


def _make_range(*args: Value, **kwargs: Value) -> range:
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


def _make_slice(*args: Value, **kwargs: Value) -> slice:
    """`slice(stop)`, `slice(start, stop, step)`."""
    if kwargs:
        raise ProgramError("TypeError", "slice() takes no keyword arguments")
    if not 1 <= len(args) <= 3:
        which = "at least 1 argument" if not args else "at most 3 arguments"
        raise ProgramError("TypeError", f"slice expected {which}, got {len(args)}")
    made = slice(*args)
    comparing.check_slice(made)
    return made


def _make_type(*args: Value, **kwargs: Value) -> Value:
    if len(args) == 3:
        raise ProgramError("TypeError", "type() with three arguments is not part of gradcli's language; write a class statement")
    if len(args) != 1 or kwargs:
        raise ProgramError("TypeError", "type() takes 1 or 3 arguments")
    return type_of(args[0])


# --- types ------------------------------------------------------------------------------------------


class DictBase:
    """A mark of instances of classes derived from dict; gradcli.lang.classes.dicts is loaded with the first such class."""

    __slots__ = ()

    BASE_OF = "dicts"
    #: its special methods that programs may call with an instance
    CALLED = ("__len__", "__iter__", "__contains__", "__getitem__", "__setitem__", "__delitem__")


def _host(make: Callable[..., Value], kind: type, *also: type) -> TypeValue:
    """The type object of a class of Python; instances of `also` belong to it too."""
    kinds = (kind, *also)
    return TypeValue(getattr(kind, "SCRIPT_NAME", kind.__name__), lambda value: type(value) in kinds, make)


INT = TypeValue("int", lambda value: type(value) in (int, bool) or (isinstance(value, Instance) and isinstance(value, int)), _make_int)
FLOAT = TypeValue("float", lambda value: type(value) is float or (isinstance(value, NumpyValue) and value.is_float()), _make_float)
COMPLEX = _host(_make_complex, complex)
BOOL = _host(_make_bool, bool)
STR = TypeValue("str", lambda value: isinstance(value, str), _make_str)
LIST = _host(_make_list, list)
TUPLE = TypeValue("tuple", lambda value: isinstance(value, tuple), _make_tuple)
DICT = TypeValue("dict", lambda value: table_of(value) is not None, _make_dict)
DICT.instances = DictBase
SET = _host(_make_set, set)
FROZENSET = _host(_make_frozenset, frozenset)
RANGE = _host(_make_range, range)
SLICE = _host(_make_slice, slice)
TYPE = TypeValue("type", lambda value: type(value) in (TypeValue, ExceptionType, ScriptType, UserClass), _make_type)
OBJECT = TypeValue("object", lambda value: True, _make_object)
PROPERTY = _host(Property, Property)
STATICMETHOD = _host(StaticMethod, StaticMethod)
CLASSMETHOD = _host(ClassMethod, ClassMethod)

_BY_CLASS: dict[type, TypeValue | ScriptType] = {
    int: INT,
    float: FLOAT,
    complex: COMPLEX,
    bool: BOOL,
    str: STR,
    list: LIST,
    tuple: TUPLE,
    dict: DICT,
    set: SET,
    frozenset: FROZENSET,
    range: RANGE,
    slice: SLICE,
    Plain: OBJECT,
    TypeValue: TYPE,
    ExceptionType: TYPE,
    UserClass: TYPE,
    ScriptType: TYPE,
    Size: torch_types.SIZE,
    DType: torch_types.DTYPE,
    torch_types.Device: torch_types.DEVICE,
    Generator: seeds.GENERATOR,
}

#: by path, types that are made when they are first asked for
_by_path: dict[str, TypeValue] = {}
_exceptions: dict[str, ExceptionType] = {}


def exception_type(name: str) -> ExceptionType:
    """The exception type of a name; always the same object."""
    known = _exceptions.get(name)
    if known is None:
        known = _exceptions[name] = ExceptionType(name, make_error)
    return known


def make_error(name: str, args: tuple[Value, ...]) -> ProgramError:
    """`name(*args)`: the error that `raise` takes; its message is what Python's `str` gives."""
    return ProgramError(name, partial(error_text, name, args), args=args)


def error_text(name: str, args: tuple[Value, ...]) -> str:
    """`str(error)` of an error of the type `name`."""
    if not args:
        return ""
    if len(args) > 1:
        return repr_text(args)
    return repr_text(args[0]) if name == "KeyError" else str_text(args[0])


def derives(name: str, ancestor: str) -> bool:
    """Whether errors of the type `name` are caught by `except ancestor`: all but a few errors of a program are Exceptions."""
    if ancestor == "Exception":
        return name not in ("GeneratorExit", "KeyboardInterrupt", "SystemExit")
    return ancestor == "BaseException" or is_exception_subtype(name, ancestor)


def lineage(native: Native) -> Sequence[Native]:
    """A native type and the native types that it derives from, the most derived first."""
    if type(native) is ExceptionType:
        at = native.name
        above: list[ExceptionType | ScriptType] = [native]
        while at != "BaseException":
            at = EXCEPTION_PARENTS.get(at) or ("Exception" if at != "Exception" and derives(at, "Exception") else "BaseException")
            above.append(exception_type(at))
        return above
    if type(native) is TypeValue:
        return [native]
    assert type(native) is ScriptType
    found = [vars(one)["SCRIPT_TYPE"] for one in native.instances.mro() if "SCRIPT_TYPE" in vars(one)] if native.instances else []
    return found if native in found else [native, *found]


def is_below(native: Value, other: Value) -> bool:
    """Whether a native type derives from another."""
    if type(native) is ExceptionType and type(other) is ExceptionType:
        return derives(native.name, other.name)
    if type(native) in (ScriptType, TypeValue) and type(other) is ScriptType and native.instances and other.instances:
        return issubclass(native.instances, other.instances)
    return False


def derives_from_exception(cls: ClassOfInstances, ancestor: ExceptionType) -> bool:
    """Whether instances of a class of the program are errors that `except ancestor` catches."""
    return any(type(base) is ExceptionType and derives(base.name, ancestor.name) for base in cls.mro)


def type_of(value: Value) -> TypeValue | ExceptionType | ScriptType | UserClass:
    """`type(value)`; equal types are the same object."""
    kind = type(value)
    if isinstance(value, Instance):
        return value.cls  # type: ignore[return-value]
    known = _BY_CLASS.get(kind)
    if known is not None:
        return known
    if kind is Tensor:
        return library.find("nn.Parameter") if value.is_parameter else torch_types.TENSOR
    if kind is ProgramError:
        return exception_type(value.type_name)
    declared = getattr(kind, "SCRIPT_TYPE", None)
    if declared is not None:
        return getattr(value, "OWN_TYPE", declared)  # type: ignore[no-any-return]
    named = named_type(path_of(value))
    if isinstance(value, Node):
        named.instances = kind
    return named


def named_type(path: str) -> TypeValue:
    """The type of values whose type has this name; always the same object."""
    made = _by_path.get(path)
    if made is None:
        made = _by_path[path] = TypeValue(OF_C.get(path, path), lambda other: path_of(other) == path)
    return made


_TYPES = (TypeValue, ScriptType, ExceptionType, UserClass)


class Union(Scripted):
    """`int | float`: what `isinstance` and annotations take."""

    __slots__ = ("__weakref__", "kinds")

    SCRIPT_NAME = "UnionType"

    def __init__(self, kinds: tuple[Value, ...]) -> None:
        self.kinds = kinds

    def __repr__(self) -> str:
        return " | ".join("None" if kind is None else str(kind.name) for kind in self.kinds)


def union(a: Value, b: Value) -> Union | None:
    """`a | b` of two types, of which one may be None or a union; else None."""
    if not all(one is None or type(one) in (*_TYPES, Union) for one in (a, b)) or (a is None and b is None):
        return None
    return Union((*(a.kinds if type(a) is Union else (a,)), *(b.kinds if type(b) is Union else (b,))))


def is_instance(value: Value, wanted: Value, /) -> bool:
    """`isinstance(value, wanted)`, where `wanted` is a type or a tuple of types, nested or not. Raises TypeError."""
    pending = [wanted]
    while pending:
        one = pending.pop()
        if type(one) is TypeValue:
            if one.check(value):
                return True
        elif type(one) is ScriptType:
            if one.test(value):
                return True
        elif type(one) is ExceptionType:
            if type(value) is ProgramError and derives(value.type_name, one.name):
                return True
            if isinstance(value, Instance) and derives_from_exception(value.cls, one):
                return True
        elif type(one) is UserClass:
            if isinstance(value, Instance) and one in value.cls.mro:
                return True
        elif isinstance(one, tuple):
            limits.evaluation.tick()  # what is shared is visited once for each path
            pending.extend(one)
        elif type(one) is Union:
            pending.extend(kind for kind in one.kinds if kind is not None)
            if value is None and None in one.kinds:
                return True
        else:
            text = "isinstance() arg 2 must be a type, a tuple of types, or a union"
            raise ProgramError("TypeError", text)
    return False


def is_subclass(value: Value, wanted: Value, /) -> bool:
    """`issubclass(value, wanted)`. Raises TypeError unless both are"""
    if type(value) not in (UserClass, TypeValue, ScriptType, ExceptionType):
        raise ProgramError("TypeError", "issubclass() arg 1 must be a class")
    pending = [wanted]
    while pending:
        one = pending.pop()
        if isinstance(one, tuple | Union):
            limits.evaluation.tick()
            pending.extend(one.kinds if isinstance(one, Union) else one)
            continue
        if type(one) not in (UserClass, TypeValue, ScriptType, ExceptionType):
            raise ProgramError("TypeError", "issubclass() arg 2 must be a class, a tuple of classes, or a union")
        if one is value or one is OBJECT or (type(one) is TypeValue and one.above is not None and one.above(value)):
            return True
        above = value.mro if type(value) is UserClass else (value,)
        if one in above or any(type(base) is not UserClass and is_below(base, one) for base in above):
            return True
        if (value is BOOL and one is INT) or (type(value) is ScriptType and _is_made_of(value, one)):
            return True
    return False


#: by name, the types of libraries whose instances are those of another type too
_MADE_OF = {"Parameter": torch_types.TENSOR, "Buffer": torch_types.TENSOR, "Size": TUPLE}
_MADE_OF |= dict.fromkeys(("OrderedDict", "defaultdict", "Counter"), DICT)


def _is_made_of(value: ScriptType, other: Value) -> bool:
    """Whether a type of a library, such as torch.Size, derives from a type of Python or from Tensor."""
    if other is TUPLE and value.instances is not None:
        return issubclass(value.instances, tuple)
    return _MADE_OF.get(value.name) is other
