"""The step, forward or backward, that made the first nan or infinity, with its text and its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.analysis import formula_substitution, formulas
from gradcli.analysis.formulas import Number, Symbol, Term
from gradcli.analysis.recorder import contributions
from gradcli.analysis.step_names import Steps, value_of
from gradcli.core.autograd.walk import Capture
from gradcli.core.graph.op_node import OpNode
from gradcli.core.kernels import Array
from gradcli.core.tensor.node import AccumulateGrad, Node
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.syntax import nodes
from gradcli.results.checks import Origin

#: within so many consumers an operation that masks a gradient is looked for
_FAR = 50
_CHOICES = ("WhereBackward", "MaskedFillBackward", "IndexPutBackward", "MaximumBackward", "MinimumBackward", "ClampBackward")

Index = tuple[int, ...]


def first(steps: Steps, capture: Capture, finite: bool) -> Origin | None:
    """The first step that made a value that is not finite, where the result is not `finite`; else the first step backward whose rule
    made such a gradient from finite ones. None for neither.
    """
    return (None if finite else _forward(steps)) or _backward(steps, capture)


def _forward(steps: Steps) -> Origin | None:
    for node in steps.order:
        for array in steps.recorder.values(node):
            index = bad_index(array)
            if index is None:
                continue
            if isinstance(node, AccumulateGrad):
                remark = f"{_element(steps.name(node), index)} is {array[index]:g} itself"
                return Origin(_kind(array[index]), "AccumulateGrad", "", "", 0, 0, remark)
            if _asked_for(node):
                continue

            def seen(parent: Node, output: int, at: Index = index, shape: tuple[int, ...] = array.shape) -> str:
                value = _at(value_of(steps, parent, output), at, shape)
                return steps.name(parent, output) if value is None else _number(value)

            computed = f"{steps.expression(node, seen)} = {_number(array[index])}"
            return _origin(node, _kind(array[index]), f"{_inputs(steps, node, index, array.shape)}{computed}")
    return None


def _asked_for(node: Node) -> bool:
    """Whether the infinity is the user's own, as in `masked_fill(mask, -inf)`."""
    return isinstance(node, OpNode) and any(isinstance(a, float) and not np.isfinite(a) for a in (*node.attrs, *(node.saved or ())))


def _backward(steps: Steps, capture: Capture) -> Origin | None:
    for node in reversed(steps.order):
        grads = capture.get(node)
        if isinstance(node, AccumulateGrad) or grads is None or any(g is not None and bad_index(np.asarray(g)) is not None for g in grads):
            continue
        try:
            parts = contributions(node, capture) or []
        except ProgramError:
            continue
        for i, part in enumerate(parts):
            index = None if part is None else bad_index(part)
            if part is not None and index is not None:
                return _origin(node, _kind(part[index]), _story(steps, capture, node, i, part, index))
    return None


def bad_index(array: Array) -> Index | None:
    """The index of the first element that is not finite; None for none."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return None
    return tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])


def _kind(value: Any) -> str:
    return "nan" if np.isnan(value) else "inf" if value > 0 else "-inf"


def _story(steps: Steps, capture: Capture, node: Node, i: int, part: Array, index: Index) -> str:
    """The inputs at the element, whether its gradient was masked, and the rule's formula with the numbers."""
    masked = "branch not taken: " if _masked(steps, capture, node, index) else ""
    start = _inputs(steps, node, index, part.shape)
    if not isinstance(node, OpNode):
        return f"{start}{masked}{_number(part[index])}"
    rule = node.op.rules[node.op.tensors[0 if node.op.variadic else i]]
    # an operation that is not elementwise mixes elements: its formula has names alone
    names = _seen(steps, capture, node, index, part.shape) if node.op.elementwise else steps.environment(node)
    formula = formula_substitution.filled(rule.formula if rule else "grad", {**names, "i": Number(i)})
    return f"{start}{masked}{formulas.text(formula)} = {_number(part[index])}"


def _seen(steps: Steps, capture: Capture, node: OpNode, index: Index, shape: tuple[int, ...]) -> dict[str, Term]:
    """The names of an elementwise rule's formula, each with its number at the element: `grad 0`, `x 0`."""
    names = steps.environment(node)
    known: dict[str, Any] = {"out": value_of(steps, node, 0)}
    grads = capture.get(node)
    if grads is not None and grads[0] is not None:
        known["grad"] = grads[0]
    saved = steps.recorder.saved(node)
    for i, tensor in enumerate(node.op.tensors):
        parent, output = node.edges[i]
        known[tensor] = value_of(steps, parent, output) if parent is not None else saved[i] if i < len(saved) else None
    for name, value in known.items():
        number = _at(value, index, shape)
        term = names.get(name)
        if number is not None and term is not None and not isinstance(term, Number):
            word = "grad" if name == "grad" else formulas.text(term)
            names[name] = Symbol(f"{word} {_number(number)}", shape=shape)
    return names


def _masked(steps: Steps, capture: Capture, node: Node, index: Index) -> bool:
    """Whether the gradient of the element is 0 because an operation such as `where` chose another value."""
    shape = node.meta(0)[0]
    for _ in range(_FAR):
        grads = capture.get(node)
        if grads is None or grads[0] is None or _at(grads[0], index, shape) != 0:
            return False
        users = steps.consumers[node]
        if any(user.type_name.startswith(_CHOICES) for user, _ in users):
            return True
        following = [user for user, _ in users if user.meta(0)[0] == shape]
        if not following:
            return False
        node = following[0]
    return False


def _inputs(steps: Steps, node: Node, index: Index, shape: tuple[int, ...]) -> str:
    """The inputs at the element, as `x[0]=0: `; "" for none."""
    found = []
    for parent, output in node.edges:
        value = value_of(steps, parent, output) if parent is not None else None
        number = _at(value, index, shape)
        if parent is not None and value is not None and number is not None:
            place = index[len(index) - value.array.ndim :] if value.array.shape == shape[len(shape) - value.array.ndim :] else ()
            found.append(f"{_element(steps.name(parent, output), place)}={_number(number)}")
    return ", ".join(dict.fromkeys(found)) + ": " if found else ""


def _at(value: Any, index: Index, shape: tuple[int, ...]) -> float | None:
    """The element of a value at `index` after broadcasting to `shape`; None where it has none."""
    if isinstance(value, (int, float)):
        return float(value)
    array = value.array if type(value) is Tensor else value
    if not isinstance(array, np.ndarray):
        return None
    try:
        return float(np.broadcast_to(array, shape)[index])
    except ValueError:
        return None


def _element(name: str, index: Index) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _number(value: float) -> str:
    return f"{float(value):.5g}"


def _origin(node: Node, kind: str, remark: str) -> Origin:
    place = node.origin
    if not isinstance(place, nodes.Node):
        return Origin(kind, node.type_name, "", "", 0, 0, remark)
    source = place.source
    line, column = source.position(place.start)
    text = source.line(line)
    several = "\n" in source.text.rstrip("\n")
    name = "" if source.name.startswith("<") else source.name
    where = f"{name}:{line}" if name and several else f"line {line}" if several else name
    return Origin(kind, node.type_name, where, text, column - 1, min(column - 1 + place.end - place.start, len(text)), remark)
