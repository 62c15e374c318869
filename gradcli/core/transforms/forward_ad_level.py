"""Dual tensors: a tangent that goes along with a tensor, and what operations make of it.

Nothing of this is in the way of ordinary operations: while a level is open, and only then, every kind of operation is called
through a function that looks for tangents first. The arrays of dual tensors are of a type of their own, which the quick ways
for small operations leave to the ordinary way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.graph.op_node import OpNode, Saved, SavedDual
from gradcli.core.graph.record import Op
from gradcli.core.tensor.node import state
from gradcli.core.tensor.tensor import Tensor


class DualArray(np.ndarray[Any, Any]):
    """The values of a dual tensor. What is computed from them is an ordinary array."""

    def __array_wrap__(self, made: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return made[()] if return_scalar else np.asarray(made)


class Level:
    """A forward AD level that is open. Tangents belong to it and are gone when it closes."""

    __slots__ = ("busy", "plain")

    def __init__(self) -> None:
        #: an operation is under way: what it calls finds no tangents
        self.busy = False
        #: each kind of operation that has a way of its own to be called, with that way
        self.plain: list[tuple[type[Op], Callable[..., Any]]] = []


def open_level(level: Level | None = None) -> None:
    """Open a level, a new one or one that was open before: operations look for tangents from now on."""
    catalog.all_functions()  # so that every kind of operation is known
    level = Level() if level is None else level
    level.plain.clear()
    kinds: list[type[Op]] = [Op]
    for kind in kinds:  # which grows on the way
        kinds += [one for one in kind.__subclasses__() if one not in kinds]
        if "__call__" in vars(kind):
            level.plain.append((kind, vars(kind)["__call__"]))
    state.dual = level  # first: whatever fails below, closing the level puts everything back
    for kind, plain in level.plain:
        setattr(kind, "__call__", _looking(plain, level))  # noqa: B010 (a method is replaced)


def close_level() -> None:
    """Close the level: operations are called as ever."""
    level = state.dual
    if level is not None:
        for kind, plain in level.plain:
            setattr(kind, "__call__", plain)  # noqa: B010 (a method is replaced)
    state.dual = None


def put_back(level: Level | None) -> None:
    """Let `level`, as `state.dual` was before, be the one that is open."""
    if state.dual is not level:
        close_level()
        if level is not None:
            open_level(level)


def tangent_of(value: Any) -> Tensor | None:
    """The tangent of a tensor at the open level, None without one."""
    if type(value) is not Tensor or value.meta is None:
        return None
    level, tangent = value.meta.get("tangent", (None, None))
    return tangent if level is not None and level is state.dual else None


def set_tangent(tensor: Tensor, tangent: Tensor) -> None:
    """Make a tensor a dual tensor."""
    tensor.set_property("tangent", (state.dual, tangent))
    if type(tensor.array) is np.ndarray:
        tensor.array = tensor.array.view(DualArray)


def zeros_like(tensor: Tensor) -> Tensor:
    """Zeros of the same shape and dtype."""
    return Tensor(np.zeros(tensor.array.shape, tensor.dtype.np), tensor.dtype)


class Undisturbed:
    """Python's own `with` for computing with tangents: no tangents are looked for inside."""

    __slots__ = ("level", "before")

    def __init__(self, level: Level) -> None:
        self.level = level

    def __enter__(self) -> None:
        self.before, self.level.busy = self.level.busy, True

    def __exit__(self, *_: object) -> None:
        self.level.busy = self.before


def _looking(plain: Callable[..., Any], level: Level) -> Callable[..., Any]:
    """A way to call an operation that gives the results their tangents."""

    def call(op: Op, *args: Any) -> Any:
        inputs = args[0] if op.variadic else args[: len(op.tensors)]
        if level.busy or state.inference or all(tangent_of(value) is None for value in inputs):
            return plain(op, *args)
        from gradcli.core.transforms import forward_ad_rules

        with Undisturbed(level):
            result = plain(op, *args)
            outs: Sequence[Tensor] = result if isinstance(result, tuple) else (result,)
            tangents = forward_ad_rules.tangents(op, inputs, args[1:] if op.variadic else args[len(op.tensors) :], outs)
        for out, tangent in zip(outs, tangents, strict=False):
            if tangent is not None:
                set_tangent(out, tangent)
                _keep_tangent(out)
        return result

    return call


def _keep_tangent(out: Tensor) -> None:
    """Let a node that keeps its output keep the tangent with it."""
    node = out.node
    if isinstance(node, OpNode) and node.kept_out is not None:
        for number, kept in enumerate(node.kept_out):
            if type(kept) is Saved and kept.number == out.output_nr:
                node.kept_out[number] = SavedDual(out, kept.number, out.property_of("tangent"))


# --- in-place writes ---


def write(tensor: Tensor, tangent: Tensor | None) -> None:
    """After an in-place operation: let `tangent` (None for zeros) be that of the values now in `tensor`.

    The tangent is written into the one there is, so that those of views see it.
    """
    level = state.dual
    known = tangent_of(tensor)
    if level is None or (known is None and tangent is None):
        return
    from gradcli.core.graph import in_place, strided

    with Undisturbed(level):
        if known is None and tensor.view is not None and tangent_of(tensor.view.base) is None:
            base = tensor.view.base
            part, whole = strided.geometry(tensor.array, base.array), strided.own_geometry(base.array)
            laid, window = strided.blank(part, whole, tensor.dtype.np)
            known = Tensor(window, tensor.dtype)
            set_tangent(base, Tensor(laid, base.dtype))
            set_tangent(tensor, known)
        if known is None:
            assert tangent is not None
            set_tangent(tensor, tangent)
        elif tangent is None:
            in_place.zero_(known)
        elif tangent is not known:
            in_place.copy_(known, tangent)


def reshape(tensor: Tensor, op: Op, attrs: tuple[Any, ...]) -> None:
    """Give the tangent of a tensor that `op` has given another shape that shape too."""
    level, known = state.dual, tangent_of(tensor)
    if level is not None and known is not None:
        with Undisturbed(level):
            set_tangent(tensor, op(known, *attrs))


def written(tensor: Tensor, op: Op, more: Sequence[Any], attrs: tuple[Any, ...]) -> None:
    """The same where no result tells: `op` with the other operands `more` says what was written."""
    level = state.dual
    given = [tangent_of(value) for value in more]
    if level is None or (tangent_of(tensor) is None and all(one is None for one in given)):
        return
    from gradcli.core.graph import in_place

    if op is in_place.COPY_INTO:
        write(tensor, given[0])
    elif op is in_place.FILL_TENSOR and given[0] is not None:
        with Undisturbed(level):
            value = catalog.function("broadcast_to")(given[0], tensor.array.shape)
        write(tensor, value)
    elif not more or op is in_place.FILL_TENSOR:
        write(tensor, None)
    else:  # linear in what was there and in what was written
        with Undisturbed(level):
            operands = [zeros_like(one) if found is None else found for one, found in zip(more, given, strict=True)]
            value = op(tangent_of(tensor) or zeros_like(tensor), *operands, *attrs)
        write(tensor, value)
