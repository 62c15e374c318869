"""Hooks on saved tensors: a node keeps what the pack hook returns for a tensor, and the unpack hook gives the tensor back.

A node becomes a `HookedNode` if hooks are in force when it is recorded, or if they are registered on one of its saved
tensors later. Other nodes never need this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted
from gradcli.core.calling.signature import language
from gradcli.core.graph.namespaces import as_tensor
from gradcli.core.graph.op_node import ATTR, INPUT, OUT, OpNode
from gradcli.core.graph.saved_arrays import Saved
from gradcli.core.graph.saved_values import places, shown_attr
from gradcli.core.tensor.node import AccumulateGrad, Node, freed_error
from gradcli.core.tensor.state import PackHooks, recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error

Function = Callable[..., Any]

_MODIFIED = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified by in-place "
    "operations as this can lead to unexpected side-effects. Please open an issue if you need to perform in-place operations on the "
    "input to a pack hook."
)


def _call(function: Function, value: Any) -> Any:
    """Call a hook, and put `state.origin` back, which the steps of the hook change."""
    origin = state.origin
    try:
        return function(value)
    finally:
        state.origin = origin


class Pair(NamedTuple):
    """A pair of hooks: one turns a saved tensor into what the node keeps, the other turns that into the tensor again."""

    pack_hook: Function
    unpack_hook: Function
    #: the pair that was in force before this one
    outer: PackHooks | None = None

    def pack(self, node: OpNode, outs: Sequence[Tensor]) -> None:
        """Put every tensor that a new node keeps through the pack hook. `outs` are the results of the step."""
        # values computed from other saved tensors are taken before those are packed
        for kind, at, value in [(kind, at, _held(node, kind, at)) for kind, at in saved_places(node)]:
            packed: Any = None
            if kind == OUT:
                packed = Packed(outs[at], self, Tensor, node)
            elif type(value) is tuple:
                packed = tuple([_packed(one, self) for one in value])
            elif type(value) is Tensor or isinstance(value, np.ndarray):
                packed = _packed(value, self)
            if packed is not None:
                _put(node, kind, at, packed)
        _hook(node)

    def packed(self, tensor: Tensor, owner: Node | None) -> Packed:
        """What a node keeps of one tensor. `owner` is the node of an output, None for another tensor."""
        return Packed(tensor, self, owner=owner)


class Packed:
    """What a node keeps for a tensor that was packed: the value of the pack hook, and the tensor's place in the graph."""

    __slots__ = ("held", "unpack", "node", "output_nr", "requires_grad", "sink", "is_output", "kind", "shape", "dtype")

    def __init__(self, tensor: Tensor, pair: Pair, kind: type = Tensor, owner: Node | None = None, given: Tensor | None = None) -> None:
        #: what the rule is to get: a Tensor or an ndarray
        self.kind = kind
        self.is_output = owner is not None
        self.node = None if owner is not None else tensor.grad_fn
        self.output_nr = tensor.output_nr
        self.requires_grad = tensor.requires_grad
        self.sink: AccumulateGrad | None = tensor.sink() if tensor.requires_grad and tensor.node is None else None
        self.shape, self.dtype = tensor.array.shape, tensor.dtype
        self.unpack = pair.unpack_hook
        version = tensor.counter()
        before = version.count
        with recording(False):
            self.held = _call(pair.pack_hook, tensor if given is None else given)
        if version.count != before:
            raise runtime_error(_MODIFIED)

    def open(self, owner: Node | None) -> Tensor:
        """The tensor, from the unpack hook, at the place in the graph that the packed one had."""
        value = _call(self.unpack, self.held)
        if type(value) is not Tensor:
            kind = language.type_name(value)
            raise ProgramError("TypeError", f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {kind}")
        node = owner if self.is_output and self.requires_grad else self.node
        if node is None and not self.requires_grad and not value.requires_grad:
            return value
        made = Tensor(value.array, value.dtype)
        made.version = value.version
        made.requires_grad = self.requires_grad
        if node is not None:
            made.node, made.output_nr = node, self.output_nr
        elif self.sink is not None:
            made.accumulator = self.sink.variable.accumulator
        return made


class HookedNode(OpNode):
    """A node some of whose saved values are packed."""

    __slots__ = ()

    def release(self) -> None:
        super().release()
        if any(_packed_in(value) for value in self.attrs):
            self.attrs = tuple([None if _packed_in(value) else value for value in self.attrs])
            self.freed = True

    def gradients(self, grads: list[Any], traced: bool, wanted: Sequence[bool]) -> list[Any]:
        if self.freed:
            raise freed_error()
        bare, changed = self._opened()
        if traced or not changed:
            return bare.gradients(grads, traced, wanted)
        # with another shape or dtype the rules run on tensors, where operations broadcast and promote as PyTorch's kernels do
        with recording(False):
            found = bare.gradients(self.as_tensors(grads), True, wanted)
        return [None if g is None else as_tensor(g).array for g in found]

    def _opened(self) -> tuple[OpNode, bool]:
        """An ordinary node with everything unpacked; whether a tensor came back in another shape or dtype.

        PyTorch unpacks in the order of the names, outputs last.
        """
        made: OpNode = copy(self)
        made.__class__ = OpNode
        made.attrs = self.attrs[: len(self.op.attrs)]
        changed = False
        for kind, at in saved_places(self):
            value = _held(self, kind, at)
            opened: Any
            if type(value) is tuple:
                opened = tuple([one.open(self).array if type(one) is Packed else one for one in value])
            elif type(value) is Packed and kind == _COMPUTED:
                if not np.array_equal(value.open(self).array, made.computed(at), equal_nan=True):
                    raise runtime_error(_CHANGED)
                continue
            elif type(value) is Packed:
                opened = value.open(self)
                changed = changed or opened.array.shape != value.shape or opened.dtype is not value.dtype
                if value.kind is not Tensor:
                    opened = opened.array
            else:
                continue
            _put(made, kind, at, opened)
        return made, changed

    def saved_value(self, name: str) -> Any:
        place = places(self.op)[name]
        if not place.is_tensor:
            return super().saved_value(name)
        if self.freed:
            raise freed_error()
        value = _held(self, _KINDS[place.kind], place.at)
        if type(value) is tuple and _packed_in(value):
            return tuple([one.open(self) if type(one) is Packed else shown_attr("", one) for one in value])
        return value.open(self) if type(value) is Packed else super().saved_value(name)


#: the kind of a place of what PyTorch's nodes save and ours compute: when it is packed, behind the plain arguments
_COMPUTED = -1
_KINDS = {"input": INPUT, "output": OUT, "data": ATTR, "computed": _COMPUTED}
_CHANGED = "an unpack hook that gives back another tensor of what the forward pass has computed is not part of gradcli"


def _packed_in(value: Any) -> bool:
    return type(value) is Packed or (type(value) is tuple and any(type(one) is Packed for one in value))


def _held(node: OpNode, kind: int, at: int) -> Any:
    """What a node keeps at a place; None for nothing."""
    if kind == _COMPUTED and (at >= len(node.attrs) or node.attrs[at] is None):
        bare = node._opened()[0] if isinstance(node, HookedNode) else node
        return bare.computed(at)
    kept: Sequence[Any] | None = {INPUT: node.saved, OUT: node.kept_out}.get(kind, node.attrs)
    return None if kept is None else kept[at]


def _put(node: OpNode, kind: int, at: int, value: Any) -> None:
    """Put something else at a place."""
    if kind == INPUT:
        assert node.saved is not None
        node.saved = [value if i == at else one for i, one in enumerate(node.saved)]
        if type(value) is Tensor:  # in-place writes to an unpacked tensor are no error
            versions = node.versions or [0] * len(node.saved)
            node.versions = [value.version_number if i == at else number for i, number in enumerate(versions)]
    elif kind == OUT:
        assert node.kept_out is not None
        node.kept_out = [value if i == at else one for i, one in enumerate(node.kept_out)]
    elif at >= len(node.attrs):
        node.attrs = (*node.attrs, *[None] * (at - len(node.attrs)), value)
    else:
        node.attrs = tuple([value if i == at else one for i, one in enumerate(node.attrs)])


def saved_places(node: OpNode) -> list[tuple[int, int]]:
    """The places of what a node keeps as tensors, in the order in which PyTorch packs and unpacks them: by name, outputs last."""
    found: list[tuple[bool, str, int, int]] = []
    absent = [kind for kind, kept in (("input", node.saved), ("output", node.kept_out)) if kept is None]
    for name, place in places(node.op).items():
        kind, at = place.kind, place.at
        if not place.is_tensor or kind in absent or (kind == "data" and at not in node.plan.data):
            continue
        several = range(len(node.saved or ())) if kind == "input" and node.op.variadic else (at,)
        found += [(place.late, name, _KINDS[kind], i) for i in several]
    return [(kind, at) for _, _, kind, at in sorted(found)]


def _packed(value: Any, pair: Pair) -> Any:
    if type(value) is Tensor:
        return Packed(value, pair)
    return Packed(as_tensor(np.asarray(value)), pair, np.ndarray) if isinstance(value, np.ndarray) else value


def _hook(node: OpNode) -> None:
    """Turn a node into a HookedNode if it keeps anything packed."""
    if any(_packed_in(_held(node, kind, at)) for kind, at in saved_places(node)):
        node.__class__ = HookedNode
        node.plain = False


# --- saved tensors as values ---

_TWICE = "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at a time."
_FREED = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need "
    "to access saved variables after calling backward."
)


class SavedTensor(Scripted):
    """`grad_fn._raw_saved_NAME`: the place where a node keeps a tensor."""

    __slots__ = ("node", "place", "__weakref__")

    SCRIPT_NAME = "torch._C._autograd.SavedTensor"

    def __init__(self, node: OpNode, place: tuple[int, int]) -> None:
        self.node = node
        self.place = place

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Let a pair of hooks have this tensor alone."""
        node, (kind, at) = self.node, self.place
        value = _held(node, kind, at)
        if type(value) is Packed:
            raise runtime_error(_TWICE)
        if node.freed:
            raise runtime_error(_FREED)
        pair = Pair(pack_hook, unpack_hook)
        if isinstance(value, Saved):
            plain = Tensor(value.array, value.dtype)
            tensor = Tensor(value.array, value.dtype)
            tensor.version = plain.version = value.version
            tensor.node, tensor.output_nr, tensor.requires_grad = node, value.number, value.number < node.op.differentiable
            _put(node, kind, at, Packed(tensor, pair, Tensor, node, plain))
        elif type(value) is Tensor:
            alias = Tensor(value.array, value.dtype)
            alias.version = value.counter()
            _put(node, kind, at, Packed(value, pair, given=alias))
        elif isinstance(value, np.ndarray):
            _put(node, kind, at, _packed(value, pair))
        else:
            raise runtime_error("Calling register_hooks on a saved tensor with value None is forbidden")
        _hook(node)

    SCRIPT_METHODS = {"register_hooks": Routine(register_hooks, hide_first=True)}


def raw_names(node: OpNode) -> dict[str, tuple[int, int]]:
    """What `_raw_saved_NAME` reads of a node: the tensors it keeps or would keep, under PyTorch's names."""
    return {
        name: (_KINDS[place.kind], place.at)
        for name, place in places(node.op).items()
        if place.is_tensor and not (place.kind == "data" and isinstance(node.attrs[place.at], (int, float, complex)))
    }
