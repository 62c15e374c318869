"""The operation record: forward, derivative per argument name, literal `grad_fn` name, formula. Declared once each.

A rule is written once for numbers and for tensors: its parameters are chosen by name among

    xp            numpy-like namespace: `numeric` on arrays, `traced` on tensors (under create_graph)
    grad          gradient of the output (`grads`, a list with None for unused outputs, when there are several)
    out           the output (`outs` when there are several)
    <argument>    an input tensor, or a plain argument of the call
    <argument>_shape, <argument>_dtype   of an input, without keeping its data

Only what the rules of the inputs that need gradients name is kept by a node. Rules may return a gradient in the
output's broadcast shape: the engine undoes broadcasting, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core import blocks, dtypes
from gradcli.core.dtypes import DType
from gradcli.core.graph import NO_EDGE, Edge, Node, freed_error, recount, state
from gradcli.core.tensor import Array, Tensor, View, wrap
from gradcli.errors import InternalFault, ProgramError

np.seterr(all="ignore")  # torch computes nan and inf silently

#: marks an argument without derivative
NONDIFF = None


class Rule:
    """A derivative: the function, and the formula as users read it, in gradcli's own language.

    A formula uses `grad`, `out`, the argument names and gradcli's functions; it is evaluated by a test.
    """

    __slots__ = ("function", "formula", "parameters", "note")

    def __init__(self, function: Callable[..., Any], formula: str, note: str = "") -> None:
        self.function = function
        self.formula = formula
        code = function.__code__
        self.parameters: tuple[str, ...] = code.co_varnames[: code.co_argcount]
        #: what is chosen where the function is not differentiable
        self.note = note


class _Plan:
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

    def __init__(self, op: Op, edges: tuple[Edge, ...], shape: tuple[int, ...], dtype: DType, plan: _Plan, attrs: tuple[Any, ...]) -> None:
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


class Op:
    """One differentiable primitive, with one `grad_fn` name. Calling it on tensors computes and records.

    `tensors` and `attrs` name the arguments: tensors first, then plain ones. `forward` takes them in that order with
    arrays for tensors and returns an array, or a tuple of arrays if `outputs` names several. A variadic operation has
    one name in `tensors`, for the list that is its first argument.
    """

    __slots__ = (
        "grad_fn",
        "full_name",
        "forward",
        "tensors",
        "attrs",
        "rules",
        "outputs",
        "differentiable",
        "many",
        "variadic",
        "view",
        "on_tensors",
        "plans",
        "nothing",
        "listed",
    )
    #: whether chains of such operations may run block by block
    elementwise = False

    def __init__(
        self,
        grad_fn: str,
        forward: Callable[..., Any],
        tensors: str,
        attrs: str = "",
        /,
        *,
        outputs: str = "",
        differentiable: int = 1,
        variadic: bool = False,
        view: bool = False,
        on_tensors: bool = False,
        full_name: str = "",
        **rules: Rule | None,
    ) -> None:
        self.grad_fn = grad_fn
        self.full_name = full_name or grad_fn
        self.forward = forward
        self.tensors = tuple(tensors.split())
        self.attrs = tuple(attrs.split())
        #: names of several outputs; the first `differentiable` of them have gradients ("*": a list of any length)
        self.outputs = tuple(outputs.split())
        self.differentiable = differentiable
        self.many = differentiable > 1
        self.variadic = variadic
        self.view = view
        #: the rules run on tensors always (with recording off where no graph is wanted)
        self.on_tensors = on_tensors
        self.plans: dict[int, _Plan] = {}
        self.nothing = [None] * len(self.tensors)
        if set(rules) != set(self.tensors):
            raise InternalFault(f"{grad_fn}: rules are for {sorted(rules)}, tensor arguments are {sorted(self.tensors)}")
        self.rules = rules
        #: the edges that PyTorch has too: it gives none to arguments without derivative
        self.listed = tuple(i for i, t in enumerate(self.tensors) if rules[t] is not None)
        known = {"xp", "grad", "grads", "out", "outs", *self.tensors, *self.attrs, *self.outputs}
        known |= {f"{t}_shape" for t in self.tensors} | {f"{t}_dtype" for t in self.tensors}
        for name, rule in rules.items():
            unknown = set() if rule is None else set(rule.parameters) - known
            if unknown:
                raise InternalFault(f"{grad_fn}: the rule for {name} takes unknown {sorted(unknown)}")

    def __repr__(self) -> str:
        return f"<Op {self.grad_fn}>"

    def __call__(self, *args: Any) -> Any:
        if self.variadic:
            inputs: Sequence[Any] = args[0]
            attrs = args[1:]
            result = self.forward([t.array for t in inputs], *attrs)
        else:
            n = len(self.tensors)
            inputs = args[:n]
            attrs = args[n:]
            result = self.forward(*[t.array if type(t) is Tensor else t for t in inputs], *attrs)
        if self.outputs:
            return self._several(result, inputs, attrs)
        out = self._wrap(result, inputs)
        if self.view:
            self._mark_view(out, inputs[0])
        if state.enabled:
            self.record(out, inputs, attrs)
        return out

    def _wrap(self, result: Any, inputs: Sequence[Any]) -> Tensor:
        array: Array = result if type(result) is np.ndarray else np.asarray(result)
        for t in inputs:
            if type(t) is Tensor and t.dtype.np is array.dtype:
                dtype = t.dtype
                if dtype is dtypes.bfloat16 and not self.view:
                    array = dtypes.round_bfloat16(array)
                break
        else:
            dtype = dtypes.of(array.dtype)
        out = Tensor(array, dtype)
        if state.inference:
            out.meta = {"inference": True}
        return out

    def _several(self, results: Sequence[Any], inputs: Sequence[Any], attrs: tuple[Any, ...]) -> tuple[Tensor, ...]:
        outs = tuple(self._wrap(r, inputs) for r in results)
        if self.view:
            for out in outs:
                self._mark_view(out, inputs[0], "multi")
        if state.enabled:
            self.record(outs[0], inputs, attrs, outs)
        return outs

    def record(self, out: Tensor, inputs: Sequence[Any], attrs: tuple[Any, ...], outs: tuple[Tensor, ...] = ()) -> None:
        """Make the node of `out` (of all `outs`), if an input needs gradients."""
        mask = 0
        bit = 1
        edges: list[Edge] = []
        for t in inputs:
            if type(t) is Tensor and t.requires_grad:
                mask |= bit
                edges.append(t.edge())
            else:
                edges.append(NO_EDGE)
            if not self.variadic:
                bit += bit
        if mask:
            self._link(out, inputs, attrs, tuple(edges), mask, outs)

    def _link(
        self,
        out: Tensor,
        inputs: Sequence[Any],
        attrs: tuple[Any, ...],
        edges: tuple[Edge, ...],
        mask: int,
        outs: tuple[Tensor, ...] = (),
    ) -> None:
        """Make the node; `mask` has a bit for each input that needs gradients."""
        plan = self.plans.get(mask)
        if plan is None:
            plan = self.plans[mask] = _Plan(self, mask)
        if not plan.calls or not (out.dtype.is_floating_point or self.many):
            return
        node = OpNode(self, edges, out.array.shape, out.dtype, plan, attrs)
        if plan.keep:
            self._keep(node, plan, inputs)
        if plan.keep_out:
            node.kept_out = [Saved(o, k) for k, o in enumerate(outs or (out,))]
        out.node = node
        out.requires_grad = True
        if self.many:
            node.outputs = tuple((o.array.shape, o.dtype) for o in outs)
            for number, o in enumerate(outs[: self.differentiable]):
                o.node = node
                o.output_nr = number
                o.requires_grad = True
        if state.watch is not None:
            state.watch.append((node, outs[: self.differentiable] or (out,)))

    def _keep(self, node: OpNode, plan: _Plan, inputs: Sequence[Any]) -> None:
        if self.variadic:
            saved = list(inputs)
        else:
            saved = [None] * len(inputs)
            for i in plan.keep:
                saved[i] = inputs[i]
        node.saved = saved
        for value in saved:
            if type(value) is Tensor and value.version is not None and value.version.count:
                node.versions = [v.version_number if type(v) is Tensor else 0 for v in saved]
                return

    def _mark_view(self, out: Tensor, source: Tensor, creation: str = "default") -> None:
        mark_view(out, source, self.grad_fn, creation)


def mark_view(out: Tensor, source: Tensor, grad_fn: str, creation: str = "default") -> None:
    """Make `out` a differentiable view of `source`: one version counter, one base."""
    version = source.counter()
    out.version = version
    if not state.enabled:
        creation = "inference" if state.inference else "no_grad"
    if state.inference or source.meta is not None:
        # a view belongs to inference mode exactly where what it looks at does
        out.meta = {"inference": True} if source.property_of("inference") else None
    base = source if source.view is None else source.view.base
    if source.view is not None and creation == "default":
        creation = source.view.creation
    out.view = View(base, version.count, creation, short_name(grad_fn))
    if not state.enabled and base.requires_grad and out.dtype.is_floating_point:
        out.requires_grad = True  # PyTorch says so of views that were made without recording, though they have no grad_fn
    if not base.requires_grad:
        import weakref

        if len(version.views) > 32:
            version.views = [r for r in version.views if r() is not None]
        version.views.append(weakref.ref(out))


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


def broadcast_error(a: tuple[int, ...], b: tuple[int, ...]) -> ProgramError:
    """PyTorch's error for shapes that do not broadcast; dimensions are compared from the last."""
    rank = max(len(a), len(b))
    for back in range(1, rank + 1):
        x = a[-back] if back <= len(a) else 1
        y = b[-back] if back <= len(b) else 1
        if x != y and x != 1 and y != 1:
            return ProgramError(
                "RuntimeError",
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {rank - back}",
            )
    raise InternalFault(f"shapes {a} and {b} do broadcast")


class Pointwise(Op):
    """An elementwise operation with broadcasting, promotion and Python numbers as operands.

    `kind` says what dtype comes out: "arithmetic" the promoted one, "float" the promoted one with integers made
    floating first, "compare" bool.
    """

    __slots__ = ("kind",)
    elementwise = True

    def __init__(
        self, grad_fn: str, forward: Callable[..., Any], tensors: str, attrs: str = "", /, *, kind: str = "arithmetic", **more: Any
    ) -> None:
        super().__init__(grad_fn, forward, tensors, attrs, **more)
        self.kind = kind

    def __call__(self, *args: Any) -> Tensor:
        n = len(self.tensors)
        if n == 2:
            return self._binary(*args)
        attrs = args[n:]
        if n == 1:
            a = args[0]
            dtype = a.dtype
            x = a.array
            if self.kind == "float" and not dtype.is_floating_point:
                dtype = dtypes.get_default()
                x = x.astype(dtype.np)
            if x.size >= blocks.threshold:
                x = blocks.defer(x)
            out = self._made(self.forward(x, *attrs), dtype)
            if a.requires_grad and state.enabled:
                self._link(out, (a,), attrs, (a.edge(),), 1)
            return out
        operands = args[:n]
        dtype, arrays = self._promoted(operands)
        try:
            result = self.forward(*arrays, *attrs)
        except ValueError:
            raise self._mismatch(arrays) from None
        out = self._made(result, dtype)
        if state.enabled:
            self.record(out, operands, attrs)
        return out

    def _made(self, result: Any, dtype: DType) -> Tensor:
        """The result as a tensor of the dtype that promotion or the kind asks for."""
        if self.kind == "compare":
            dtype = dtypes.bool_
        array: Any = result if type(result) is np.ndarray or type(result) is blocks.Deferred else np.asarray(result)
        if array.dtype is not dtype.np:
            array = array.astype(dtype.np)
        if dtype is dtypes.bfloat16:
            array = dtypes.round_bfloat16(array)
        out = Tensor(array, dtype)
        if state.inference:
            out.meta = {"inference": True}
        return out

    def _binary(self, a: Any, b: Any, *attrs: Any) -> Tensor:
        """Two operands, tensors or numbers; written out since every script spends most of its time here."""
        of_a, of_b = type(a), type(b)
        x: Any
        y: Any
        if of_a is Tensor and of_b is Tensor and a.dtype is b.dtype and a.dtype.is_floating_point:
            dtype = a.dtype
            x = a.array
            y = b.array
            if x.shape != y.shape:
                check_broadcast(x, y)
        elif of_a is Tensor and (of_b is float or of_b is int) and a.dtype.is_floating_point:
            dtype = a.dtype
            x = a.array
            y = b
        else:
            dtype, (x, y) = self._promoted((a, b))
        if x.size >= blocks.threshold:
            x = blocks.defer(x)
        elif of_b is Tensor and y.size >= blocks.threshold:
            y = blocks.defer(y)
        try:
            result = self.forward(x, y, *attrs)
        except ValueError:
            raise self._mismatch([x, y]) from None
        out = self._made(result, dtype)
        if state.enabled:
            mask = 0
            left = right = NO_EDGE
            if of_a is Tensor and a.requires_grad:
                mask = 1
                left = a.edge()
            if of_b is Tensor and b.requires_grad:
                mask |= 2
                right = b.edge()
            if mask:
                self._link(out, (a, b), attrs, (left, right), mask)
        return out

    def _promoted(self, operands: tuple[Any, ...]) -> tuple[DType, list[Any]]:
        dtype = dtypes.result_type(operands)
        if self.kind == "float" and not dtype.is_floating_point:
            dtype = dtypes.get_default()
        storage = dtype.np
        arrays: list[Any] = []
        first: Array | None = None
        for t in operands:
            if type(t) is Tensor:
                array = t.array if t.array.dtype is storage else t.array.astype(storage)
                if first is not None and first.shape != array.shape:
                    check_broadcast(first, array)
                first = array
            else:
                try:
                    array = np.array(t, storage)
                except OverflowError:
                    raise ProgramError("RuntimeError", f"value cannot be converted to type {dtype.c_name} without overflow") from None
            arrays.append(array)
        return dtype, arrays

    @staticmethod
    def _mismatch(arrays: list[Any]) -> Exception:
        shapes = [a.shape for a in arrays if not isinstance(a, (int, float))]
        shape: tuple[int, ...] = shapes[0]
        for other in shapes[1:]:
            try:
                shape = np.broadcast_shapes(shape, other)
            except ValueError:
                return broadcast_error(shape, other)
        return InternalFault(f"forward failed for shapes {shapes}")


def check_broadcast(x: Array, y: Array) -> None:
    """Refuse a broadcast whose result would be over the bounds, before it is computed; raise PyTorch's mismatch error."""
    if x.size * y.size > 1 << 16:
        try:
            shape = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            raise broadcast_error(x.shape, y.shape) from None
        count = 1
        for size in shape:
            count *= size
        limits.check_elements(count, x.itemsize)
