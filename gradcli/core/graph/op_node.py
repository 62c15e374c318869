"""Nodes made from operation records: what they keep of the forward pass, and how they call the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.core.graph import namespaces
from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.saved_arrays import Saved, SavedDual, SavedOfPart, Watched
from gradcli.core.graph.saved_values import DATA_NAMES, Place, part_of, places, shown_attr
from gradcli.core.kernels import Array, blocks, broadcasts_to
from gradcli.core.kernels.memory_format import contiguous_strides, element_strides, is_dense, is_permuted, laid_out
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import DETACHED, AccumulateGrad, Edge, Node, detached_error, freed_error, modified_error, recount
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import Code, ProgramError

if TYPE_CHECKING:
    from gradcli.core.graph.record import Op


#: where the arguments of rules come from
XP, GRAD, OUT, OUTS, INPUT, ATTR, DATA, ATTRS, SHAPE, DTYPE = range(10)


class Plan:
    """For one set of inputs that need gradients: what a node keeps, and how it calls the rules."""

    __slots__ = ("keep", "keep_out", "kept_outputs", "keeps", "frees", "data", "calls", "fast_rules")

    def __init__(self, op: Op, mask: int) -> None:
        #: the inputs that need gradients, the rule of each, and where the rule's arguments come from; in the order of the rules
        self.calls: list[tuple[int, Callable[..., Any], tuple[tuple[int, int], ...]]] = []
        for tensor, rule in op.rules.items():
            i = op.tensors.index(tensor)
            if mask >> i & 1 and rule is not None:
                self.calls.append((i, rule.function, tuple(_place(op, name) for name in rule.parameters)))
        needs = {need for _, _, sources in self.calls for need in sources}
        read = {at for kind, at in needs if kind == INPUT}
        saved = [place for place in places(op).values() if place.is_tensor and (place.always or self._is_saved(op, place, mask))]
        tensors = {place.at for place in saved if place.kind == "input"}
        self.keep = tuple(sorted(read | tensors))
        self.keep_out = any(kind in (OUT, OUTS) for kind, _ in needs) or any(place.kind == "output" for place in saved)
        #: the outputs that are read or saved; the others may be written to before backward
        self.kept_outputs = {at for kind, at in needs if kind == OUT} | {place.at for place in saved if place.kind == "output"}
        if (OUTS, 0) in needs:
            self.kept_outputs.update(range(len(op.outputs)))
        #: whether tensors are saved that backward frees; the plain arguments that may be such tensors
        elsewhere = any(place.kind == "unknown" and place.always for place in places(op).values())
        self.frees = elsewhere or bool(tensors) or any(place.kind in ("output", "computed") for place in saved)
        self.data = tuple(place.at for place in saved if place.kind == "data")
        self.keeps = self.frees or bool(self.data)
        #: the same calls for the fast path of a backward walk; None where the walk has to call `OpNode.gradients`
        self.fast_rules: tuple[tuple[int, FastRule], ...] | None = None
        # the fast path checks the versions of what the rules read
        checked = self.keep == tuple(sorted(read)) and self.keep_out == any(kind in (OUT, OUTS) for kind, _ in needs)
        if checked and len(self.calls) == mask.bit_count() and not (op.many or op.variadic or op.on_tensors):
            self.fast_rules = tuple((i, _fast_rule(function, sources)) for i, function, sources in self.calls)

    @staticmethod
    def _is_saved(op: Op, place: Place, mask: int) -> bool:
        """Whether a tensor is saved: PyTorch leaves out one that only the derivative of one input takes, if that one is not wanted.

        Of derivatives it leaves out none.
        """
        if place.kind in ("output", "computed") or op.variadic or len(op.listed) == 1 or "BackwardBackward" in op.grad_fn:
            return True
        name = (op.tensors if place.kind == "input" else op.attrs)[place.at]
        names = {name, f"{name}_shape"} if place.kind == "input" else {name, "attrs"}
        users = [i for i in op.listed if not names.isdisjoint(op.rules[op.tensors[i]].parameters)]  # type: ignore[union-attr]
        return len(users) != 1 or bool(mask >> users[0] & 1)


def _place(op: Op, name: str) -> tuple[int, int]:
    """Where the argument called `name` of a rule comes from: the kind and the position."""
    if name in op.outputs:
        return OUT, op.outputs.index(name)
    if name in op.tensors:
        return INPUT, op.tensors.index(name)
    if name in op.attrs:
        return DATA if name in DATA_NAMES else ATTR, op.attrs.index(name)
    fixed = {"xp": XP, "grad": GRAD, "grads": GRAD, "out": OUT, "outs": OUTS, "attrs": ATTRS}
    if name in fixed:
        return fixed[name], 0
    if name.endswith("_shape"):
        return SHAPE, op.tensors.index(name.removesuffix("_shape"))
    return DTYPE, op.tensors.index(name.removesuffix("_dtype"))


#: the gradient of one input, from a node and the gradient of its output
FastRule = Callable[["OpNode", Array], Any]


class LeaveFastPath(Exception):
    """A saved tensor was written to in place: `OpNode.gradients` raises PyTorch's error for that."""


def _fast_rule(function: Callable[..., Any], sources: tuple[tuple[int, int], ...]) -> FastRule:
    """A rule on arrays as the fast path of a backward walk calls it, see `Walk._run_fast`. The FastRule raises LeaveFastPath."""
    if sources == ((GRAD, 0),):
        return lambda node, grad: function(grad)
    if len(sources) == 2 and sources[0] == (GRAD, 0) and sources[1][0] == INPUT:
        at = sources[1][1]

        def with_input(node: OpNode, grad: Any) -> Any:
            value = node.saved[at]  # type: ignore[index]
            if type(value) is not Tensor:
                return function(grad, node.dtype.scalars.get(value, value))
            if value.version is not None and value.version.count != (0 if node.versions is None else node.versions[at]):
                raise LeaveFastPath
            return function(grad, value.array)

        return with_input

    def run(node: OpNode, grad: Any) -> Any:
        args: list[Any] = []
        for kind, at in sources:
            if kind == GRAD:
                args.append(grad)
            elif kind == INPUT:
                value = node.saved[at]  # type: ignore[index]
                if type(value) is Tensor:
                    if value.version is not None and value.version.count != (0 if node.versions is None else node.versions[at]):
                        raise LeaveFastPath
                    value = value.array
                args.append(value)
            elif kind == XP:
                args.append(numeric)
            elif kind == ATTR:
                args.append(node.attrs[at])
            elif kind == OUT:
                kept = node.kept_out[at]  # type: ignore[index]
                if kept.version.count != kept.expected:
                    raise LeaveFastPath
                args.append(kept.array)
            else:
                args.append(node.argument((kind, at), grad, False, (), None))
        return function(*args)

    return run


def _called(rule: Callable[..., Any], args: list[Any]) -> Any:
    """What a rule gives; within vmap by one sample after the other, where it asks for elements."""
    try:
        return rule(*args)
    except ProgramError as error:
        if error.code is not Code.NEEDS_SAMPLES:
            raise
        return state.mapped[-1].by_samples(rule, args, error)


def _as_model(value: Any, model: Any) -> Any:
    """An array with the strides of `model`, a tensor of the same values, where it can have them; what is no array stays."""
    if type(model) is not Tensor or not isinstance(value, (np.ndarray, blocks.Deferred)) or value.shape != model.array.shape:
        return value
    strides = element_strides(model.array)
    return laid_out(np.asarray(value), strides) if is_dense(value.shape, strides) else value


def _holds_arrays(value: Any) -> bool:
    return type(value) is Tensor or isinstance(value, np.ndarray) or (type(value) is tuple and any(map(_holds_arrays, value)))


class OpNode(Node):
    """A node made from an operation record."""

    __slots__ = ("op", "plan", "saved", "versions", "kept_out", "attrs", "freed")

    def __init__(self, op: Op, edges: tuple[Edge, ...], shape: tuple[int, ...], dtype: DType, plan: Plan, attrs: tuple[Any, ...]) -> None:
        # one of these is made for every operation: the base class's assignments are repeated here to save a call
        self.edges = edges
        self.shape = shape
        self.dtype = dtype
        self.outputs = None
        self.sequence = state.sequence
        state.sequence += 1
        if state.sequence > state.recount:
            recount()
        self.origin = state.origin
        self.hooks = None
        self.retained = None
        self.plain = dtype.is_plain
        self.op = op
        self.plan = plan
        self.attrs = attrs
        self.freed = False
        #: kept inputs aligned with op.tensors: tensors, numbers, or None
        self.saved: list[Any] | None = None
        self.versions: list[int] | None = None
        self.kept_out: list[Any] | None = None

    @property
    def type_name(self) -> str:
        return self.op.grad_fn

    def name(self) -> str:
        return self.op.full_name

    def release(self) -> None:
        plan = self.plan
        if plan.frees or (plan.keeps and any(_holds_arrays(self.attrs[at]) for at in plan.data)):
            self.saved = None
            self.kept_out = None
            self.freed = True

    @property
    def listed(self) -> Sequence[int]:
        listed = range(len(self.edges)) if self.op.variadic else self.op.listed
        if self.op.grad_fn == "NotImplemented":  # PyTorch's fallback has the edges of tensors that require grad alone
            return [i for i in listed if self.edges[i][0] is not None]
        return listed

    @property
    def saved_names(self) -> tuple[str, ...]:
        return tuple(places(self.op))

    def saved_value(self, name: str) -> Any:
        kind, at, part, _, _ = places(self.op)[name]
        if kind == "constant":
            return at
        if kind == "unknown":
            raise self._unknown(name)
        if kind == "attr":
            value = self.attrs[at]
            return shown_attr(name, value[int(part)] if part and value is not None else value)
        if part and kind == "output":
            return part_of(self.meta(at)[0], part)
        if part:
            node, number = self.edges[at]
            kept = None if self.saved is None else self.saved[at]
            known = kept if type(kept) is Tensor else node.variable if type(node) is AccumulateGrad else None
            shape = known.array.shape if known is not None else None if node is None else node.meta(number)[0]
            if shape is None:
                raise self._unknown(name)
            return part_of(shape, part)
        if self.freed:
            if kind == "input" and not self.op.variadic and at not in self.plan.keep:
                return None
            if kind == "data" and (at not in self.plan.data or self.attrs[at] is None):
                return None
            raise freed_error()
        if kind == "data":
            return shown_attr(name, self._data(at)) if at in self.plan.data else None
        if kind == "computed":
            return shown_attr(name, self.computed(at))
        if kind == "output":
            return None if self.kept_out is None else self._output(self.kept_out[at], True)
        value = None if self.saved is None else self.saved if self.op.variadic else self.saved[at]
        if type(value) is Tensor:
            return self._input(value, 0 if self.versions is None else self.versions[at], True)
        return wrap(np.array(value)) if isinstance(value, (int, float)) else value

    def computed(self, at: int) -> Any:
        """An array that PyTorch's node saves, computed from what this one keeps; None for none."""
        function = list(self.op.computed.values())[at - len(self.op.attrs)]
        return function(*[np.asarray(kept.array) if type(kept) is Tensor else kept for kept in self.saved or self.op.nothing], *self.attrs)

    def _unknown(self, name: str) -> ProgramError:
        return ProgramError("NotImplementedError", f"_saved_{name} of {self.type_name} is not part of gradcli")

    def _input(self, value: Tensor, expected: int, traced: bool) -> Any:
        version = value.version
        if version is not None and version.count != expected:
            raise modified_error(value.dtype, value.array.shape, value.grad_fn, value.output_nr, version.count, expected)
        return value if traced else value.array

    def _output(self, kept: Saved | Tensor, traced: bool) -> Any:
        if isinstance(kept, Tensor):  # an unpack hook has given it back
            return kept if traced else kept.array
        if kept.version.count != kept.expected:
            raise modified_error(kept.dtype, kept.array.shape, self, kept.number, kept.version.count, kept.expected)
        if not traced:
            return kept.array
        tensor = Tensor(kept.array, kept.dtype)
        if kept.number < self.op.differentiable:
            # the node of the base is freed on its own, after which a second derivative still comes here
            node = copy(self) if isinstance(kept, SavedOfPart) else self
            tensor.node, tensor.output_nr, tensor.requires_grad = node, kept.number, True
        tensor.version = kept.version
        if isinstance(kept, SavedDual):
            kept.dress(tensor)
        return tensor

    def gradients(self, grads: list[Any], traced: bool, wanted: Sequence[bool]) -> list[Any]:
        if self.freed:
            raise freed_error()
        if not traced and (self.dtype.itemsize == 2 or self.dtype.is_complex):
            return self._stepwise_gradients(grads, wanted)
        if not traced and not self.op.on_tensors and self._lies_oddly(grads):
            return self._laid_out_gradients(grads, wanted)
        return self._by_rules(grads, traced, wanted)

    def _by_rules(self, grads: list[Any], traced: bool, wanted: Sequence[bool]) -> list[Any]:
        """The gradients that the rules give: tensors when `traced`, else arrays."""
        op, plan = self.op, self.plan
        kept = self._kept(traced)
        outs = None if self.kept_out is None else self._outs(traced)
        first: Any = grads if op.many else grads[0]
        if op.elementwise and not traced and first.size >= blocks.threshold:
            first = blocks.defer(first)
        if op.variadic:
            _, function, needs = plan.calls[0]
            return list(_called(function, [self.argument(need, first, traced, kept, outs) for need in needs]))
        result: list[Any] = [None] * len(self.edges)
        for i, function, needs in plan.calls:
            if wanted[i]:
                result[i] = _called(function, [self.argument(need, first, traced, kept, outs) for need in needs])
        if traced and op.joined and state.watch is None:
            from gradcli.core.graph.joined_node import join  # for derivatives of derivatives alone

            join(result)
        return result

    def as_tensors(self, grads: list[Any]) -> list[Any]:
        """Gradients of the outputs, for rules on tensors."""
        return [None if g is None else Tensor(np.asarray(g), self.meta(number)[1]) for number, g in enumerate(grads)]

    def _lies_oddly(self, grads: list[Any]) -> bool:
        """Whether numpy may lay gradients out in another way than PyTorch.

        It prefers row-major order where operands differ, and forgets the strides of dimensions of size 1 or 0 where one is in another.
        """
        kept: list[Any] = [one.array for one in (*(self.saved or ()), *(self.kept_out or ())) if isinstance(one, (Tensor, Saved))]
        arrays = [array for array in (*grads, *kept) if type(array) is np.ndarray and array.ndim > 1]
        elementwise = self.op.elementwise
        if any(0 in array.shape or ((elementwise or array.ndim > 2) and 1 in array.shape) for array in arrays):
            if elementwise:  # a number that is repeated, such as the gradient of a sum, prefers no order
                arrays = [array for array in arrays if 0 in array.shape or any(array.strides)]
            return any(element_strides(array) != contiguous_strides(array.shape) for array in arrays)
        if not elementwise or not any(map(is_permuted, arrays)):
            return False
        # an array that is computed later is one in row-major order
        return any(array.strides != arrays[0].strides for array in arrays) or any(type(array) is blocks.Deferred for array in kept)

    def _stepwise_gradients(self, grads: list[Any], wanted: Sequence[bool]) -> list[Any]:
        """The gradients by the rules on tensors: each operation rounds in half precision, and as PyTorch's where numbers are complex."""
        found: list[Any] = []
        with recording(False):
            for result, (node, number) in zip(self._by_rules(self.as_tensors(grads), True, wanted), self.edges, strict=True):
                if type(result) is Tensor and node is not None:
                    have, shape = result.array.shape, node.meta(number)[0]
                    if have != shape and broadcasts_to(shape, have):
                        result = namespaces.traced.sum_to(result, shape)
                found.append(result.array if type(result) is Tensor else result)
        return found

    def _laid_out_gradients(self, grads: list[Any], wanted: Sequence[bool]) -> list[Any]:
        """The gradients, with the strides of those by the rules on tensors, where each step has PyTorch's strides."""
        with recording(False):
            traced = self._by_rules(self.as_tensors(grads), True, wanted)
        return [_as_model(value, model) for value, model in zip(self._by_rules(grads, False, wanted), traced, strict=True)]

    def _outs(self, traced: bool) -> list[Any]:
        """The saved outputs: tensors when `traced`, else arrays. Raises RuntimeError for one that was written to."""
        saved = self.plan.kept_outputs
        return [self._output(one, traced) if number in saved else None for number, one in enumerate(self.kept_out or ())]

    def _kept(self, traced: bool) -> Sequence[Any]:
        """The saved inputs: tensors when `traced`, else arrays. Raises RuntimeError for a tensor that was written to."""
        saved, versions = self.saved, self.versions
        if saved is None:
            return self.op.nothing
        if DETACHED:
            for value, (node, _) in zip(saved, self.edges, strict=False):
                if id(value) in DETACHED and node is not None and type(node) is not AccumulateGrad:
                    raise detached_error()
        return [
            self._input(value, 0 if versions is None else versions[i], traced) if type(value) is Tensor else value
            for i, value in enumerate(saved)
        ]

    def argument(self, need: tuple[int, int], first: Any, traced: bool, kept: Sequence[Any], outs: list[Any] | None) -> Any:
        """One argument of a rule."""
        kind, at = need
        if kind == GRAD:
            return first
        if kind == INPUT:
            return kept if self.op.variadic else kept[at]
        if kind == XP:
            return namespaces.traced if traced or self.op.on_tensors else numeric
        if kind == ATTR:
            return self.attrs[at]
        if kind == DATA:
            return self._data(at)
        if kind == OUT:
            return outs[at] if outs else None
        if kind == OUTS:
            return outs
        if kind == ATTRS:
            for i, name in enumerate(self.op.attrs):
                if name in DATA_NAMES:
                    self._data(i)
            return self.attrs
        if self.op.variadic:
            return [self._edge_meta(edge)[kind - SHAPE] for edge in self.edges]
        return self._edge_meta(self.edges[at])[kind - SHAPE]

    def _data(self, at: int) -> Any:
        """A plain argument that may hold arrays. Raises RuntimeError for one whose tensor was written to."""
        value = self.attrs[at]
        for one in value if type(value) is tuple else (value,):
            if type(one) is Watched and not one.is_current:
                raise modified_error(dtypes.of(one.dtype), one.shape, None, 0, one.count, one.expected)
            if type(one) is Tensor and one.version is not None and one.version.count:  # the tensor had not been written to when it was kept
                raise modified_error(one.dtype, one.array.shape, None, 0, one.version.count, 0)
        return value

    @staticmethod
    def _edge_meta(edge: Edge) -> tuple[Any, Any]:
        node, number = edge
        return (None, None) if node is None else node.meta(number)


def short_name(grad_fn: str) -> str:
    """The name of the operation: `Exp` for `ExpBackward0`, `Pow` for `PowBackward1`."""
    return grad_fn.rstrip("0123456789").removesuffix("Backward")
