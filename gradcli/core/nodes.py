"""Nodes made from operation records: what they keep of the forward pass, and how they call the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.core import blocks
from gradcli.core.dtypes import DType
from gradcli.core.graph import Edge, Node, freed_error, recount, state
from gradcli.core.tensor import Tensor, wrap
from gradcli.errors import ProgramError

if TYPE_CHECKING:
    from gradcli.core.record import Op


class Plan:
    """For one set of inputs that need gradients: what to keep, and how to call the rules."""

    __slots__ = ("keep", "keep_out", "keeps", "calls", "shapes", "short")

    def __init__(self, op: Op, mask: int) -> None:
        names = ["xp", "grads" if op.many else "grad", "outs" if op.outputs else "out", *op.tensors, *op.attrs]
        base = len(names)
        for tensor in op.tensors:
            names += [f"{tensor}_shape", f"{tensor}_dtype"]
        at = {name: i for i, name in enumerate(names)}
        at |= {name: base + 2 * len(op.tensors) + i for i, name in enumerate(op.outputs)}
        keep: set[int] = set()
        self.keep_out = False
        self.shapes = False
        self.calls: list[tuple[int, Callable[..., Any], Callable[[Any], Any]]] = []
        for i, tensor in enumerate(op.tensors):
            rule = op.rules[tensor]
            if not mask >> i & 1 or rule is None:
                continue
            wanted = [at[p] for p in rule.parameters]
            keep.update(k - 3 for k in wanted if 3 <= k < 3 + len(op.tensors))
            self.keep_out |= 2 in wanted or any(k >= base + 2 * len(op.tensors) for k in wanted)
            self.shapes |= any(k >= base for k in wanted)
            pick: Callable[[Any], Any]
            pick = itemgetter(*wanted) if len(wanted) > 1 else itemgetter(slice(wanted[0], wanted[0] + 1))
            self.calls.append((i, rule.function, pick))
        self.keep = tuple(sorted(keep))
        self.keeps = bool(keep) or self.keep_out
        #: most rules want the gradient alone, or it and one input (its position): those are called without further ado
        self.short: list[tuple[int, Callable[..., Any], int]] | None = None
        if not (op.many or op.variadic or op.on_tensors or self.keep_out or self.shapes):
            self.short = _short_calls(op, mask)


def _short_calls(op: Op, mask: int) -> list[tuple[int, Callable[..., Any], int]] | None:
    """For each wanted input its rule and the input that the rule takes besides the gradient (-1: none)."""
    calls = []
    for i, tensor in enumerate(op.tensors):
        rule = op.rules[tensor]
        if not mask >> i & 1 or rule is None:
            continue
        if rule.parameters == ("grad",):
            calls.append((i, rule.function, -1))
        elif len(rule.parameters) == 2 and rule.parameters[0] == "grad" and rule.parameters[1] in op.tensors:
            calls.append((i, rule.function, op.tensors.index(rule.parameters[1])))
        else:
            return None
    return calls


class Saved:
    """An output kept by its own node: without the tensor itself, which would make a cycle."""

    __slots__ = ("array", "dtype", "version", "expected", "number")

    def __init__(self, tensor: Tensor, number: int) -> None:
        self.array = tensor.array
        self.dtype = tensor.dtype
        self.version = tensor.counter()
        self.expected = self.version.count
        self.number = number


_spaces: tuple[Any, Any] | None = None


def _namespace(tensors: bool) -> Any:
    """The namespace for rules on tensors or on arrays; found on first use, since it needs this module."""
    global _spaces
    if _spaces is None:
        from gradcli.core import namespace

        _spaces = (namespace.numeric, namespace.traced)
    return _spaces[tensors]


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
        self.op = op
        self.plan = plan
        self.attrs = attrs
        self.freed = False
        #: kept inputs aligned with op.tensors: tensors, numbers, or None
        self.saved: list[Any] | None = None
        self.versions: list[int] | None = None
        self.kept_out: list[Saved] | None = None

    @property
    def type_name(self) -> str:
        return self.op.grad_fn

    def name(self) -> str:
        return self.op.full_name

    def release(self) -> None:
        if self.plan.keeps:
            self.saved = None
            self.kept_out = None
            self.freed = True

    @property
    def listed(self) -> Sequence[int]:
        return range(len(self.edges)) if self.op.variadic else self.op.listed

    @property
    def saved_names(self) -> tuple[str, ...]:
        return tuple(self._saved_places())

    def _saved_places(self) -> dict[str, tuple[str, int]]:
        """What can be read, under PyTorch's names: kind and position of each."""
        op = self.op
        places: dict[str, tuple[str, int]] = {}
        for rule in op.rules.values():
            for name in () if rule is None else rule.parameters:
                base = name.removesuffix("_shape")
                if name in op.tensors:
                    places["self" if name == "input" else name] = ("input", op.tensors.index(name))
                elif name in op.outputs:
                    places[name] = ("output", op.outputs.index(name))
                elif name == "out":
                    places["result"] = ("output", 0)
                elif base != name and base in op.tensors:
                    places[f"{'self' if base == 'input' else base}_sym_sizes"] = ("shape", op.tensors.index(base))
        places.update((name, ("attr", i)) for i, name in enumerate(op.attrs))
        return places

    def saved_value(self, name: str) -> Any:
        kind, at = self._saved_places()[name]
        if kind == "attr":
            return self.attrs[at]
        if kind == "shape":
            node, number = self.edges[at]
            return None if node is None else node.meta(number)[0]
        if self.freed:
            raise freed_error()
        if kind == "output":
            return None if self.kept_out is None else self._output(self.kept_out[at], True)
        value = None if self.saved is None else self.saved if self.op.variadic else self.saved[at]
        return wrap(np.array(value)) if isinstance(value, (int, float)) else value

    def _input(self, value: Tensor, expected: int, traced: bool) -> Any:
        version = value.version
        if version is not None and version.count != expected:
            raise modified_error(value.dtype, value.array.shape, value.grad_fn, value.output_nr, version.count, expected)
        return value if traced else value.array

    def _output(self, kept: Saved, traced: bool) -> Any:
        if kept.version.count != kept.expected:
            raise modified_error(kept.dtype, kept.array.shape, self, kept.number, kept.version.count, kept.expected)
        if not traced:
            return kept.array
        tensor = Tensor(kept.array, kept.dtype)
        if kept.number < self.op.differentiable:
            tensor.node, tensor.output_nr, tensor.requires_grad = self, kept.number, True
        tensor.version = kept.version
        return tensor

    def gradients(self, grads: list[Any], traced: bool, wanted: Sequence[bool]) -> list[Any]:
        if self.freed:
            raise freed_error()
        op, plan, saved = self.op, self.plan, self.saved
        if plan.short is not None:
            return self._short(plan.short, grads[0], traced, wanted)
        xp = _namespace(traced or op.on_tensors)
        pool: list[Any] = [xp, grads if op.many else grads[0], None]
        if op.elementwise and not traced and grads[0].size >= blocks.threshold:
            pool[1] = blocks.defer(grads[0])
        outs: list[Any] = []
        if self.kept_out is not None:
            outs = [self._output(kept, traced) for kept in self.kept_out]
            pool[2] = outs if op.outputs else outs[0]
        if saved is None:
            pool += op.nothing
        else:
            versions = self.versions
            values = [
                self._input(value, 0 if versions is None else versions[i], traced) if type(value) is Tensor else value
                for i, value in enumerate(saved)
            ]
            if op.variadic:
                pool.append(values)
            else:
                pool += values
        pool += self.attrs
        if plan.shapes:
            self._add_shapes(pool, outs)
        if op.variadic:
            (_, function, pick) = plan.calls[0]
            return list(function(*pick(pool)))
        result: list[Any] = [None] * len(self.edges)
        for i, function, pick in plan.calls:
            if wanted[i]:
                result[i] = function(*pick(pool))
        return result

    def _short(self, calls: list[tuple[int, Callable[..., Any], int]], grad: Any, traced: bool, wanted: Sequence[bool]) -> list[Any]:
        """The rules of a plan that needs nothing but the gradient and single inputs."""
        if not traced and grad.size >= blocks.threshold and self.op.elementwise:
            grad = blocks.defer(grad)
        result: list[Any] = [None] * len(self.edges)
        saved, versions = self.saved, self.versions
        for i, function, k in calls:
            if not wanted[i]:
                continue
            if k < 0:
                result[i] = function(grad)
                continue
            value = saved[k]  # type: ignore[index]
            if type(value) is Tensor:
                value = self._input(value, 0 if versions is None else versions[k], traced)
            result[i] = function(grad, value)
        return result

    def _add_shapes(self, pool: list[Any], outs: list[Any]) -> None:
        """Shapes and dtypes of the inputs, read off the edges; then the outputs by name."""
        if self.op.variadic:
            pool.append([self._edge_meta(edge)[0] for edge in self.edges])
            pool.append([self._edge_meta(edge)[1] for edge in self.edges])
        else:
            for edge in self.edges:
                pool += self._edge_meta(edge)
        pool += outs

    @staticmethod
    def _edge_meta(edge: Edge) -> tuple[Any, Any]:
        node, number = edge
        return (None, None) if node is None else node.meta(number)


def short_name(grad_fn: str) -> str:
    """The name as error messages give it: `Exp` for `ExpBackward0`."""
    return grad_fn.rstrip("0123456789").removesuffix("Backward")


def modified_error(dtype: DType, shape: tuple[int, ...], node: Node | None, number: int, version: int, expected: int) -> ProgramError:
    """PyTorch's error when a saved tensor was written to before backward needed it."""
    where = "" if node is None else f", which is output {number} of {short_name(node.name())},"
    return ProgramError(
        "RuntimeError",
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{dtype.torch_name}Tensor {list(shape)}]{where} is at version {version}; expected version {expected} instead. "
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False).",
    )
