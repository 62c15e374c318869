"""The tangents of an operation's results from those of its operands: the product of its Jacobian with a vector.

No operation has a second derivative rule for this. An operation that acts on each element alone has a diagonal Jacobian, so
that its rule applied to the tangent is the product. One that is linear in an operand is applied to the tangent itself. For
all others the product comes from the rule, which is linear in the gradient: its derivative with respect to the gradient,
applied to the tangent, is J t.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.autograd import backward
from gradcli.core.functions import catalog
from gradcli.core.graph import namespaces
from gradcli.core.graph.grad_mode import recording
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.record import Op
from gradcli.core.ops.elementwise import arithmetic_records as arithmetic
from gradcli.core.ops.elementwise.where import Choice
from gradcli.core.ops.index.selection import Selection
from gradcli.core.ops.layers.softmax import LOG_SOFTMAX, SOFTMAX
from gradcli.core.ops.reduce import dimensions
from gradcli.core.ops.reduce.reduction import LOGSUMEXP
from gradcli.core.tensor.node import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.transforms.forward_ad_level import tangent_of, zeros_like
from gradcli.errors import ProgramError

Tangents = list[Tensor | None]

#: plain arguments that are added to the result, so that an operation with them is not linear
_CONSTANTS = frozenset({"value", "running_mean"})


def tangents(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], outs: Sequence[Tensor]) -> Tangents:
    """The tangents of the differentiable results, None where no operand with a tangent has a derivative."""
    given = [tangent_of(value) for value in inputs]
    rules = [op.rules[op.tensors[0]]] * len(inputs) if op.variadic else [op.rules[name] for name in op.tensors]
    moving = [i for i, (tangent, rule) in enumerate(zip(given, rules, strict=True)) if tangent is not None and rule is not None]
    results = outs[: op.differentiable]
    if not moving or not results[0].dtype.is_floating_point:
        return []
    if op.grad_fn in _WITHOUT:
        raise ProgramError("NotImplementedError", _NOT_YET.format(_WITHOUT[op.grad_fn]))
    try:
        found = _pushed(op, inputs, attrs, given, moving, results)
    except ProgramError as error:
        if error.message.startswith("derivative for ") and error.message.endswith(" is not implemented"):
            name = error.message.removeprefix("derivative for ").removesuffix(" is not implemented")
            raise ProgramError("NotImplementedError", f"Trying to use forward AD with {name} that does not support it.") from None
        raise
    return [t if t is None else _like(t, out) for t, out in zip(found, results, strict=False)]


#: operations for which PyTorch has no forward derivative, by the node's name
_WITHOUT = {"CdistBackward0": "_cdist_forward", "PdistBackward0": "_pdist_forward", "MultiMarginLossBackward0": "multi_margin_loss"}
_NOT_YET = (
    "Trying to use forward AD with {} that does not support it because it has not been implemented yet.\nPlease file an issue to PyTorch "
    "at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can prioritize its implementation or submit "
    "a PR adding the implementation to derivatives.yaml"
)


def _pushed(
    op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], given: Tangents, moving: list[int], results: Sequence[Tensor]
) -> Tangents:
    formula = _FORMULAS.get(op)
    if formula is not None:
        return [formula(inputs, attrs, given, results[0])]
    if op.elementwise or isinstance(op, Choice):
        return [_elementwise(op, inputs, attrs, given, moving, results[0])]
    if op.variadic:
        return [op([_or_zeros(t, v) for t, v in zip(given, inputs, strict=True)], *attrs)]
    if _is_linear(op, attrs, moving):
        return _linear(op, inputs, attrs, given)
    return _by_rule(op, inputs, attrs, given, moving, results)


def _or_zeros(tangent: Tensor | None, value: Any) -> Tensor:
    if tangent is not None:
        return tangent
    return zeros_like(value) if type(value) is Tensor else namespaces.as_tensor(0.0)


def _like(tangent: Tensor, out: Tensor) -> Tensor:
    """A tangent in the shape and dtype of the result."""
    if tangent.dtype is not out.dtype:
        tangent = namespaces.traced.cast(tangent, out.dtype)
    return tangent if tangent.array.shape == out.array.shape else namespaces.traced.broadcast_to(tangent, out.array.shape)


# --- formulas of their own: PyTorch's, in its order ---


def _nothing(like: Tensor) -> Tensor:
    """-0, which added changes no number: so that there is a step as PyTorch has it."""
    return Tensor(np.array(-0.0, like.dtype.np), like.dtype)


def _times(tangent: Tensor | None, factor: Any, like: Tensor) -> Tensor:
    """The product with a factor; of no tangent -0, with the factor's history where it has one."""
    if tangent is None:
        recorded = type(factor) is Tensor and factor.requires_grad and state.enabled
        return factor * -0.0 if recorded else _nothing(like)
    made: Tensor = tangent * factor
    return made


def _product(inputs: Sequence[Any], _: tuple[Any, ...], given: Tangents, out: Tensor) -> Any:
    (a, b), (a_t, b_t) = inputs, given
    return _times(b_t, a, out) + _times(a_t, b, out)


def _quotient(inputs: Sequence[Any], _: tuple[Any, ...], given: Tangents, out: Tensor) -> Any:
    a_t, b_t = given
    moved = 0.0 if b_t is None and not out.requires_grad else _times(b_t, out, out)
    return ((_nothing(out) if a_t is None else a_t) - moved) / inputs[1]


def _sum(inputs: Sequence[Any], _: tuple[Any, ...], given: Tangents, out: Tensor) -> Any:
    a_t, b_t = given
    return (_nothing(out) if a_t is None else a_t) + (_nothing(out) if b_t is None else b_t)


def _logsumexp(x: Any, tangent: Any, dim: Any, keepdim: bool) -> Any:
    """The sum of the tangent, weighted by the softmax."""
    total = catalog.function("sum")
    dim = dimensions.wrap_dims(dim if isinstance(dim, tuple) or dim is None else (dim,), x.array.ndim)
    top = x.array.max(dim, keepdims=True, initial=-np.inf)
    weights = catalog.function("exp")(x - Tensor(np.where(np.isfinite(top), top, 0).astype(x.dtype.np), x.dtype))
    return total(weights * tangent, dim, keepdim) / total(weights, dim, keepdim)


def _softmax(inputs: Sequence[Any], attrs: tuple[Any, ...], given: Tangents, out: Tensor) -> Any:
    return out * (given[0] - _logsumexp(inputs[0], given[0], attrs[0], True))


def _log_softmax(inputs: Sequence[Any], attrs: tuple[Any, ...], given: Tangents, _: Tensor) -> Any:
    return given[0] - _logsumexp(inputs[0], given[0], attrs[0], True)


_FORMULAS: dict[Op, Callable[..., Any]] = {
    arithmetic.MUL: _product,
    arithmetic.DIV: _quotient,
    arithmetic.ADD: _sum,
    SOFTMAX: _softmax,
    LOG_SOFTMAX: _log_softmax,
    LOGSUMEXP: lambda inputs, attrs, given, out: _logsumexp(inputs[0], given[0], *attrs),
}


# --- the three ways ---

#: operations that put constants beside their operands
_AFFINE = frozenset({"LuUnpackBackward0"})


def _is_linear(op: Op, attrs: tuple[Any, ...], moving: list[int]) -> bool:
    """Whether the rules of the operands that move name neither these operands nor a result."""
    if (
        op.grad_fn in _AFFINE
        or isinstance(op, Selection)
        or any(name in _CONSTANTS and value is not None for name, value in zip(op.attrs, attrs, strict=False))
    ):
        return False
    for i in moving:
        rule = op.rules[op.tensors[i]]
        if rule is not None and {op.tensors[i], "out", "outs", *op.outputs} & set(rule.parameters):
            return False
    return True


def _linear(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], given: Tangents) -> Tangents:
    """The operation applied to the tangents: to all at once where they are only added up, else to each with its factors."""
    factors = [_factors(op, name) for name in op.tensors]
    if not any(factors):
        return _results(op(*[_or_zeros(t, v) for t, v in zip(given, inputs, strict=True)], *attrs))
    total: Tangents = []
    for i, names in enumerate(factors):
        if op.rules[op.tensors[i]] is None or type(inputs[i]) is not Tensor:
            continue
        operands = [
            _or_zeros(given[k], inputs[k]) if k == i else inputs[k] if name in names or op.rules[name] is None else zeros_like(inputs[k])
            for k, name in enumerate(op.tensors)
        ]
        part = _results(op(*operands, *attrs))
        total = part if not total else [a + b for a, b in zip(total, part, strict=True)]  # type: ignore[operator]
    return total


def _factors(op: Op, name: str) -> set[str]:
    """The other operands that a rule names."""
    rule = op.rules[name]
    return set() if rule is None else set(rule.parameters) & set(op.tensors)


def _results(made: Any) -> Tangents:
    return list(made) if isinstance(made, tuple) else [made]


def _elementwise(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], given: Tangents, moving: list[int], out: Tensor) -> Tensor:
    """The rule of each operand, applied to its tangent."""
    node = _node(op, inputs, attrs, moving, [out])
    total: Any = None
    for i in moving:
        tangent = given[i]
        assert tangent is not None
        wanted = [k == i for k in range(len(inputs))]
        part = namespaces.as_tensor(node.gradients([_like(tangent, out)], True, wanted)[i])
        total = part if total is None else total + part
    made: Tensor = total
    return made


def _by_rule(
    op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], given: Tangents, moving: list[int], results: Sequence[Tensor]
) -> Tangents:
    """The derivative of the rule with respect to the gradient, applied to the tangents."""
    graph = state.enabled
    node = _node(op, inputs, attrs, moving, results)
    probes = [Tensor(np.ones(out.array.shape, out.dtype.np), out.dtype) for out in results]  # anywhere: the rule is linear in them
    for probe in probes:
        probe.requires_grad = True
    with recording(True):
        wanted = [i in moving for i in range(len(inputs))]
        others = [None] * (len(node.outputs or probes) - len(probes))  # outputs without a derivative
        back = node.gradients([*probes, *others], True, wanted)
        pairs = []
        for i in moving:
            found, tangent = back[i], given[i]
            if found is None or tangent is None:
                continue
            reduced = namespaces.as_tensor(found)
            if reduced.array.shape != tangent.array.shape:
                reduced = namespaces.traced.sum_to(reduced, tangent.array.shape)
            if reduced.requires_grad:
                pairs.append((reduced, tangent))
    if not pairs:
        return list(map(zeros_like, results))
    needed = graph and any(t.requires_grad for t in (*(t for _, t in pairs), *(v for v in inputs if type(v) is Tensor)))
    pushed = backward.grad([b for b, _ in pairs], probes, [t for _, t in pairs], create_graph=needed, allow_unused=True)
    return [zeros_like(out) if t is None else t for t, out in zip(pushed, results, strict=True)]


def _node(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], moving: list[int], results: Sequence[Tensor]) -> OpNode:
    """A node of the operation that has a rule for each operand that moves; what the rules keep of the results is `results`."""
    stand_ins: list[Tensor] = []
    operands = list(inputs)
    for i in moving:
        if not (operands[i].requires_grad and state.enabled):
            operands[i] = Tensor(operands[i].array, operands[i].dtype)
            operands[i].requires_grad = True
            stand_ins.append(operands[i])
    with recording(True):
        made = _results(op(*operands, *attrs))[0]
    for one in stand_ins:  # they made the node, and no derivative is to reach them
        one.requires_grad = False
    assert made is not None and isinstance(made.node, OpNode)
    node = made.node
    if node.kept_out is not None:
        node.kept_out = [*results, *node.kept_out[len(results) :]]
    return node
