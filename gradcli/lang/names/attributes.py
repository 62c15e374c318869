"""Attributes: each type of values has tables of its attributes, and programs can reach nothing else of a value.

Names with a leading underscore are left out, except those that PyTorch users read: `__name__` of types and functions,
`torch.__version__`, `_version`, and the `_saved_` and `_raw_saved_` names of a grad_fn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from operator import attrgetter

from gradcli import limits
from gradcli.core.calling.named_tuples import NamedTuple
from gradcli.core.calling.overloads import is_wide
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.functions import catalog
from gradcli.core.functions._index import METHODS
from gradcli.core.functions.function import Function, PythonMethod
from gradcli.core.random import seeds
from gradcli.core.random.generator import Generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.vocabulary import torch_types
from gradcli.errors import Code, ProgramError
from gradcli.lang.names import class_attributes, tensor_attributes
from gradcli.lang.python import sequences, strings
from gradcli.lang.python.formatting import format_string
from gradcli.lang.python.object_protocol import Value, hosted
from gradcli.lang.values import generators, subscripts, types
from gradcli.lang.values.calls import Decorated
from gradcli.lang.values.object_operations import OPS, index_of
from gradcli.lang.values.representation import function_name
from gradcli.lang.values.special_methods import Instance
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.types import dict_from_keys
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import FUNCTIONS, MISSING, BoundMethod, Builtin, ExceptionType, IteratorValue, Namespace, TypeValue

Method = Callable[..., Value]

#: names with a leading underscore that programs may read where a table has them
_OPEN = frozenset(
    (
        *("_version", "_base", "_is_view", "__name__", "_fields", "_asdict", "_make", "_replace", "_get_name", "_tensor_name"),
        *("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks", "_non_persistent_buffers_set", "_metadata"),
        *("_backward_hooks", "_backward_pre_hooks", "_is_full_backward_hook"),
        *tensor_attributes.OPERATORS,
        *("_flat_weights", "_flat_weights_names", "_all_weights"),
    )
)
_NAMED = {"__name__": attrgetter("name")}
_BOUNDS = {name: attrgetter(name) for name in ("start", "stop", "step")}


#: by type, the attributes that are not methods
GETTERS: dict[type, Mapping[str, Callable[[Value], Value]]] = {
    Tensor: tensor_attributes.GETTERS,
    UserFunction: _NAMED,
    DType: {
        "is_floating_point": lambda value: value.is_floating_point,
        "is_complex": lambda value: value.is_complex,
        "is_signed": lambda value: value.rank > dtypes.uint8.rank,
        "itemsize": lambda value: value.itemsize,
    },
    Builtin: _NAMED,
    BoundMethod: _NAMED,
    TypeValue: _NAMED,
    ExceptionType: _NAMED,
    Namespace: {"__name__": lambda value: value.path},
    ProgramError: {
        "args": lambda value: value.args_,
        "__cause__": lambda value: value.cause,
        "__context__": lambda value: value.context,
        "__suppress_context__": lambda value: value.suppresses,
    },
    IteratorValue: {
        "__name__": lambda value: MISSING if value.kind != "generator" else value.name.rpartition(".")[2],
    },
    range: _BOUNDS,
    slice: _BOUNDS,
    int: {"real": lambda value: value, "imag": lambda value: 0, "numerator": lambda value: value, "denominator": lambda value: 1},
    bool: {"real": int, "imag": lambda value: 0, "numerator": int, "denominator": lambda value: 1},
    float: {"real": lambda value: value, "imag": lambda value: 0.0},
    complex: {"real": attrgetter("real"), "imag": attrgetter("imag")},
    Generator: {"device": lambda value: torch_types.CPU},
}


def _indices(value: slice, length: Value, /) -> tuple[int, int, int]:
    """`slice.indices`. Raises ValueError for a length below zero, TypeError for one that is no whole number."""
    count = index_of(length)
    if count < 0:
        raise ProgramError("ValueError", "length should not be negative")
    bounds = [bound if bound is None else index_of(bound) for bound in (value.start, value.stop, value.step)]
    return hosted(slice(*bounds).indices, count)  # type: ignore[no-any-return]


def _format(template: str, /, *args: Value, **kwargs: Value) -> str:
    return format_string(OPS, template, args, kwargs)


_OWN_METHODS: dict[type, dict[str, Method]] = {
    str: {"format": _format},
    slice: {"indices": _indices},
    Generator: dict(seeds.GENERATOR_METHODS),
    Size: {"numel": lambda value: value.numel()},
    complex: {"conjugate": lambda value: value.conjugate()},
    DType: {"to_real": lambda value: value.real, "to_complex": dtypes.complex_of},
    float: {"is_integer": lambda value: value.is_integer(), "conjugate": lambda value: value},
    int: {"bit_length": lambda value: value.bit_length(), "conjugate": lambda value: int(value)},
    IteratorValue: dict(generators.METHODS),
}

#: by type, the type that it inherits methods from
_BASES: dict[type, type] = {Size: tuple, bool: int}


# --- methods --------------------------------------------------------------------------------------


def find_method(kind: type, name: str) -> Method | None:
    """The method `name` of a type's values, called with the value first; None if there is none."""
    if (name.startswith("_") and name not in _OPEN) or issubclass(kind, Instance):
        return None
    if kind is Tensor:
        return _tensor_method(name)
    found = _OWN_METHODS.get(kind, {}).get(name)
    if found is not None:
        return found
    hosted = sequences.METHODS.get(kind)
    if hosted is not None and name in hosted:
        return partial(hosted[name], OPS)
    if kind in _BASES:
        return find_method(_BASES[kind], name)
    declared = getattr(kind, "SCRIPT_METHODS", None)
    if declared is not None and name in declared:
        return declared[name]  # type: ignore[no-any-return]
    return find_method(tuple, name) if issubclass(kind, tuple) and kind is not tuple else None


def _tensor_method(name: str) -> Method | None:
    if name not in METHODS:
        return tensor_attributes.METHODS.get(name)
    function = catalog.method(name)
    if isinstance(function, PythonMethod):
        return function
    method = function.method
    if isinstance(function, Function) and not function.python_name:
        known = function.method_parser.cache.get

        def run_known(tensor: Tensor, /, *args: Value, **kwargs: Value) -> Value:
            if not kwargs and not state.inference:
                found = known(tuple(map(type, args)))
                if found is not None and not (found[2] and is_wide(args)):
                    try:
                        return found[0](tensor, *args, *found[1])
                    except Exception as error:
                        return function.method_parser.after(error, found[0], (tensor, *args, *found[1]))
            return method(tensor, args, kwargs)

        def run_outside(tensor: Tensor, /, *args: Value, **kwargs: Value) -> Value:
            # inside torch.func it is checked what is written to
            return run_known(tensor, *args, **kwargs) if state.within is None else method(tensor, args, kwargs)

        return run_outside if function.writes else run_known

    def run(tensor: Tensor, /, *args: Value, **kwargs: Value) -> Value:
        return method(tensor, args, kwargs)

    return run


class _ByType(dict[type, Method | None]):
    """The methods of one name by type; a type is looked up when a value of it first occurs."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __missing__(self, kind: type) -> Method | None:
        found = self[kind] = find_method(kind, self.name)
        return found


@lru_cache(maxsize=1024)
def finder(name: str) -> Callable[[type], Method | None]:
    """A fast `find_method` for one name. Calls of a method of that name share it; the names come from scripts, so that few are kept."""
    return _ByType(name).__getitem__


# --- reading --------------------------------------------------------------------------------------


def find_attribute(value: Value, name: str) -> Value:
    """`value.name`, or MISSING."""
    kind = type(value)
    if kind is Namespace:
        return value.path if name == "__name__" else value.get(name)
    if kind in class_attributes.READERS or isinstance(value, Instance):
        return class_attributes.read(value, name)
    getters = GETTERS.get(kind)
    if getters is not None and name in getters:
        return getters[name](value)
    if kind is ScriptType and name in (own := _table(value.instances or ScriptType, "SCRIPT_CLASS")):
        return own[name](value.instances)
    if kind in (TypeValue, ScriptType, ExceptionType):
        found = _of_type(value, name)
        if found is not MISSING:
            return found
    if isinstance(value, Node):
        from gradcli.lang.names.graph_attributes import node_attribute

        found = node_attribute(value, name)
        if found is not MISSING:
            return found
    declared = getattr(kind, "SCRIPT_ATTRIBUTES", None)
    if declared is not None and name in declared and _may_read(name):
        return declared[name](value)
    if name == "__name__" and is_function(value):
        return function_name(value)
    method = None if name.startswith("_") and name not in _OPEN else finder(name)(kind)
    if method is not None:
        return BoundMethod(value, name, method)
    if name == "__class__" and hasattr(kind, "BASE_OF"):
        return types.type_of(value)
    if name.startswith("__"):
        from gradcli.lang.names.container_methods import special_method

        special = special_method(value, name)
        if special is not MISSING:
            return special
    if kind is Tensor:
        own = value.property_of("fields") or {}
        return own[name] if name in own else subscripts.column(value, name)
    if kind is ProgramError and name == "value" and value.type_name == "StopIteration":
        return value.args_[0] if value.args_ else None  # the value that the generator returned
    if kind is ProgramError and name == "code" and value.type_name == "SystemExit":
        return value.args_ if len(value.args_) > 1 else value.args_[0] if value.args_ else None
    dynamic = hidden_method(value, "__getattr__")
    return MISSING if dynamic is None else dynamic(value, name, MISSING)


#: the host class behind a type, for its methods
_HOST_OF = {
    types.STR: str,
    types.LIST: list,
    types.TUPLE: tuple,
    types.DICT: dict,
    types.SET: set,
    types.FROZENSET: frozenset,
    types.FLOAT: float,
    types.INT: int,
    types.COMPLEX: complex,
}


@lru_cache(4096)
def _of_type(owner: Value, name: str) -> Value:
    """A method read from a type, the same object each time, so that `is` and keys of dicts know it; MISSING if there is none."""
    known = tensor_attributes.OPERATORS if owner is torch_types.TENSOR else ("_fields", "_make")
    native = name.startswith("_") and name not in known
    return class_attributes.unbound_native(owner, name) if native else unbound(owner, name)


def unbound(owner: Value, name: str) -> Value:
    """A method read from a type, such as `str.lower`: called with the value first. MISSING if there is none."""
    if owner is types.DICT and name == "fromkeys":
        return Builtin(name, dict_from_keys)
    if owner is types.STR and name == "maketrans":
        return Builtin(name, strings.make_translation)
    if type(owner) is ScriptType and name in (static := _table(owner.instances or ScriptType, "SCRIPT_STATIC")):
        return static[name]
    kind = Tensor if owner is torch_types.TENSOR else owner.instances if type(owner) is ScriptType else _HOST_OF.get(owner)
    method = None if kind is None else find_method(kind, name)
    if method is None or kind is None:
        return MISSING

    path = "torch._C.TensorBase" if kind is Tensor else owner.name

    def run(*args: Value, **kwargs: Value) -> Value:
        if not args:
            raise ProgramError("TypeError", f"unbound method {path.removeprefix('torch._C.')}.{name}() needs an argument")
        if not isinstance(args[0], kind):
            text = f"descriptor '{name}' for '{path}' objects doesn't apply to a '{type_name(args[0])}' object"
            raise ProgramError("TypeError", text, names=(type_name(args[0]),))
        return method(*args, **kwargs)

    if owner is types.DICT:
        return class_attributes.of_dict(name, run)
    return Builtin(name, run, f"<method '{name}' of '{path}' objects>")


def _may_read(name: str) -> bool:
    """Whether programs may read a SCRIPT_ATTRIBUTES entry of this name."""
    return not name.startswith("_") or name in _OPEN or name.startswith("_saved_")


def is_function(value: Value) -> bool:
    """Whether a value is a function or a type of core, or a decorated function: all of these have a `__name__`."""
    return isinstance(value, (*FUNCTIONS, ScriptType, Decorated))


def hidden_method(value: Value, name: str) -> Method | None:
    """A method that only the language itself calls, such as `__len__`."""
    found: Method | None = _table(type(value), "SCRIPT_METHODS").get(name)
    return found


def get_attribute(value: Value, name: str) -> Value:
    """`value.name`. Raises AttributeError with Python's text and hints of similar names."""
    found = find_attribute(value, name)
    if found is MISSING:
        raise missing(value, name)
    return found


def missing(value: Value, name: str) -> ProgramError:
    """The AttributeError for a value that has no attribute `name`."""
    if type(value) is Namespace:
        text = f"module '{value.path}' has no attribute '{name}'"
    elif type(value) in (TypeValue, ExceptionType, ScriptType, UserClass):
        text = f"type object '{value.name}' has no attribute '{name}'"
    else:
        shown = type_name(value)
        text = f"'{'function' if shown == 'method' else shown}' object has no attribute '{name}'"  # a method asks its function
    from gradcli.lang.names import left_out

    known = left_out.of(value, name)
    hints = suggest(name, names_of(value) if known is None else ())
    if known is not None:
        return ProgramError("AttributeError", known, hints=hints, code=Code.NO_ATTRIBUTE, names=(type_name(value), name))
    if type(value) is Tensor and (columns := value.property_of("columns")):
        hints.append(f"the columns are {', '.join(columns[:20])}")
    return ProgramError("AttributeError", text, hints=hints, code=Code.NO_ATTRIBUTE, names=(type_name(value), name))


def suggest(name: str, known: Iterable[str]) -> list[str]:
    """Hints for an unknown name: the known names that are close to it, in one line, or nothing."""
    if name == "__class__":
        return ["type(...) gives it"]
    if name.startswith("_"):
        return []
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), 3, 0.7)
    return [f"did you mean {', '.join(close)}?"] if close else []


def names_of(value: Value) -> list[str]:
    """The names that can be read from a value, for completion and hints."""
    kind = type(value)
    if kind is Namespace:
        return list(value.names())
    if isinstance(value, Instance) or kind in class_attributes.READERS:
        return class_attributes.names(value)
    names: set[str] = set(GETTERS.get(kind, ()))
    if isinstance(value, Node):
        from gradcli.lang.names.graph_attributes import node_names

        names.update(node_names(value))
    if kind is Tensor:
        names.update(METHODS, tensor_attributes.METHODS, value.property_of("columns") or (), value.property_of("fields") or ())
    for at in (kind, _BASES.get(kind, kind)):
        names.update(sequences.METHODS.get(at, ()), _OWN_METHODS.get(at, ()))
    for table in ("SCRIPT_ATTRIBUTES", "SCRIPT_METHODS"):
        names.update(_table(kind, table))
    return sorted(name for name in names if not name.startswith("__") or name == "__name__")


def _table(kind: type, table: str) -> Mapping[str, Value]:
    found: Mapping[str, Value] = getattr(kind, table, {})
    return found


# --- writing --------------------------------------------------------------------------------------


def set_attribute(value: Value, name: str, new: Value) -> None:
    """`value.name = new`, for the few attributes that can be set."""
    kind = type(value)
    if kind is Tensor:
        setter = tensor_attributes.SETTERS.get(name)
        if setter is not None:
            setter(value, new)
            return
        own = value.property_of("fields") or {}
        if name in own or (name not in tensor_attributes.GETTERS and find_attribute(value, name) is MISSING and _may_be_new(name)):
            limits.check_list(len(own) + 1)
            value.set_property("fields", {**own, name: new})
            return
        raise ProgramError("AttributeError", f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")
    if isinstance(value, Instance) or kind is UserClass:
        class_attributes.write(value, name, new)
        return
    setters = _table(kind, "SCRIPT_SETTERS")
    if name in setters and not name.startswith("_"):
        setters[name](value, new)
        return
    methods = _table(kind, "SCRIPT_METHODS")
    named = name in methods or name.startswith("__") or (kind is UserFunction and name in _OPEN)  # such names mean something else
    if "__setattr__" in methods and not named:
        methods["__setattr__"](value, name, new)
        return
    if kind is Namespace:
        if value.path == "torch.backends.cudnn" and name in ("deterministic", "benchmark"):
            return  # it chooses among ways that a library computes on devices that are not there
        raise ProgramError("AttributeError", f"module '{value.path}' is read-only")
    found = find_attribute(value, name)
    if found is MISSING:
        raise missing(value, name)
    if isinstance(value, NamedTuple):
        raise ProgramError("AttributeError", "can't set attribute")
    if type(found) is BoundMethod:
        raise ProgramError("AttributeError", f"'{type_name(value)}' object attribute '{name}' is read-only")
    text = f"attribute '{name}' of '{type_name(value)}' objects is not writable"
    raise ProgramError("AttributeError", text, names=(type_name(value),))


def _may_be_new(name: str) -> bool:
    """Whether programs may give a tensor an attribute of this name: it has no meaning of its own, here or in PyTorch."""
    from gradcli.lang.names import left_out

    return not name.startswith("__") and name not in _OPEN and not left_out.is_left_out(left_out.TENSOR, name)


def delete_attribute(value: Value, name: str) -> None:
    """`del value.name`: a tensor's grad, or an attribute that the program has given."""
    if type(value) is Tensor and name == "grad":
        value.grad = None
        return
    if type(value) is Tensor and name in (own := value.property_of("fields") or {}):
        value.set_property("fields", {other: item for other, item in own.items() if other != name})
        return
    if isinstance(value, Instance) or type(value) is UserClass:
        if class_attributes.delete(value, name):
            return
        raise missing(value, name)
    forget = hidden_method(value, "__delattr__")
    if forget is not None and forget(value, name):
        return
    if find_attribute(value, name) is MISSING:
        raise missing(value, name)
    raise ProgramError("AttributeError", f"attribute '{name}' of '{type_name(value)}' objects cannot be deleted")
