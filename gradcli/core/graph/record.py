"""The operation record: forward, derivative per argument name, literal `grad_fn` name, formula. Declared once each.

A rule is written once for numbers and for tensors: its parameters are chosen by name among

    xp            numpy-like namespace: `numeric` on arrays, `traced` on tensors (under create_graph)
    grad          gradient of the output (`grads`, a list with None for unused outputs, when there are several)
    out           the output (`outs` when there are several)
    <argument>    an input tensor, or a plain argument of the call
    attrs         all plain arguments, in order
    <argument>_shape, <argument>_dtype   of an input, without keeping its data

Only what the rules of the inputs that need gradients name is kept by a node. Rules may return a gradient in the
output's broadcast shape: the engine undoes broadcasting, once.
"""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from gradcli.core.graph.op_node import OpNode, Plan, short_name
from gradcli.core.graph.saved_arrays import Saved
from gradcli.core.graph.saved_values import Place
from gradcli.core.kernels import Array, memory_format
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import NO_EDGE, Edge, inference_saved, message_name
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, View
from gradcli.errors import Code, InternalFault, ProgramError, runtime_error

np.seterr(all="ignore")  # torch computes nan and inf silently
# no imaginary part is lost in silence: `dtypes.cast` says where it goes
warnings.filterwarnings("error", category=np.exceptions.ComplexWarning)


class Provided:
    """What records need of the modules above this one. `gradcli.core` provides it."""

    __slots__ = ("complex_node",)

    #: the class of nodes with a complex output, loaded with the first one
    complex_node: Callable[[], type[OpNode]]


provided = Provided()

#: marks an argument without derivative
NONDIFF = None

#: The tangent of an operation's output, from the traced namespace, the inputs, the plain arguments, the tangents of the inputs
#: (None for zero) and the output; the tangents of the outputs from all outputs, where there are several.
JvpRule = Callable[[Any, Sequence[Any], tuple[Any, ...], Sequence[Tensor | None], Any], Tensor | tuple[Tensor, ...] | None]
#: How forward mode finds tangents without a `JvpRule`. "elementwise": an element of the output depends on one element of each input,
#: so that the rule of an input is applied to its tangent. "backward": the same, of a derivative whose first input is the gradient:
#: where that has no tangent, it has the tangent 0. "linear": the operation is applied to the tangents, if the rules that are
#: needed show that it is linear. "transpose": the derivative of the rules with respect to `grad` is applied to the tangents; used
#: where "linear" does not hold, too.
Jvp = JvpRule | Literal["elementwise", "backward", "linear", "transpose"]


#: What a record does with complex tensors. None: it refuses them. A function computes in place of `forward`, and `True` stands for
#: `forward` itself; another record takes the call over.
OnComplex = bool | Callable[..., Any] | None


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


class Op:
    """One differentiable primitive, with one `grad_fn` name. Calling it on tensors computes and records.

    `tensors` and `attrs` name the arguments: tensors first, then plain ones. `forward` takes them in that order with
    arrays for tensors and returns an array, or a tuple of arrays if `outputs` names several. A variadic operation has
    one name in `tensors`, for the list that is its first argument. A node calls the rules in the order in which
    they are given. `layout` is the memory format of the outputs; without it they are as `forward` makes them.

    Of a record with a complex output the rules get the conjugates of the values that they read. A rule of a holomorphic function so
    multiplies `grad` by the conjugate of the derivative, which is PyTorch's convention, without a word about it. `wirtinger` records
    have rules that are written for complex numbers and get the values as they are.
    """

    __slots__ = (
        *("complex", "wirtinger", "real_part", "grad_fn", "full_name", "forward", "in_half", "tensors", "attrs", "rules", "outputs"),
        *("differentiable", "many", "variadic", "view", "on_tensors", "jvp", "plans", "nothing", "listed", "saved", "computed"),
        "places",
        "joined",
    )
    #: whether chains of such operations may run block by block
    elementwise = False
    #: gives the result from the sum of all elements and their number, where it depends on nothing else
    of_total: Callable[[Any, int], Any] | None = None
    #: the class of the nodes
    node_type: type[OpNode] = OpNode
    #: the `jvp` of a record that declares none
    default_jvp: Jvp = "linear"

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
        jvp: Jvp | None = None,
        saved: str | None = None,
        computed: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
        layout: memory_format.Layout | None = None,
        in_half: Callable[..., Any] | None = None,
        complex: OnComplex = None,
        wirtinger: bool = False,
        real_part: bool = True,
        joined: bool = False,
        **rules: Rule | None,
    ) -> None:
        self.complex = forward if complex is True or (view and complex is None) else complex
        self.wirtinger = wirtinger
        #: whether a real input has the real part of a complex gradient; PyTorch's formulas that do not take it meet an error of its engine
        self.real_part = real_part
        self.grad_fn = grad_fn
        self.full_name = full_name or grad_fn
        self.forward = forward if layout is None else memory_format.keeping(layout, forward)
        #: computes the results in half precision: the first argument is the dtype, the others are those of `forward`
        self.in_half = in_half if layout is None or in_half is None else _in_half_keeping(layout, in_half)
        self.tensors = tuple(tensors.split())
        self.attrs = tuple(attrs.split())
        #: names of several outputs; the first `differentiable` of them have gradients ("*": a list of any length)
        self.outputs = tuple(outputs.split())
        self.differentiable = differentiable
        self.many = differentiable > 1
        self.variadic = variadic
        self.view = view
        #: whether recorded gradients of its inputs have one node, as the results of one function
        self.joined = joined
        #: the rules run on tensors always (with recording off where no graph is wanted)
        self.on_tensors = on_tensors
        self.jvp = self.default_jvp if jvp is None else jvp
        self.plans: dict[int, Plan] = {}
        #: PyTorch's names of what a node saves, where they do not follow from the rules, and where each is found
        self.saved = saved
        #: functions, of the arrays of inputs and the plain arguments, for tensors that PyTorch's node saves and this one does without
        self.computed = computed
        self.places: dict[str, Place] | None = None
        self.nothing = [None] * len(self.tensors)
        if set(rules) != set(self.tensors):
            raise InternalFault(f"{grad_fn}: rules are for {sorted(rules)}, tensor arguments are {sorted(self.tensors)}")
        self.rules = rules
        #: the edges that PyTorch has too: it gives none to arguments without derivative
        self.listed = tuple(i for i, t in enumerate(self.tensors) if rules[t] is not None)
        known = {"xp", "grad", "grads", "out", "outs", "attrs", *self.tensors, *self.attrs, *self.outputs}
        known |= {f"{t}_shape" for t in self.tensors} | {f"{t}_dtype" for t in self.tensors}
        for name, rule in rules.items():
            unknown = set() if rule is None else set(rule.parameters) - known
            if unknown:
                raise InternalFault(f"{grad_fn}: the rule for {name} takes unknown {sorted(unknown)}")

    def __repr__(self) -> str:
        return f"<Op {self.grad_fn}>"

    def __call__(self, *args: Any) -> Any:
        if state.mapped and (made := state.mapped[-1].on_batch(self, args)) is not None:
            return made
        if self.variadic:
            inputs: Sequence[Any] = args[0]
            attrs = args[1:]
            result = self.forward([t.array for t in inputs], *attrs)
        else:
            n = len(self.tensors)
            inputs = args[:n]
            attrs = args[n:]
            forward = self.forward if self.in_half is None else self._forward(inputs[0].dtype)
            result = forward(*[t.array if type(t) is Tensor else t for t in inputs], *attrs)
        if self.outputs:
            return self._several(result, inputs, attrs)
        out = self._wrap(result, inputs)
        if self.view:
            if not out.array.size:
                out.array = self.forward(memory_format.spelled_out(inputs[0].array), *attrs)
            self._mark_view(out, inputs[0])
        if state.enabled:
            self.record(out, inputs, attrs)
        if state.dual is not None:
            state.dual.push(self, inputs, attrs, (out,))
        return out

    def _forward(self, dtype: DType) -> Callable[..., Any]:
        """What computes a record that has a function for half precision."""
        in_half = self.in_half if dtype is dtypes.float16 or dtype is dtypes.bfloat16 else None
        return self.forward if in_half is None else partial(in_half, dtype)

    def kept_attrs(self, attrs: tuple[Any, ...], outs: Sequence[Tensor]) -> tuple[Any, ...]:
        """The plain arguments that the node of a batched call keeps."""
        return attrs

    def _wrap(self, result: Any, inputs: Sequence[Any]) -> Tensor:
        array: Array = result if type(result) is np.ndarray else np.asarray(result)
        for t in inputs:
            if type(t) is Tensor and t.dtype.np is array.dtype:
                dtype = t.dtype
                if dtype.is_special and not self.view:
                    array = self._special(array, dtype)
                break
        else:
            dtype = dtypes.of(array.dtype)
            if self.complex is None:
                self.check_real(inputs)
        out = Tensor(array, dtype)
        if state.inference:
            out.meta = {"inference": True}
        return out

    def _special(self, array: Array, dtype: DType) -> Array:
        """A result rounded to bfloat16; a complex one as it is, if the record is for complex tensors."""
        if dtype is dtypes.bfloat16:
            return dtypes.round_bfloat16(array)
        if self.complex is None:
            raise self.no_complex(dtype)
        return array

    def check_real(self, inputs: Sequence[Any]) -> None:
        """Refuse complex tensors. Raises RuntimeError."""
        for t in inputs:
            if type(t) is Tensor and t.dtype.is_complex:
                raise self.no_complex(t.dtype)

    def no_complex(self, dtype: DType) -> ProgramError:
        """The error for a complex tensor where the record is for real ones."""
        from gradcli.core.calling import complex_refusals  # most tensors are real

        return complex_refusals.refusal(short_name(self.grad_fn).lower(), dtype)

    def _several(self, results: Sequence[Any], inputs: Sequence[Any], attrs: tuple[Any, ...]) -> tuple[Tensor, ...]:
        if self.view and not inputs[0].array.size:
            results = self.forward(memory_format.spelled_out(inputs[0].array), *attrs)
        outs = tuple(self._wrap(r, inputs) for r in results)
        if self.view:
            for out in outs:
                self._mark_view(out, inputs[0], "multi")
        if state.enabled:
            self.record(outs[0], inputs, attrs, outs)
        if state.dual is not None:
            state.dual.push(self, inputs, attrs, outs)
        return outs

    def record(
        self, out: Tensor, inputs: Sequence[Any], attrs: tuple[Any, ...], outs: tuple[Tensor, ...] = (), own: Sequence[Any] | None = None
    ) -> None:
        """Make the node of `out` (of all `outs`), if an input needs gradients. `own` has None for inputs that do not count."""
        mask = 0
        bit = 1
        edges: list[Edge] = []
        for t in inputs if own is None else own:
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
        """Make the node; `mask` has a bit for each input that needs gradients. Views of inference tensors have no history."""
        if self.view and inputs[0].meta is not None and inputs[0].property_of("inference"):
            return
        plan = self.plans.get(mask)
        if plan is None:
            plan = self.plans[mask] = Plan(self, mask)
        kind = self.node_type
        if not plan.calls or not out.dtype.is_floating_point:
            if not plan.calls or not (out.dtype.is_complex or self.many):
                return
            if out.dtype.is_complex and not self.wirtinger:
                kind = provided.complex_node()
        node = kind(self, edges, out.array.shape, out.dtype, plan, attrs)
        if plan.keep:
            self._keep(node, plan, inputs)
        if plan.keep_out:
            node.kept_out = [Saved(o, k) for k, o in enumerate(outs or (out,))]
        out.node = node
        out.requires_grad = True
        if self.many:
            node.plain = False
            node.outputs = tuple((o.array.shape, o.dtype) for o in outs)
            for number, o in enumerate(outs[: self.differentiable]):
                o.node = node
                o.output_nr = number
                o.requires_grad = True
        if state.observed:
            self._observed(node, outs or (out,))

    def _observed(self, node: OpNode, outs: tuple[Tensor, ...]) -> None:
        """Add a new node to `state.watch`, and let hooks pack what it keeps."""
        if state.watch is not None:
            state.watch.append((node, outs[: self.differentiable]))
        if state.saving is not None:
            state.saving.pack(node, outs)

    def _keep(self, node: OpNode, plan: Plan, inputs: Sequence[Any]) -> None:
        if self.variadic:
            saved = list(inputs)
        else:
            saved = [None] * len(inputs)
            for i in plan.keep:
                saved[i] = inputs[i]
        node.saved = saved
        for value in saved:
            if type(value) is not Tensor:
                continue
            if value.meta is not None and value.property_of("inference"):
                raise inference_saved()
            if value.version is not None and value.version.count:
                node.versions = [v.version_number if type(v) is Tensor else 0 for v in saved]

    def check_saved(self, inputs: Sequence[Any]) -> None:
        """Raise RuntimeError for an inference tensor that would be saved, which PyTorch finds before it looks at shapes."""
        mask = sum(1 << i for i, t in enumerate(inputs) if type(t) is Tensor and t.requires_grad)
        if not state.enabled or not mask:
            return
        for i in (self.plans.get(mask) or Plan(self, mask)).keep:
            if type(inputs[i]) is Tensor and inputs[i].property_of("inference"):
                raise inference_saved()

    def _mark_view(self, out: Tensor, source: Tensor, creation: str = "default") -> None:
        mark_view(out, source, self.grad_fn, creation)


def _in_half_keeping(layout: memory_format.Layout, forward: Callable[..., Any]) -> Callable[..., Any]:
    """`forward`, whose first argument is the dtype, with its results in a memory format."""
    return lambda dtype, *args: memory_format.keeping(layout, partial(forward, dtype))(*args)


def mark_view(out: Tensor, source: Tensor, grad_fn: str, creation: str = "default") -> None:
    """Make `out` a differentiable view of `source`: one version counter, one base."""
    version = source.counter()
    out.version = version
    if not state.enabled:
        creation = "inference" if state.inference else "no_grad"
    if state.inference or source.meta is not None or state.within is not None:
        # a view is an inference tensor exactly if its base is one, and a conjugate or negative as its source
        out.inherit(source, "inference", "conj", "neg")
    base = source if source.view is None else source.view.base
    if source.view is not None and creation == "default":
        creation = source.view.creation
    out.view = View(base, version.count, creation, message_name(grad_fn))
    if source.view is not None and source.view.steps:
        out.view.steps = (*source.view.steps, (None, out.array))
    if not state.enabled and base.requires_grad and out.dtype.is_differentiable and not out.property_of("inference"):
        out.requires_grad = True  # as PyTorch says of a view made without recording, though it has no grad_fn
    if not base.requires_grad:
        size = len(version.views)
        if size >= 32 and not size & (size - 1):  # at powers of two, so that many living views take linear time
            version.views = [r for r in version.views if r() is not None]
        version.views.append(weakref.ref(out))


_NO_FORWARD_AD = (
    "Trying to use forward AD with {} that does not support it because it has not been implemented yet.\nPlease file an issue to PyTorch "
    "at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can prioritize its implementation or submit "
    "a PR adding the implementation to derivatives.yaml"
)


def no_forward_derivative(name: str) -> ProgramError:
    """PyTorch's error for the tangent of an operation without a forward derivative. In-place forms, whose names end with `_`, say less."""
    text = _NO_FORWARD_AD.format(name)
    return ProgramError("NotImplementedError", text.partition(" or submit")[0] + "." if name.endswith("_") else text)


def without_jvp(name: str) -> JvpRule:
    """The `jvp` of an operation that PyTorch calls `name` and has no forward derivative for: it raises PyTorch's error."""

    def refuse(*_: Any) -> Tensor:
        raise no_forward_derivative(name)

    return refuse


def no_derivative(name: str) -> ProgramError:
    """PyTorch's error for the derivative of an operation, such as `aten::heaviside`, that has none."""
    return runtime_error(f"derivative for {name} is not implemented", Code.NO_DERIVATIVE, names=(name,))


def check_strides(shape: Sequence[int]) -> None:
    """Raise RuntimeError for strides of more than 63 bits: PyTorch counts elements, numpy bytes, at most 16 of them for an element."""
    extent = math.prod(n or 1 for n in shape)
    if extent >= 1 << 63:
        raise runtime_error("Stride calculation overflowed")
    if extent >= 1 << 59:
        raise runtime_error(f"a tensor of shape {list(shape)} has strides in bytes of more than 63 bits: it is not part of gradcli")


def broadcast_error(a: tuple[int, ...], b: tuple[int, ...]) -> ProgramError:
    """PyTorch's error for shapes that do not broadcast; dimensions are compared from the last."""
    rank = max(len(a), len(b))
    for back in range(1, rank + 1):
        x = a[-back] if back <= len(a) else 1
        y = b[-back] if back <= len(b) else 1
        if x != y and x != 1 and y != 1:
            return runtime_error(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {rank - back}",
                code=Code.BROADCAST,
            )
    raise InternalFault(f"shapes {a} and {b} do broadcast")
