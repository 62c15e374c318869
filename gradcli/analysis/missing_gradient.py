"""Why a tensor has no gradient: it is no leaf, does not require grad, was cut off by an operation, or the result does not use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradcli.analysis.operands import walk
from gradcli.analysis.step_names import named_tensors
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.syntax import nodes as syntax
from gradcli.results.explanations import Explanation
from gradcli.source import Span

#: methods and functions whose result has no graph
_CUTTING = (
    *("detach", "detach_", "item", "tolist", "numpy", "argmax", "argmin", "argsort", "long", "int", "short", "bool", "byte", "char"),
    *("tensor", "new_tensor", "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "nonzero", "count_nonzero", "bincount"),
)
#: Python's functions whose result is a plain number
_NUMBERS = frozenset({"int", "float", "bool", "len"})
_BLOCKS = frozenset({"no_grad", "inference_mode"})
#: at most so many reasons are given
_MOST = 12


def reasons(
    explanation: Explanation, variables: Mapping[str, object], program: syntax.Node | None, value: Tensor | None
) -> tuple[str, ...]:
    """A line for each reason why variables have no gradient in an explanation, with their names. `value` is the explained tensor."""
    reached = {step.name for step in explanation.steps if step.is_leaf and any(made.gradient is not None for made in step.outputs)}
    rows = {step.variable: step.name for step in explanation.steps if step.variable}
    found: dict[str, list[str]] = {}
    named = named_tensors(variables)
    # the same tensor may have several names, of which the steps show one
    known = {id(tensor) for name, tensor in named if name in reached}
    whole = len(explanation.steps) >= explanation.total
    for name, tensor in named:
        if id(tensor) in known or tensor is value:
            continue
        if not whole and tensor.is_leaf and tensor.requires_grad:
            continue  # the leaf may be behind the steps that are left out
        if reason := reason_for(name, tensor, rows, program):
            found.setdefault(reason, []).append(name)
    lines = [f"{', '.join(names)}: {reason}" for reason, names in found.items()]
    return tuple(lines[:_MOST])


def reason_for(name: str, tensor: Tensor, rows: Mapping[str, str], program: syntax.Node | None) -> str:
    """Why `tensor` has no gradient, in words; "" for a computed tensor that the result does not use.

    `rows` has the names of the steps, by the variables that they were assigned to.
    """
    if not tensor.dtype.is_differentiable:
        return f"{tensor.dtype.name} cannot require grad, only floating-point tensors can"
    if not tensor.requires_grad:
        place = None if program is None else _unrecorded(name, program)
        if place is not None:
            return f"made where nothing is recorded: {_told(place)}"
        return "does not require grad (requires_grad=True when it is made, or NAME=VALUE)"
    if not tensor.is_leaf:
        return "not a leaf, so .grad stays None without retain_grad(); the gradient is in the table" if name in rows else ""
    span = None if program is None else cut(name, program)
    if span is not None:
        return f"cut off here: {_told(span)}"
    return "no path leads from the result to it"


def _told(span: Span) -> str:
    """The text of a place, with the number of its line where the source has several lines."""
    line, _ = span.source.position(span.start)
    several = "\n" in span.source.text.rstrip("\n")
    return " ".join(span.text.split()) + (f" (line {line})" if several else "")


def _unrecorded(name: str, program: syntax.Node) -> Span | None:
    """The first assignment to the name in a block without grad mode; None for none."""
    for block in walk(program):
        for node in walk(block) if _records_nothing(block) else ():
            if isinstance(node, syntax.Assign) and any(isinstance(one, syntax.Name) and one.id == name for one in node.targets):
                return node.span
    return None


def _records_nothing(node: syntax.Node) -> bool:
    if not isinstance(node, syntax.With):
        return False
    parts = [one for context, _ in node.items for one in walk(context)]
    words = {one.id if isinstance(one, syntax.Name) else one.name for one in parts if isinstance(one, (syntax.Name, syntax.Attribute))}
    return bool(words & _BLOCKS)


def cut(name: str, program: syntax.Node) -> Span | None:
    """The first place where a value computed from `name` leaves the graph, by `.detach()`, `.item()`, a no_grad block, a comparison ..."""
    nodes = walk(program)
    derived = {name}
    for _ in range(2):  # twice, for what a loop carries
        for node in nodes:
            if isinstance(node, (syntax.Assign, syntax.AugAssign, syntax.NamedExpr)) and _mentions(node.value, derived):
                targets = node.targets if isinstance(node, syntax.Assign) else (node.target,)
                derived |= {one.id for target in targets for one in walk(target) if isinstance(one, syntax.Name)}
    for node in nodes:
        place = _cutting(node)
        if place is not None and _mentions(place, derived):
            return place.span
    return None


def _mentions(node: syntax.Node, names: Iterable[str]) -> bool:
    return any(isinstance(one, syntax.Name) and one.id in names for one in walk(node))


def _cutting(node: syntax.Node) -> syntax.Node | None:
    """The node where it cuts the graph; of a block without grad mode its first assignment; else None."""
    if isinstance(node, syntax.Call):
        function = node.function
        if isinstance(function, syntax.Attribute) and function.name in _CUTTING:
            return node
        if isinstance(function, syntax.Name) and (function.id in _NUMBERS or function.id in _CUTTING):
            return node
    if isinstance(node, syntax.Attribute) and node.name == "data":
        return node
    if isinstance(node, syntax.Compare):
        return node
    if isinstance(node, syntax.With) and _records_nothing(node):
        return next((one for one in node.body if isinstance(one, (syntax.Assign, syntax.AugAssign))), None)
    return None
