"""Functions of numpy that join, split, repeat, reorder and pick elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.arrays.conversion import operand
from gradcli.lang.arrays.elementwise import Elementwise
from gradcli.lang.arrays.parameters import Declared, moderate, repeats, sizes
from gradcli.lang.arrays.running import broadcast_size, check_size, count_of, run, type_error
from gradcli.lang.arrays.values import wrap
from gradcli.lang.python.object_protocol import Value


def _tile(converted: Mapping[str, Any]) -> None:
    check_size(np.size(converted["A"]) * count_of(converted["reps"]))


def _broadcast_to(converted: Mapping[str, Any]) -> None:
    check_size(count_of(converted["shape"]), 1)


def _pad(converted: Mapping[str, Any]) -> None:
    array = np.asarray(converted["array"])
    width = np.abs(np.asarray(converted["pad_width"]))
    most = int(width.max(initial=0))
    check_size(math.prod(n + 2 * most for n in array.shape))


def _take(converted: Mapping[str, Any]) -> None:
    array, indices = np.asarray(converted["a"]), np.size(converted["indices"])
    axis = converted.get("axis")
    rest = 1 if axis is None else array.size // max(1, array.shape[axis] if -array.ndim <= axis < array.ndim else 1)
    check_size(indices * rest)


def _resize(converted: Mapping[str, Any]) -> None:
    check_size(count_of(converted["new_shape"]))


def _along(converted: Mapping[str, Any]) -> None:
    check_size(max(np.size(converted["arr"]), np.size(converted["indices"])))


def _joined(converted: Mapping[str, Any]) -> None:
    check_size(2 * sizes(converted))


def _where(*args: Value) -> Value:
    """`np.where(condition)`, `np.where(condition, x, y)`."""
    if len(args) not in (1, 3):
        if not args:
            raise type_error("where() missing required argument 'condition' (pos 0)")
        raise ProgramError("ValueError", "either both or neither of x and y should be given")
    operands = [operand(value) for value in args]
    check_size(broadcast_size(operands))
    return wrap(run(np.where, *operands))


def _choose(function: Callable[..., Any], name: str) -> Callable[..., Value]:
    """Functions of several arrays, such as `np.atleast_2d(a, b)`."""

    def run_each(*args: Value) -> Value:
        operands = [np.asarray(operand(value)) for value in args]
        check_size(sum(one.size for one in operands))
        return wrap(run(function, *operands))

    return run_each


def _broadcast_arrays(*args: Value) -> Value:
    operands = [np.asarray(operand(value)) for value in args]
    check_size(broadcast_size(operands) * max(1, len(operands)), 1)
    return wrap(tuple([one.copy() for one in run(np.broadcast_arrays, *operands)]))


def _split(name: str) -> Callable[..., Value]:
    declared = Declared(name, getattr(np, name), "array ary, array indices_or_sections" + _AXIS.get(name, ""), _sections)

    def split(*args: Value, **kwargs: Value) -> Value:
        found = declared(*args, **kwargs)
        if args and type(args[0]) is Tensor:
            return [Tensor(one.array, args[0].dtype) for one in found]
        return found

    return split


_AXIS = {"split": ", int axis=", "array_split": ", int axis="}


def _sections(converted: Mapping[str, Any]) -> None:
    sections = converted["indices_or_sections"]
    count = int(sections) if np.ndim(sections) == 0 else np.size(sections)
    check_size(sizes(converted) + max(0, count) * 16)


_JOIN = "arrays arrays, int axis=, target out=, *, dtype dtype="
_DECLARED: tuple[tuple[str, Callable[..., Any], str, Callable[[Mapping[str, Any]], None]], ...] = (
    ("concatenate", np.concatenate, _JOIN, _joined),
    ("concat", np.concatenate, _JOIN, _joined),
    ("stack", np.stack, _JOIN, _joined),
    ("vstack", np.vstack, "arrays tup, *, dtype dtype=", _joined),
    ("hstack", np.hstack, "arrays tup, *, dtype dtype=", _joined),
    ("dstack", np.dstack, "arrays tup", _joined),
    ("column_stack", np.column_stack, "arrays tup", _joined),
    ("append", np.append, "array arr, array values, int axis=", _joined),
    ("insert", np.insert, "array arr, array obj, array values, int axis=", _joined),
    ("delete", np.delete, "array arr, array obj, int axis=", _joined),
    ("tile", np.tile, "array A, shape reps", _tile),
    ("broadcast_to", np.broadcast_to, "array array, shape shape", _broadcast_to),
    ("pad", np.pad, "array array, array pad_width, str mode=, *, number constant_values=", _pad),
    ("take", np.take, "array a, array indices, int axis=, target out=, str mode=", _take),
    ("take_along_axis", np.take_along_axis, "array arr, array indices, int axis=", _along),
    ("resize", np.resize, "array a, shape new_shape", _resize),
    ("expand_dims", np.expand_dims, "array a, axis axis", moderate),
    ("flip", np.flip, "array m, axis axis=", moderate),
    ("fliplr", np.fliplr, "array m", moderate),
    ("flipud", np.flipud, "array m", moderate),
    ("rot90", np.rot90, "array m, int k=, shape axes=", moderate),
    ("roll", np.roll, "array a, axis shift, axis axis=", moderate),
    ("moveaxis", np.moveaxis, "array a, axis source, axis destination", moderate),
    ("rollaxis", np.rollaxis, "array a, int axis, int start=", moderate),
    ("ravel", np.ravel, "array a, str order=", moderate),
    ("diagonal", np.diagonal, "array a, int offset=, int axis1=, int axis2=", moderate),
    ("extract", np.extract, "array condition, array arr", moderate),
    ("compress", np.compress, "array condition, array a, int axis=", moderate),
    ("squeeze", np.squeeze, "array a, axis axis=", moderate),
    ("unravel_index", np.unravel_index, "array indices, shape shape", moderate),
    ("copyto", np.copyto, "target dst, array src", _joined),
    ("fill_diagonal", np.fill_diagonal, "target a, array val", moderate),
    ("triu_indices", np.triu_indices, "int n, int k=", lambda given: check_size(max(0, given["n"]) ** 2 * 2)),
    ("tril_indices", np.tril_indices, "int n, int k=", lambda given: check_size(max(0, given["n"]) ** 2 * 2)),
)
_WRAPPING: tuple[tuple[str, Callable[..., Any], str, Callable[[Mapping[str, Any]], None]], ...] = (
    ("reshape", np.reshape, "array a, shape shape, str order=", moderate),
    ("transpose", np.transpose, "array a, shape axes=", moderate),
    ("permute_dims", np.transpose, "array a, shape axes=", moderate),
    ("swapaxes", np.swapaxes, "array a, int axis1, int axis2", moderate),
    ("repeat", np.repeat, "array a, array repeats, int axis=", repeats),
)

FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: Declared(name, function, text, check) for name, function, text, check in _DECLARED},
    **{name: Elementwise(name, function, text, check) for name, function, text, check in _WRAPPING},
    **{name: _split(name) for name in ("split", "array_split", "hsplit", "vsplit")},
    "where": _where,
    "broadcast_arrays": _broadcast_arrays,
    **{name: _choose(getattr(np, name), name) for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
}
