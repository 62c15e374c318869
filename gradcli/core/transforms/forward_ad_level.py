"""The open level of forward AD: which tensors carry a tangent, and how operations hand tangents on.

While a level is open it stands in `state.dual`. Every operation gives it its record, inputs, plain arguments and outputs, and
every in-place operation gives it the written tensor. The arrays of dual tensors have a type of their own, because the shortened
ways for small operations do not ask for a level: they take plain arrays only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.graph import in_place, namespaces, strided
from gradcli.core.graph.clone import CLONE
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.recast import Part
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import Saved, SavedDual
from gradcli.core.tensor.state import ForwardLevel, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.transforms import forward_ad_rules

#: the view of a dual tensor that has no tangent
PRIMAL = Op("Identity", lambda a: a.view(np.ndarray), "input", view=True, input=Rule(lambda grad: grad, "grad"))


class DualArray(np.ndarray[Any, Any]):
    """The values of a dual tensor. Operations on it give ordinary arrays."""

    def __array_wrap__(self, made: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return made[()] if return_scalar else np.asarray(made)


class ForwardADLevel:
    """A level of forward AD. A tensor keeps its tangent with the level, so that tangents are gone when the level closes."""

    __slots__ = ("functional", "mapped", "paused")

    def __init__(self, functional: bool = False) -> None:
        #: whether `torch.func.jvp` has opened the level, whose operations take a number for a tensor in double precision
        self.functional = functional
        #: whether tangents are being computed: operations hand nothing on meanwhile
        self.paused = False
        #: the calls of vmap that the level is inside of: a tangent may be another one for each of their samples
        self.mapped = state.mapped

    def tangent_of(self, value: Any) -> Tensor | None:
        """The tangent of a tensor at this level, None for a tensor without tangent and for other values."""
        if type(value) is not Tensor or value.meta is None:
            return None
        found = value.meta.get("tangent")
        return found[1] if found is not None and found[0] is self else None

    def set_tangent(self, tensor: Tensor, tangent: Tensor) -> None:
        """Make `tensor` a dual tensor, whose tangent has its strides: views of both are the same elements."""
        where = strided.own_geometry(tensor.array)
        varies = bool(state.mapped) and not set(state.mapped[-1].levels(tensor)) <= set(state.mapped[-1].levels(tangent))
        if varies or (tangent.array.size > 1 and strided.own_geometry(tangent.array) != where):
            with Paused(self):
                inside, state.mapped = state.mapped, self.mapped
                try:
                    laid, _ = strided.blank_tensors(where, where, tangent.dtype)
                finally:
                    state.mapped = inside
                tangent = in_place.copy_(laid, tangent)
        tensor.set_property("tangent", (self, tangent))
        if type(tensor.array) is np.ndarray:
            tensor.array = tensor.array.view(DualArray)

    def alias(self, tensor: Tensor, made: Tensor) -> None:
        """Give `made`, which stands for `tensor` where that is written, its tangent. Nodes of further tangents may keep both: in copies."""
        held = tensor.property_of("tangent")
        if state.enabled:
            made.array = tensor.array.copy(order="K") if tensor.batch is None else tensor.array
            held = held and (held[0], CLONE(held[1]))
        made.meta = held and {"tangent": held}

    def set_part(self, part: Tensor, base: Tensor, place: Part) -> None:
        """Make `part`, a view of `base`, a dual tensor whose tangent is that view of the tangent of `base`, if any."""
        known = self.tangent_of(base)
        if known is None:
            return
        with Paused(self):
            laid, seen = place.blank()
            in_place.copy_(laid, known)
        self.set_tangent(base, laid)
        self.set_tangent(part, seen)

    def with_tangent(self, tensor: Tensor, operands: Sequence[Any], compute: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
        """`compute` of an in-place operation. The tangent of a tensor that has none is 0 for it, where an operand has one."""
        if not tensor.dtype.is_differentiable or self.tangent_of(tensor) is not None or all(self.tangent_of(v) is None for v in operands):
            return compute

        def run(old: Tensor) -> Any:
            self.set_tangent(old, Tensor(np.zeros_like(old.array), old.dtype))
            return compute(old)

        return run

    def push(self, op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], outs: Sequence[Tensor]) -> None:
        """Give the outputs of an operation their tangents. Raises NotImplementedError as PyTorch does."""
        if self.paused or state.inference:
            return
        given = [self.tangent_of(value) for value in inputs]
        if all(tangent is None for tangent in given):
            return
        with Paused(self):
            if self.functional and not state.walks:
                given = forward_ad_rules.widened(op, inputs, given, outs)
            if state.enabled:  # nodes of tangents keep values without tangents
                inputs = [value if tangent is None else PRIMAL(value) for value, tangent in zip(inputs, given, strict=True)]
            tangents = forward_ad_rules.tangents(op, inputs, attrs, given, outs)
        for out, tangent in zip(outs, tangents, strict=False):
            if tangent is not None:
                self.set_tangent(out, tangent)
                _save_tangent(out)

    def write(self, tensor: Tensor, tangent: Tensor | None) -> None:
        """Make `tangent` (None for zeros) the tangent of a tensor that has been written in place.

        A tangent that the tensor has is written in place too, so that the tangents of its views change with it.
        """
        known = self.tangent_of(tensor)
        if self.paused or (known is None and tangent is None):
            return
        with Paused(self):
            if known is None and tensor.view is not None and self.tangent_of(tensor.view.base) is None:
                base = tensor.view.base
                laid, known = Part(tensor, base).blank()
                self.set_tangent(base, laid)
                self.set_tangent(tensor, known)
            if known is None:
                assert tangent is not None
                self.set_tangent(tensor, tangent)
            elif tangent is None:
                in_place.zero_(known)
            elif tangent is not known:
                in_place.copy_(known, tangent)

    def written(self, tensor: Tensor, op: Op, more: Sequence[Any], attrs: tuple[Any, ...]) -> None:
        """Follow an in-place operation that was not computed out of place: `op`, of the tensor and the operands `more`."""
        own, given = self.tangent_of(tensor), [self.tangent_of(value) for value in more]
        if self.paused or not tensor.dtype.is_differentiable or (own is None and all(tangent is None for tangent in given)):
            return
        if op is in_place.COPY_INTO:
            value = given[0]
            if value is not None:
                with Paused(self):
                    value = namespaces.traced.broadcast_to(namespaces.traced.cast(value, tensor.dtype), tensor.array.shape)
                    value = CLONE(value) if own is None else value  # what is written later leaves that of the operand as it is
            self.write(tensor, value)
        elif op is in_place.FILL_TENSOR and given[0] is not None:
            with Paused(self):
                value = namespaces.traced.broadcast_to(given[0], tensor.array.shape)
            self.write(tensor, value)
        elif not more or op is in_place.FILL_TENSOR:
            self.write(tensor, None)
        else:  # the operation is linear in the old values and in those that are written
            zeros_like = namespaces.traced.zeros_like
            with Paused(self):
                operands = [zeros_like(value) if found is None else found for value, found in zip(more, given, strict=True)]
                value = op(zeros_like(tensor) if own is None else own, *operands, *attrs)
            self.write(tensor, value)

    def reshape(self, tensor: Tensor, op: Op, attrs: tuple[Any, ...]) -> None:
        """Apply `op`, which has changed the shape of `tensor` in place, to its tangent."""
        known = self.tangent_of(tensor)
        if known is not None:
            with Paused(self):
                self.set_tangent(tensor, op(known, *attrs))


class Paused:
    """Python's own `with` for computing with tangents: operations inside hand no tangents on."""

    __slots__ = ("before", "level")

    def __init__(self, level: ForwardLevel) -> None:
        self.level = level
        self.before = False

    def __enter__(self) -> None:
        self.before, self.level.paused = self.level.paused, True

    def __exit__(self, *_: object) -> None:
        self.level.paused = self.before


def _save_tangent(out: Tensor) -> None:
    """Keep the tangent of an output with the output that its node has saved."""
    node = out.node
    if isinstance(node, OpNode) and node.kept_out is not None:
        for number, kept in enumerate(node.kept_out):
            if type(kept) is Saved and kept.number == out.output_nr:
                node.kept_out[number] = SavedDual(out, kept.number, out.property_of("tangent"))
