"""Everything that an input of the prompt can change, kept so that it can be put back: names, contents, graph, settings.

A checkpoint keeps the contents of every mutable object that the names lead to, with copies of the arrays.
Putting it back writes into the same objects, so that shared objects stay shared. Items that an iterator has already yielded
cannot be put back.
"""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.functions.function import Function, InplaceFunction
from gradcli.core.graph.record import Op
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Size
from gradcli.errors import ProgramError
from gradcli.lang.python import dict_views
from gradcli.lang.values import special_methods, user_classes, user_functions, value_classes

#: a checkpoint copies at most this many bytes of arrays and visits at most this many objects, so that it takes little time
MOST_BYTES = 32 * 2**20
MOST_OBJECTS = 30_000

_FLAGS = (
    *("enabled", "inference", "anomaly", "anomaly_nan", "anomaly_turns", "multithreading"),
    *("dual", "saving", "saving_forbidden", "observed"),
)
#: classes of core whose instances never change
_FIXED = (DType, Function, InplaceFunction, Op, Routine, ScriptType)
#: classes of the language whose instances can change, or refer to objects that can
_LOOKED_INTO = (
    user_functions.UserFunction,
    value_classes.BoundMethod,
    value_classes.IteratorValue,
    value_classes.NumpyValue,
    dict_views.DictView,
    ProgramError,
    special_methods.Instance,
    user_classes.UserClass,
    user_classes.BoundUserMethod,
    user_classes.Property,
    user_classes.StaticMethod,
    user_classes.ClassMethod,
    user_classes.Super,
)

Array = np.ndarray[Any, Any]
Undo = Callable[[], None]


class Checkpoint:
    """The state that `variables`, the dict of a session's names, leads to. Copies of arrays that did not change are shared with
    the checkpoint `before`.
    """

    def __init__(self, variables: dict[str, Any], before: Checkpoint | None = None) -> None:
        #: False where the bounds were reached: some contents then stay as they are when this is put back
        self.complete = True
        self.bytes = 0
        self._kept: dict[int, Any] = {}
        self._undo: list[Undo] = []
        #: objects, with the names and the contents of their fields
        self._objects: list[tuple[Any, tuple[str, ...], tuple[Any, ...]]] = []
        self._copies: dict[int, tuple[Array, Array]] = {}
        self._known = before._copies if before is not None else {}
        self._flags = [getattr(state, name) for name in _FLAGS]
        self._dtype = dtypes.get_default()
        self._options = printing.options.copy()
        self._numpy = state.numpy
        self._walk([generator.default, state.numpy, variables])
        self._known = {}

    def restore(self) -> None:
        """Put everything back."""
        for name, value in zip(_FLAGS, self._flags, strict=True):
            setattr(state, name, value)
        state.numpy = self._numpy
        dtypes.set_default(self._dtype)
        printing.options = self._options.copy()
        for undo in self._undo:
            undo()
        for value, names, held in self._objects:
            for name, content in zip(names, held, strict=True):
                object.__setattr__(value, name, content)
        for base, copy in self._copies.values():
            np.copyto(base, copy)

    def held(self) -> dict[int, int]:
        """Bytes of the arrays that this keeps from being freed, by the array's identity."""
        sizes = {id(copy): copy.nbytes for _, copy in self._copies.values()}
        sizes |= {key: value.nbytes for key, value in self._kept.items() if isinstance(value, np.ndarray)}
        return sizes

    # --- visiting objects ---

    def _walk(self, stack: list[Any]) -> None:
        kept = self._kept
        while stack:
            value = stack.pop()
            kind = type(value)
            if kind in _ATOMS or id(value) in kept:
                continue
            if len(kept) >= MOST_OBJECTS:
                self.complete = False
                return
            kept[id(value)] = value
            if kind is list:
                self._list(value, stack)
            elif isinstance(value, dict):
                self._dict(value, stack)
            elif isinstance(value, tuple | frozenset):
                stack.extend(value)
            elif kind is set:
                self._set(value, stack)
            elif kind is np.ndarray:
                self._array(value)
            elif isinstance(value, random.Random):
                self._undo.append(_restore_random(value))
            elif kind.__name__ in ("RandomState", "Generator") and kind.__module__.startswith("numpy."):
                self._undo.append(_restore_numpy(value))
            elif _changes(kind):
                self._object(value, stack)

    def _list(self, value: list[Any], stack: list[Any]) -> None:
        copy = list(value)
        self._undo.append(lambda: value.__setitem__(slice(None), copy))
        stack.extend(copy)

    def _dict(self, value: dict[Any, Any], stack: list[Any]) -> None:
        copy = dict(value)

        def undo() -> None:
            value.clear()
            value.update(copy)

        self._undo.append(undo)
        stack.extend(copy)
        stack.extend(copy.values())

    def _set(self, value: set[Any], stack: list[Any]) -> None:
        copy = set(value)

        def undo() -> None:
            value.clear()
            value.update(copy)

        self._undo.append(undo)
        stack.extend(copy)

    def _object(self, value: Any, stack: list[Any]) -> None:
        if isinstance(value, Node):
            stack.extend([parent for parent, _ in value.edges])  # reading the edges unfolds a folded node
        kind = type(value)
        names = _field_names.get(kind)
        if names is None:
            names = _field_names[kind] = tuple(_fields(kind))
        held = tuple([getattr(value, name, None) for name in names])
        self._objects.append((value, names, held))
        stack.extend(held)
        more = getattr(value, "__dict__", None)
        if more is not None:
            stack.append(more)

    def _array(self, array: Array) -> None:
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        key = id(base)
        if key in self._copies or not base.flags.writeable:
            return
        self._kept[key] = base
        known = self._known.get(key)
        if known is not None and known[0] is base and np.array_equal(base, known[1]):
            self._copies[key] = known
        elif self.bytes + base.nbytes > MOST_BYTES:
            self.complete = False
        else:
            self._copies[key] = base, base.copy(order="K")
            self.bytes += base.nbytes


#: classes whose instances never change and refer to nothing that does
_ATOMS = frozenset(
    {
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        range,
        slice,
        type(...),
        DType,
        Size,
        value_classes.Namespace,
        value_classes.Builtin,
        weakref.ref,
    }
)


def _changes(kind: type) -> bool:
    """Whether instances of the class can change, or refer to objects that can."""
    if issubclass(kind, _LOOKED_INTO):
        return True
    places = ("gradcli.core.", *(f"gradcli.lang.{wing}." for wing in ("arrays", "libraries", "plotting", "saving")))
    return kind.__module__.startswith(places) and not issubclass(kind, (*_FIXED, type))


#: by class, the fields that can change
_field_names: dict[type, tuple[str, ...]] = {}
#: the fields of a node of the graph that never change
_CONSTANT = frozenset({"edges", "shape", "dtype", "outputs", "sequence", "origin", "op", "plan", "attrs"})


def _fields(kind: type) -> Iterator[str]:
    """The slots of a class and of its base classes."""
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__weakref__", "__dict__") and not (issubclass(kind, Node) and name in _CONSTANT):
                yield f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") else name


def _restore_numpy(source: np.random.RandomState | np.random.Generator) -> Undo:
    bits = source.bit_generator if isinstance(source, np.random.Generator) else None
    if bits is None:
        return partial(source.set_state, source.get_state())  # type: ignore[union-attr]
    return partial(setattr, bits, "state", bits.state)


def _restore_random(source: random.Random) -> Undo:
    position = source.getstate()
    return lambda: source.setstate(position)
