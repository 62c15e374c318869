"""Subscripts: reading, assigning and deleting items of values of any type; making dicts and sets item by item."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gradcli import limits
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.type_errors import not_subscriptable, type_error
from gradcli.core.ops import operators as core
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.tensor.text import shown
from gradcli.errors import ProgramError
from gradcli.lang.python import comparing
from gradcli.lang.python.dict_views import table_of
from gradcli.lang.python.object_protocol import HOST_ERRORS, TorchVersion, Value, from_host, key_error
from gradcli.lang.values.object_operations import OPS, collect, index_of
from gradcli.lang.values.special_methods import Instance, special
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.value_classes import MISSING, TypeValue


def getitem(container: Value, index: Value) -> Value:
    """`container[index]`. Raises TypeError, IndexError, KeyError with Python's or PyTorch's texts."""
    kind = type(container)
    if kind is Tensor:
        if isinstance(index, Instance) and special(index, "__index__") is not None:
            index = index_of(index)
        if type(index) is str and (names := container.property_of("columns")):
            found = column(container, index)
            if found is MISSING:
                raise ProgramError("KeyError", shown(index), args=(index,), hints=[f"the columns are {', '.join(names[:20])}"])
            return found
        return core.getitem(container, index)
    if kind is dict:
        return _lookup(container, index)
    if kind in (list, str, range, TorchVersion) or isinstance(container, tuple):
        return _sequence_item(container, index)
    method = special(container, "__getitem__")
    if method is not None:
        return method(index)
    methods = getattr(kind, "SCRIPT_METHODS", None)
    if methods is not None and "__getitem__" in methods:
        return methods["__getitem__"](container, index)
    if kind in (TypeValue, ScriptType, UserClass):
        from gradcli.lang.values.aliases import with_arguments  # most programs have none

        return with_arguments(container, index)
    raise not_subscriptable(container)


def column(tensor: Tensor, name: Value) -> Value:
    """The column of that name, where the tensor is a table from a file; else MISSING."""
    names = tensor.property_of("columns")
    if not names or type(name) is not str or name not in names:
        return MISSING
    return core.getitem(tensor, (slice(None), names.index(name)))


def _lookup(container: dict[Value, Value], key: Value) -> Value:
    comparing.check_hashable(key)
    try:
        return container[key]
    except KeyError:
        raise key_error(OPS, key) from None


def _sequence_item(container: Value, index: Value) -> Value:
    if type(index) is slice:
        found = container[_plain_slice(index)]
        return Size(found) if type(container) is Size else found
    try:
        return container[_plain_index(container, index)]
    except HOST_ERRORS as error:
        raise from_host(error) from None


def _plain_index(container: Value, index: Value) -> int:
    if type(index) is int or type(index) is bool:
        return index
    if type(index) is Tensor or special(index, "__index__") is not None:
        return index_of(index)
    if isinstance(container, str):
        raise type_error("string indices must be integers, not '{}'", index)
    kind = "tuple" if isinstance(container, tuple) else type_name(container)
    raise ProgramError("TypeError", f"{kind} indices must be integers or slices, not {type_name(index)}")


def _plain_slice(index: slice) -> slice:
    """The slice with bounds that are Python integers. Raises TypeError, ValueError."""
    bounds = [_bound(b) for b in (index.start, index.stop, index.step)]
    if bounds[2] == 0:
        raise ProgramError("ValueError", "slice step cannot be zero")
    return slice(*bounds)


def _bound(value: Value) -> int | None:
    if value is None or type(value) is int or type(value) is bool:
        return value
    if type(value) is Tensor or special(value, "__index__") is not None:
        return index_of(value)
    raise ProgramError("TypeError", "slice indices must be integers or None or have an __index__ method")


def setitem(container: Value, index: Value, value: Value) -> None:
    """`container[index] = value`."""
    kind = type(container)
    if kind is Tensor:
        core.setitem(container, index, value)
    elif kind is dict:
        put(container, index, value)
    elif kind is list:
        _put_in_list(container, index, value)
    else:
        method = special(container, "__setitem__")
        if method is not None:
            method(index, value)
            return
        methods = getattr(kind, "SCRIPT_METHODS", None)
        if methods is None or "__setitem__" not in methods:
            raise type_error("'{}' object does not support item assignment", container)
        methods["__setitem__"](container, index, value)


def _put_in_list(container: list[Value], index: Value, value: Value) -> None:
    if type(index) is not slice:
        at = _plain_index(container, index)
        if not -len(container) <= at < len(container):
            raise ProgramError("IndexError", "list assignment index out of range")
        container[at] = value
        return
    items = collect(value, "can only assign an iterable")
    limits.check_list(len(container) + len(items))
    try:
        container[_plain_slice(index)] = items
    except HOST_ERRORS as error:
        raise from_host(error) from None


def put(container: dict[Value, Value], key: Value, value: Value) -> None:
    """`container[key] = value` of a dict. Raises TypeError for an unhashable key."""
    if type(key) is not str and type(key) is not int:
        comparing.check_hashable(key)
    container[key] = value
    if len(container) > limits.current.list:
        limits.check_list(len(container))


def delitem(container: Value, index: Value) -> None:
    """`del container[index]`."""
    if type(container) is dict:
        _lookup(container, index)
        del container[index]
    elif type(container) is list:
        if type(index) is slice:
            del container[_plain_slice(index)]
            return
        at = _plain_index(container, index)
        if not -len(container) <= at < len(container):
            raise ProgramError("IndexError", "list assignment index out of range")
        del container[at]
    elif type(container) is Tensor:
        raise ProgramError("TypeError", "Tensor does not support deleting items")
    else:
        method = special(container, "__delitem__")
        if method is not None:
            method(index)
            return
        methods = getattr(type(container), "SCRIPT_METHODS", None)
        if methods is None or "__delitem__" not in methods:
            raise type_error("'{}' object doesn't support item deletion", container)
        methods["__delitem__"](container, index)


def make_set(values: list[Value]) -> set[Value]:
    """A set of the values. Raises TypeError for an unhashable value."""
    for value in values:
        comparing.check_hashable(value)
    return set(values)


def mapping_items(value: Value) -> dict[Value, Value] | None:
    """The items of a dict, or of what has `keys` and `__getitem__`, such as a ModuleDict; None for other values."""
    table = table_of(value)
    if table is not None:
        return table
    if isinstance(value, Instance):
        keys, item = special(value, "keys"), special(value, "__getitem__")
    else:
        keys, item = (_method(value, name) for name in ("keys", "__getitem__"))
    if keys is None or item is None:
        return None
    made: dict[Value, Value] = {}
    for key in collect(keys()):
        put(made, key, item(key))
    return made


def _method(value: Value, name: str) -> Callable[..., Value] | None:
    """A method of an object of the core, bound; None where it has none."""
    found = getattr(type(value), "SCRIPT_METHODS", {}).get(name)
    return None if found is None else partial(found, value)


def update_dict(out: dict[Value, Value], more: Value) -> None:
    """Add the items of `more`, as `{**more}` does. Raises TypeError unless it is a mapping."""
    table = mapping_items(more)
    if table is None:
        raise type_error("'{}' object is not a mapping", more)
    limits.check_list(len(out) + len(table))
    out.update(table)
