"""Names for the steps behind a value: `#1`, `#2` ... in the order in which they ran, and variables by their own names."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.analysis import formula_latex, operands
from gradcli.analysis.formulas import Known, Listed, Number, Symbol, Term, combine, from_syntax
from gradcli.analysis.recorder import Recorder, behind
from gradcli.core.graph.in_place import CopySlices
from gradcli.core.graph.op_node import OpNode, short_name
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.saved_arrays import Watched
from gradcli.core.kernels import Array
from gradcli.core.nn.module import Module
from gradcli.core.tensor.node import AccumulateGrad, Node
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.lang.syntax import nodes
from gradcli.results.values import TensorValue

Show = Callable[[Tensor], TensorValue]

_LONGEST = 40
#: arrays of at most so many elements are written out
_WRITTEN = 8
#: steps whose result has the values of their input; where it has the shape too, they carry nothing for a reader
_COPIES = frozenset(
    {"AliasBackward0", "CloneBackward0", "ExpandBackward0", "ReshapeAliasBackward0", "UnsafeViewBackward0", "ViewBackward0"}
)
#: steps within an operation, as readers write them
_OPERATORS = {"mm": "@", "bmm": "@", "add": "+", "sub": "-", "mul": "*", "div": "/"}
_FUNCTIONS = {"safe_softmax": "softmax"}


class Steps:
    """The steps behind a node, each with a name and the text of its operation.

    `variables` are the names of the session, `assigned` the names that expressions at (start, end) of the text are assigned to.
    Where one operation of the text made several steps, copies among them are left out: their inputs stand for them.
    """

    def __init__(self, root: Node, recorder: Recorder, variables: Mapping[str, object], assigned: Mapping[tuple[int, int], str]) -> None:
        every = behind(root)
        #: the steps that are shown in the place of copies
        self._shown: dict[Node, Node] = {}
        self.recorder = recorder
        self._named = named_tensors(variables)
        self._leaves = {name for name, tensor in self._named if tensor.node is None}
        self._leave_out_copies(every)
        self.order = [node for node in every if node not in self._shown]
        self._assigned = assigned
        self._names: dict[Node, str] = {}
        self._bound: dict[Node, str] = {}
        #: names of tensors by identity, for inputs that do not stand in the text of a step
        self._constants: dict[int, str] = {}
        self._matches: dict[Node, tuple[operands.Matched, list[nodes.Node]]] = {}
        recorder.learn([tensor for _, tensor in self._named], every)
        for name, tensor in self._named:
            self._constants.setdefault(id(tensor), name)
            if tensor.requires_grad:
                self._bound.setdefault(self.shown(tensor.edge()[0] or root), name)
        number = leaf = 0
        for node in self.order:
            if not isinstance(node, AccumulateGrad):
                number += 1
                self._names[node] = f"#{number}"
            elif node in self._bound:
                self._names[node] = self._bound[node]
            else:
                leaf += 1
                self._names[node] = f"leaf{leaf}"
        #: the consumers of each step, newest first: a step, and the number of its input
        self.consumers: dict[Node, list[tuple[Node, int]]] = {node: [] for node in self.order}
        for node in reversed(self.order):
            for i, (parent, _) in enumerate(node.edges):
                if parent is not None:
                    self.consumers[self.shown(parent)].append((node, i))

    def _leave_out_copies(self, every: Sequence[Node]) -> None:
        users: dict[Node, list[Node]] = {}
        for node in every:
            for parent, _ in node.edges:
                if parent is not None:
                    users.setdefault(parent, []).append(node)
        for node in every:
            parent = node.edges[0][0] if node.type_name in _COPIES else None
            if parent is None or node.hooks is not None or node.retained is not None or self.recorder.is_derived(node):
                continue
            within = operands.is_inner(parent, node, self._leaves) or any(
                operands.is_inner(node, user, self._leaves) for user in users.get(node, ())
            )
            # elementwise operations broadcast, so that an expanded operand is the operand itself
            spread = node.type_name == "ExpandBackward0" and all(
                isinstance(user, OpNode) and isinstance(user.op, Pointwise) for user in users.get(node, (None,))
            )
            if within and parent.outputs is None and (spread or parent.meta(0)[0] == node.meta(0)[0]):
                self._shown[node] = self.shown(parent)

    def shown(self, node: Node) -> Node:
        """The step that stands for `node`: itself, or the input of a copy that is left out."""
        return self._shown.get(node, node)

    def name(self, node: Node, output: int = 0) -> str:
        """The name of an output: `#3`, `#3[1]` where there are several outputs, or a variable's name."""
        node = self.shown(node)
        own = self._names[node]
        return own if node.outputs is None or len(node.outputs) == 1 else f"{own}[{output}]"

    def _word(self, node: Node) -> str:
        """The variable's name that stands for a step's value in the text, "" for none."""
        node = self.shown(node)
        return self._names[node] if isinstance(node, AccumulateGrad) else self.variable(node)

    def variable(self, node: Node) -> str:
        """The name that the step's value was assigned to, "" for none."""
        place = node.origin
        if isinstance(node, AccumulateGrad) or node.outputs is not None:
            return ""
        if self._is_of_gradient(node):
            return self._bound.get(node, "")
        found = self._assigned.get((place.start, place.end)) if isinstance(place, nodes.Node) else None
        return (None if self._is_inner(node) else found) or self._bound.get(node, "")

    def _is_of_gradient(self, node: Node) -> bool:
        """Whether a backward pass with create_graph made the step. Its text is then that of the step that was being differentiated."""
        return self.recorder.is_derived(node) or "Backward" in short_name(node.type_name)

    def _is_inner(self, node: Node) -> bool:
        """Whether the text stands for several steps, of which this is not the last."""
        return any(operands.is_inner(node, user, self._leaves) and not self._is_of_gradient(user) for user, _ in self.consumers[node])

    def matches(self, node: Node) -> tuple[operands.Matched, list[nodes.Node]]:
        """For each input of the step the expression that it is the value of, or None; and the expressions that are left over."""
        known = self._matches.get(node)
        if known is None:
            derived = self._is_of_gradient(node)
            known = self._matches[node] = ([None] * len(node.edges), []) if derived else operands.match(node, self._word, self._leaves)
        return known

    def _shown_operands(self, node: Node, leaves: bool) -> list[tuple[nodes.Node, Node, int]]:
        """The expressions within a step's text whose values earlier steps made, also those of its inner steps."""
        found = []
        stack = [node]
        seen = {node}
        while stack:
            one = stack.pop()
            for place, (parent, output) in zip(self.matches(one)[0], one.edges, strict=True):
                if parent is None:
                    continue
                if operands.is_inner(parent, one, self._leaves):
                    if parent not in seen:
                        seen.add(parent)
                        stack.append(parent)
                elif place is not None and (leaves or not isinstance(parent, AccumulateGrad)):
                    found.append((place, parent, output))
        return found

    def expression(self, node: Node, write: Callable[[Node, int], str] | None = None) -> str:
        """The user's own text with `#k` for earlier steps; with `write`, with its result for every input, also for variables."""
        if isinstance(node, AccumulateGrad):
            return "leaf"
        place = node.origin
        if isinstance(node, CopySlices):
            parent, output = node.edges[0]
            base = "" if parent is None else f"{(write or self.name)(parent, output)} with "
            return f"{base}{operands.text_with(place, [])} written" if isinstance(place, nodes.Node) else f"{base}a part written"
        given = [(write or self.name)(parent, output) for parent, output in node.edges if parent is not None]
        if not isinstance(place, nodes.Node) or isinstance(place, nodes.Name):
            # the text is no operation, as where a loop goes over a name
            return _call_text(node, given)
        if self._is_of_gradient(node):
            return f"{_call_text(node, given)} in the gradient of {operands.text_with(place, [])}"
        parts = self._shown_operands(node, write is not None)
        text = operands.text_with(place, [(part, (write or self.name)(parent, output)) for part, parent, output in parts])
        if self._is_inner(node):
            return f"{_inner_text(node, given)} in {text}"
        if isinstance(place, nodes.AugAssign) and self.variable(node):
            # the text is shown behind the name and `=`
            text = text.replace(f"{place.op}=", place.op, 1)
        return text

    def expression_latex(self, node: Node) -> str:
        """The step's text as mathematics."""
        place = node.origin
        if not isinstance(place, nodes.Node) or isinstance(node, CopySlices) or self._is_inner(node) or self._is_of_gradient(node):
            return formula_latex.text(self.expression(node))
        parts = [(part, self.symbol(parent, output)) for part, parent, output in self._shown_operands(node, True)]

        def known(one: nodes.Node) -> Term | None:
            return next((symbol for part, symbol in parts if part is one or operands.same_place(part, one)), None)

        if isinstance(place, nodes.Step):
            left, right = (known(side) or from_syntax(side, known) for side in (place.left, place.right))
            return formula_latex.latex(combine(place.op, left, right))
        return formula_latex.latex(from_syntax(place, known))

    # --- names for formulas ---

    def symbol(self, node: Node, output: int = 0) -> Symbol:
        """The symbol of a step's value or of a variable."""
        name = self.name(node, output)
        values = self.recorder.values(node)
        return Symbol(name, _vector(name), shape=node.meta(output)[0], value=values[output] if output < len(values) else None)

    def gradient_symbol(self, node: Node, output: int | None = None) -> Symbol:
        """The symbol of the gradient of a step, or of one of its outputs."""
        name = self._names[self.shown(node)] if output is None else self.name(node, output)
        return Symbol(f"grad({name})", _barred(name), shape=node.meta(0)[0])

    def environment(self, node: OpNode) -> dict[str, Term]:
        """The terms for the names in the formulas of a step's rules: `grad`, `out`, inputs and attributes."""
        op = node.op
        names: dict[str, Term] = {"grad": self.gradient_symbol(node), "out": self.symbol(node)}
        if op.many:
            names["grads"] = Listed(tuple(self.gradient_symbol(node, k) for k in range(len(node.outputs or (0,)))), "[]")
        for k, output in enumerate(op.outputs):
            names[output] = self.symbol(node, k) if k < op.differentiable else Symbol(output)
        inputs = [self._input(node, node, i) for i in range(len(node.edges))]
        names |= {op.tensors[0]: Listed(tuple(inputs), "[]")} if op.variadic else dict(zip(op.tensors, inputs, strict=True))
        return names | self._attributes(node, node)

    def written_environment(self, node: CopySlices, inner: OpNode) -> dict[str, Term]:
        """The same for `inner`, an operation that wrote to a part of a value: its input, `grad` and `out` are that part."""
        op = inner.op
        inputs = [self._input(node, inner, i) for i in range(len(node.edges))]
        names = dict(zip(op.tensors, inputs, strict=True))
        parent, number = node.edges[0]
        if parent is not None:
            names[op.tensors[0]] = _written(self.symbol(parent, number))
        names |= {"grad": _written(self.gradient_symbol(node)), "out": _written(self.symbol(node))}
        return names | self._attributes(node, inner)

    def _input(self, node: Node, step: OpNode, i: int) -> Term:
        """The name or the number of input `i`; `step` is the node itself, or the operation whose write the node is."""
        parent, number = node.edges[i]
        if parent is not None:
            return self.symbol(parent, number)
        matched = self.matches(node)[0]
        source = self.recorder.source(step, i) if matched[i] is None else None
        if source is not None and id(source) in self._constants:
            return Symbol(self._constants[id(source)], shape=tuple(source.array.shape))
        saved = self.recorder.saved(step)
        value = saved[i] if i < len(saved) else None
        if value is None and i in step.plan.keep:
            return Known(None)
        if matched[i] is None and type(value) is Tensor and value.array.shape == ():
            value = value.item()
        name = step.op.tensors[0 if step.op.variadic else i]
        found = _constant(name, matched[i], value)
        return (self._array(value.array) or found) if type(value) is Tensor and found == Symbol(name, shape=value.array.shape) else found

    def _attributes(self, node: Node, step: OpNode) -> dict[str, Term]:
        op, tensors = step.op, set(self._constants.values())
        rest = [
            place
            for place in self.matches(node)[1]
            if not _is_literal(place) and not (isinstance(place, nodes.Name) and place.id not in tensors)
        ]
        arrays = [attr for attr, value in zip(op.attrs, step.attrs, strict=True) if isinstance(value, (Tensor, np.ndarray))]
        texts = dict(zip(arrays, rest, strict=True)) if len(arrays) == len(rest) else {}
        return {attr: self._attribute(attr, texts.get(attr), value, node) for attr, value in zip(op.attrs, step.attrs, strict=True)}

    def _attribute(self, name: str, place: nodes.Node | None, value: object, node: Node) -> Term:
        """An argument without derivative. Arrays are told by their elements, as the text may belong to another argument."""
        array = value.array if isinstance(value, Tensor) else value
        if isinstance(array, np.ndarray) and not isinstance(place, nodes.Name):
            return self._array(array) or _constant(name, place, value)
        alone = not self._is_inner(node) and not any(
            parent is not None and operands.is_inner(parent, node, self._leaves) for parent, _ in node.edges
        )
        if name == "indices" and isinstance(node.origin, nodes.Subscript) and alone:
            return Symbol(" ".join(node.origin.index.text.split()))
        return _constant(name, place, value)

    def _array(self, array: Array) -> Symbol | None:
        """The name of an array, else the elements of a small one, else None."""
        known = self._name_of(array)
        return Symbol(known or _array_text(array), shape=array.shape, value=array) if known or array.size <= _WRITTEN else None

    def _name_of(self, array: Array) -> str:
        """The name of the tensor whose memory a saved array shares, "" for none."""
        if isinstance(array, Watched):
            for name, tensor in self._named:
                if tensor.version is array.version and tensor.array.shape == array.shape and np.may_share_memory(tensor.array, array):
                    return name
        return ""


def _written(whole: Symbol) -> Symbol:
    """The symbol of the part of a value that was written."""
    return Symbol(f"{whole.text}[written part]", rf"{whole.latex}_{{{formula_latex.text('written')}}}")


def _vector(name: str) -> str:
    match = re.fullmatch(r"#(\d+)(?:\[(\d+)\])?", name)
    if match is None:
        return formula_latex.name(name)
    return f"v_{{{match[1]}}}" if match[2] is None else f"v_{{{match[1]},{match[2]}}}"


def _barred(name: str) -> str:
    """The LaTeX of a gradient: a bar over the letter without its index."""
    letter, _, index = _vector(name).partition("_{")
    return rf"\bar{{{letter}}}" + (f"_{{{index}" if index else "")


def _constant(name: str, place: nodes.Node | None, value: object) -> Term:
    """The term of a constant argument: its text, else its value, else the argument's name."""
    shape = tuple(value.shape) if isinstance(value, (Tensor, np.ndarray)) else None
    if isinstance(place, nodes.Node) and not isinstance(place, nodes.Constant):
        text = " ".join(place.text.split())
        if len(text) <= _LONGEST:
            atomic = isinstance(place, (nodes.Name, nodes.Call, nodes.Attribute, nodes.Subscript))
            mathematics = "" if isinstance(place, nodes.Name) else formula_latex.latex(from_syntax(place, lambda _: None))
            return Symbol(text, mathematics, atomic, shape)
    if isinstance(value, (bool, int, float)):
        return Known(None) if value == sys.maxsize else Number(value)  # the end of a slice that has none
    if isinstance(place, nodes.Constant) and isinstance(place.value, (int, float)):
        return Number(place.value)
    if isinstance(value, (tuple, list)) and any(isinstance(one, (Tensor, np.ndarray, slice)) for one in value):
        return Symbol(_index_text(value) or name)
    return Known(value) if value is None or isinstance(value, (str, tuple, list)) else Symbol(name, shape=shape)


def _is_literal(place: nodes.Node) -> bool:
    """Whether an expression is a literal, with or without a sign."""
    return isinstance(place.operand if isinstance(place, nodes.Unary) else place, nodes.Constant)


def _array_text(array: Array) -> str:
    """An expression of the language that makes the array."""
    return f"tensor({array.tolist()})" if array.size else f"zeros({array.shape}, dtype={array.dtype})"


def _index_text(indices: Sequence[Any]) -> str:
    """Indices as they stand in brackets; "" for long ones."""
    parts: list[str] = []
    for one in indices:
        if isinstance(one, slice):
            parts.append(":".join("" if end is None else str(end) for end in (one.start, one.stop)))
        elif isinstance(one, (Tensor, np.ndarray)):
            parts.append(_array_text(one.array if isinstance(one, Tensor) else one))
        else:
            parts.append(repr(one))
    text = ", ".join(parts)
    return text if len(text) <= _LONGEST else ""


def _call_text(node: Node, given: list[str]) -> str:
    """A call such as `reciprocal(x)`, for a step that the text does not show."""
    short = short_name(node.type_name)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", short).lower()
    return f"{snake}({', '.join(given)})"


def _inner_text(node: Node, given: list[str]) -> str:
    """A step within an operation of the text: `#1 @ #2`, `#1 * 0.5`, `softmax(#1)`."""
    name, _, rest = _call_text(node, given).partition("(")
    numbers = [value for value in node.attrs if type(value) in (int, float)] if isinstance(node, OpNode) else []
    shown = [*given, *(f"{value:.6g}" for value in numbers)]
    return f" {_OPERATORS[name]} ".join(shown) if name in _OPERATORS and len(shown) == 2 else f"{_FUNCTIONS.get(name, name)}({rest}"


def named_tensors(variables: Mapping[str, object]) -> list[tuple[str, Tensor]]:
    """The tensors among the variables, in their lists, tuples and dicts, and the parameters of modules, with the paths to them."""
    found: list[tuple[str, Tensor]] = []
    stack: list[tuple[str, Any, int]] = [(name, value, 0) for name, value in reversed(list(variables.items()))]
    while stack:
        name, value, depth = stack.pop()
        if type(value) is Tensor:
            found.append((name, value))
        elif isinstance(value, Module):
            found += [(f"{name}.{path}", tensor) for path, tensor in value.named_parameters()]
        elif depth < 3 and isinstance(value, (list, tuple)) and len(value) <= 100:
            stack += [(f"{name}[{i}]", item, depth + 1) for i, item in reversed(list(enumerate(value)))]
        elif depth < 3 and isinstance(value, dict) and len(value) <= 100:
            stack += [(f"{name}[{key!r}]", item, depth + 1) for key, item in reversed(list(value.items())) if isinstance(key, (str, int))]
    return found


def value_of(steps: Steps, node: Node, output: int) -> Tensor | None:
    """The value of an output of a step; None where it is not known."""
    values = steps.recorder.values(node)
    return wrap(values[output], node.meta(output)[1]) if output < len(values) else None
