"""The tangents of an operation's outputs from those of its inputs: the product of its Jacobian with a vector.

They come from the operation record. A record may declare a formula (`jvp`). An elementwise operation has a diagonal Jacobian, so
that the rule of an input, applied to its tangent, gives the product. A linear operation is applied to the tangents. For all
others the rule is transposed: it is linear in the gradient, and its derivative with respect to the gradient, applied to the
tangent, gives J t. The forward pass is not run again: rules that need the output get the output that there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.core.graph.conjugate import conj_copy
from gradcli.core.graph.namespaces import as_tensor, traced
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.record import Op
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.batched import innermost
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.transforms.jacobians import vjp
from gradcli.errors import Code, ProgramError

Tangents = list[Tensor | None]
#: the operations whose tangents have the dtype that the formula gives, whatever that of the result is
_OWN_DTYPE = ("BinaryCrossEntropyWithLogitsBackward0", "NextafterBackward0", "ProdBackward0", "ProdBackward1")


def tangents(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], given: Tangents, outs: Sequence[Tensor]) -> Tangents:
    """The tangents of the differentiable outputs, from `given`, those of the inputs. Empty where no derivative passes.

    Raises PyTorch's NotImplementedError where the operation has no forward derivative.
    """
    rules = [op.rules[op.tensors[0]]] * len(inputs) if op.variadic else [op.rules[name] for name in op.tensors]
    moving = [i for i, (tangent, rule) in enumerate(zip(given, rules, strict=True)) if tangent is not None and rule is not None]
    results = outs[: op.differentiable]
    if not moving or not results[0].dtype.is_differentiable:
        return []
    try:
        found = _pushed(op, inputs, attrs, given, moving, outs)
    except ProgramError as error:
        if error.code is Code.NO_DERIVATIVE:
            name = error.names[0]
            raise ProgramError("NotImplementedError", f"Trying to use forward AD with {name} that does not support it.") from None
        raise
    return [t if t is None or op.grad_fn in _OWN_DTYPE else _like(t, out) for t, out in zip(found, results, strict=False)]


def _pushed(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], given: Tangents, moving: list[int], outs: Sequence[Tensor]) -> Tangents:
    """The tangents by the way that the record says, in the dtype and shape in which they come."""
    if callable(op.jvp):
        args = (traced, inputs, attrs, given, outs if op.outputs else outs[0])
        try:
            return _results(op.jvp(*args))
        except ProgramError as error:
            if error.code is not Code.NEEDS_SAMPLES:
                raise
            return _results(state.mapped[-1].by_samples(op.jvp, args, error))
    if op.jvp == "backward" and given[0] is None:  # its product is added: a derivative -0 becomes 0
        given, moving = [traced.zeros_like(inputs[0]), *given[1:]], [0, *moving]
    if op.jvp in ("elementwise", "backward"):
        return [_elementwise(op, inputs, attrs, given, moving, outs)]
    if op.variadic:
        return [op([_or_zeros(t, v) for t, v in zip(given, inputs, strict=True)], *attrs)]
    if op.jvp == "linear" and _is_linear(op, moving):
        return _linear(op, inputs, attrs, given)
    return _transposed(op, inputs, attrs, given, moving, outs)


def _or_zeros(tangent: Tensor | None, value: Any) -> Tensor:
    if tangent is not None:
        return tangent
    return traced.zeros_like(value) if type(value) is Tensor else as_tensor(0.0)


#: the operations that PyTorch has for two tensors alone
_OF_TENSORS = ("AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0")


def widened(op: Op, inputs: Sequence[Any], given: Tangents, outs: Sequence[Tensor]) -> Tangents:
    """The tangents of the inputs, in double precision where torch.func takes a number beside a 0-d tensor for such a tensor."""
    number = any(type(value) is float for value in inputs)
    if not number or op.grad_fn not in _OF_TENSORS or outs[0].array.ndim or not outs[0].dtype.is_floating_point:
        return given
    return [None if tangent is None else traced.cast(tangent, dtypes.float64) for tangent in given]


def _is_wider(tangent: Tensor, out: Tensor) -> bool:
    """Whether the tangent of a 0-d output, or one with dimensions, has come in a wider dtype than the output, which it keeps."""
    wide = tangent.dtype is dtypes.float64 is not out.dtype and out.dtype.is_floating_point
    return wide and (tangent.array.ndim > 0 or not out.array.ndim)


def _like(tangent: Tensor, out: Tensor, exactly: bool = False) -> Tensor:
    """A tangent in the shape and dtype of the output."""
    if tangent.dtype is not out.dtype and (exactly or not _is_wider(tangent, out)):
        tangent = traced.cast(tangent, out.dtype)
    return tangent if tangent.array.shape == out.array.shape else traced.broadcast_to(tangent, out.array.shape)


def _same(value: Tensor) -> Tensor:
    return value


def _elementwise(
    op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], given: Tangents, moving: list[int], outs: Sequence[Tensor]
) -> Tensor:
    """The rule of each input, applied to its tangent, added up."""
    node = _node(op, inputs, attrs, moving, outs)
    # a complex node multiplies by the conjugate of the derivative
    turned = conj_copy if outs[0].dtype.is_complex and not op.wirtinger else _same
    total: Any = None
    for i in moving:
        tangent = given[i]
        assert tangent is not None
        wanted = [k == i for k in range(len(inputs))]
        part = turned(as_tensor(node.gradients([turned(_like(tangent, outs[0]))], True, wanted)[i]))
        total = part if total is None else total + part
    made: Tensor = total
    return made


def _is_linear(op: Op, moving: list[int]) -> bool:
    """Whether the rules of the inputs that move name neither these inputs nor an output."""
    for i in moving:
        rule = op.rules[op.tensors[i]]
        if rule is not None and {op.tensors[i], "out", "outs", *op.outputs} & set(rule.parameters):
            return False
    return True


def _linear(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], given: Tangents) -> Tangents:
    """The operation applied to the tangents: to all of them at once if it adds its inputs up, else to each with its factors."""
    factors = [_factors(op, name) for name in op.tensors]
    for tangent, value in zip(given, inputs, strict=True):
        if tangent is not None and _is_wider(tangent, value):  # what is reduced in the dtype of the input
            attrs = tuple(tangent.dtype if attr is value.dtype else attr for attr in attrs)
    if not any(factors):
        return _results(op(*[_or_zeros(t, v) for t, v in zip(given, inputs, strict=True)], *attrs))
    total: Tangents = []
    for i, names in enumerate(factors):
        if op.rules[op.tensors[i]] is None or type(inputs[i]) is not Tensor or (given[i] is None and not _is_linear(op, [i])):
            continue
        operands = [
            _or_zeros(given[k], inputs[k])
            if k == i
            else inputs[k]
            if name in names or op.rules[name] is None
            else traced.zeros_like(inputs[k])
            for k, name in enumerate(op.tensors)
        ]
        part = _results(op(*operands, *attrs))
        total = part if not total else [a + b for a, b in zip(total, part, strict=True)]  # type: ignore[operator]
    return total


def _factors(op: Op, name: str) -> set[str]:
    """The other inputs that the rule of an input names."""
    rule = op.rules[name]
    return set() if rule is None else set(rule.parameters) & set(op.tensors)


def _results(made: Any) -> Tangents:
    return list(made) if isinstance(made, tuple) else [made]


def _transposed(
    op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], given: Tangents, moving: list[int], outs: Sequence[Tensor]
) -> Tangents:
    """The derivative of the rules with respect to the gradients of the outputs, applied to the tangents."""
    graph, results = state.enabled, outs[: op.differentiable]
    node = _node(op, inputs, attrs, moving, outs)
    probes = [traced.ones_like(out) for out in results]  # the rules are linear in them: any values will do
    if (level := innermost((*inputs, *attrs))) is not None:
        probes = [level.lift(probe) for probe in probes]
    for probe in probes:
        probe.requires_grad = True
    with recording(True):
        wanted = [i in moving for i in range(len(inputs))]
        others = [None] * (len(node.outputs or probes) - len(probes))  # outputs without a derivative
        back = node.gradients([*probes, *others], True, wanted)
        pulled = [None if back[i] is None else _reduced(as_tensor(back[i]), inputs[i].array.shape) for i in moving]
    directions = [t if t is None or p is None else _like(t, p, True) for t, p in zip((given[i] for i in moving), pulled, strict=True)]
    needed = graph and any(_has_history(t) for t in (*directions, *inputs) if type(t) is Tensor)
    pushed = vjp(pulled, probes, directions, create_graph=needed)
    if any(isinstance(a, str) and a == "mean" for a in attrs) and not inputs[0].array.size:  # a mean of nothing is nan, its tangent too
        return [traced.zeros_like(out) * out for out in results]
    found = [traced.zeros_like(out) if t is None else t for t, out in zip(pushed, results, strict=True)]
    wide = [t for i in moving if (t := given[i]) is not None and _is_wider(t, inputs[i])]
    return [traced.cast(t, dtypes.float64) if any(_is_wider(w, t) for w in wide) else t for t in found]


def _has_history(tensor: Tensor) -> bool:
    """Whether a tensor requires grad, or one does that it is the batched form of."""
    return tensor.requires_grad or (tensor.batch is not None and _has_history(tensor.batch.value))


def _reduced(gradient: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A gradient that a rule has returned, summed to the shape of its input."""
    return gradient if gradient.array.shape == shape else traced.sum_to(gradient, shape)


def _node(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], moving: list[int], outs: Sequence[Tensor]) -> OpNode:
    """A node of the operation that has a rule for each input that moves, and whose saved outputs are `outs` themselves.

    Hooks on saved tensors do not see this node: it belongs to no graph.
    """
    stand_ins: list[Tensor] = []
    operands = list(inputs)
    for i in moving:
        if not (operands[i].requires_grad and state.enabled):
            operands[i] = Tensor(operands[i].array, operands[i].dtype)
            operands[i].requires_grad = True
            stand_ins.append(operands[i])
    made = tuple(Tensor(out.array, out.dtype) for out in outs)
    observed, state.observed = state.observed, False
    try:
        with recording(True):
            op.record(made[0], operands, attrs, made if op.outputs else ())
    finally:
        state.observed = observed
    for stand_in in stand_ins:  # the node has its edges: no derivative is to reach the stand-ins
        stand_in.requires_grad = False
    node = made[0].node
    assert isinstance(node, OpNode)
    if node.kept_out is not None:
        count = op.differentiable
        node.kept_out = [*outs[:count], *node.kept_out[count:]]
    return node
