"""Every step behind a value, forward and backward, and how each gradient was made of the gradients of the step's consumers.

An explanation has the formulas of the rules with the names of the graph, the gradients that reached the nodes in a backward pass,
and the results of running the rules once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gradcli.analysis import formula_latex, formula_substitution, formulas
from gradcli.analysis.formulas import Listed, Symbol, Term
from gradcli.analysis.recorder import Recorder, behind, contributions, walk_back
from gradcli.analysis.step_names import Show, Steps, value_of
from gradcli.core.autograd.backward import no_graph_error
from gradcli.core.autograd.walk import Capture
from gradcli.core.graph.in_place import CopySlices
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule
from gradcli.core.kernels import Array
from gradcli.core.tensor.node import AccumulateGrad, Node
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError
from gradcli.lang.syntax import nodes as syntax
from gradcli.results.explanations import Arithmetic, Explanation, Link, Made, StepResult
from gradcli.results.values import TensorValue

#: at most so many steps are explained, the newest
MOST = 2000
#: the most elements of a tensor that `full` writes out
SMALL = 16


def explain(
    out: Tensor,
    weight: Tensor | None,
    recorder: Recorder,
    variables: Mapping[str, object],
    assigned: Mapping[tuple[int, int], str],
    text: str,
    show: Show,
    *,
    full: bool = False,
    gradients: bool = True,
) -> Explanation:
    """The steps behind `out`, newest first, leaves last.

    `weight` are the weights of the backward pass, None for 1. `assigned` has the names that the expressions at (start, end) of the
    text are assigned to. With `full` the explanation has the arithmetic and LaTeX too; without `gradients` there is no backward pass.
    Raises what backward raises.
    """
    root = out.edge()[0]
    if root is None:
        raise no_graph_error()
    nodes = behind(root)
    recorder.revive(nodes)
    capture = walk_back(out, weight, nodes) if gradients else {}
    steps = Steps(root, recorder, variables, assigned)
    newest = [node for node in steps.order if not isinstance(node, AccumulateGrad)][-MOST:]
    root = steps.shown(root)
    used = {steps.shown(parent) for node in newest for parent, _ in node.edges if parent is not None} | {root}
    leaves = [node for node in steps.order if isinstance(node, AccumulateGrad) and node in used]
    teller = _Teller(steps, capture, show, root, weight, full)
    results = tuple(teller.step(node) for node in (*reversed(newest), *leaves))
    notes: tuple[str, ...] = ()
    count = len(steps.order)
    if count > len(results):
        notes = (f"the newest {len(results):,} of {count:,} steps; {count - len(results):,} older ones are left out",)
    return Explanation(text, results, notes, count)


class _Teller:
    """Makes a result of each step of a graph."""

    def __init__(self, steps: Steps, capture: Capture, show: Show, root: Node, weight: Tensor | None, full: bool) -> None:
        self._steps = steps
        self._capture = capture
        self._show = show
        self._root = root
        self._given = weight is not None
        self._full = full
        self._contributions: dict[Node, list[Array | None] | None] = {}

    # --- steps ---

    def step(self, node: Node) -> StepResult:
        """The result of a step."""
        steps = self._steps
        place = node.origin if isinstance(node.origin, syntax.Node) else None
        count = 1 if node.outputs is None else len(node.outputs)
        is_leaf = isinstance(node, AccumulateGrad)
        names: Sequence[str] = node.op.tensors if isinstance(node, OpNode) and not node.op.variadic else ()
        return StepResult(
            name=steps.name(node) if count == 1 else steps.name(node, 0)[:-3],
            grad_fn=node.type_name,
            expression=steps.expression(node),
            expression_latex=steps.expression_latex(node) if self._full and not is_leaf else "",
            variable=steps.variable(node),
            is_leaf=is_leaf,
            outputs=tuple(self._made(node, k) for k in range(count)),
            inputs=tuple(
                Link(steps.name(parent, output), output, names[i] if i < len(names) else str(i))
                for i, (parent, output) in enumerate(node.edges)
                if parent is not None
            ),
            start=-1 if place is None else place.start,
            end=-1 if place is None else place.end,
            arithmetic=self._forward(node) if self._full and not is_leaf else (),
            source="" if place is None else place.source.name,
        )

    def _forward(self, node: Node) -> tuple[Arithmetic, ...]:
        steps = self._steps
        values = [value_of(steps, node, k) for k in range(1 if node.outputs is None else len(node.outputs))]
        known = [value for value in values if value is not None]
        if not known:
            return ()
        numbers = steps.expression(node, lambda parent, output: self._numbers(value_of(steps, parent, output), steps.name(parent, output)))
        return (Arithmetic(steps.expression(node), numbers, ", ".join(self._numbers(value, "") for value in known)),)

    def _made(self, node: Node, output: int) -> Made:
        steps = self._steps
        shape, dtype = node.meta(output)
        value = value_of(steps, node, output)
        grads = self._capture.get(node)
        grad = None if grads is None or output >= len(grads) else grads[output]
        gradient = None if grad is None else wrap(np.asarray(grad), dtype)
        terms, remarks = self._terms(node, output)
        came, came_latex = self._came(node, output, terms, remarks)
        arithmetic: tuple[Arithmetic, ...] = ()
        if self._full and gradient is not None and terms:
            arithmetic = self._backward(node, output, came, remarks, gradient)
        return Made(
            steps.name(node, output),
            shape,
            None if value is None else self._shown(value),
            None if gradient is None else self._shown(gradient),
            came if self._capture else "",
            came_latex,
            arithmetic,
            steps.symbol(node, output).latex,
            steps.gradient_symbol(node, output).latex,
            self._latex(value),
            self._latex(gradient),
        )

    def _latex(self, value: Tensor | None) -> str:
        """A small tensor as LaTeX; "" for others."""
        if not self._full or value is None or value.array.size > SMALL:
            return ""
        return formula_latex.values(self._numbers(value, ""))

    def _shown(self, tensor: Tensor) -> TensorValue:
        return self._show(tensor).replace(uniform=True)

    # --- how a gradient came ---

    def _came(self, node: Node, output: int, terms: list[Term], remarks: list[str]) -> tuple[str, str]:
        if node is self._root and not terms:
            return ("start, the weights v", r"\text{start, the weights } v") if self._given else ("start", r"\text{start}")
        if not terms:
            return "no gradient: nothing uses this output", ""
        text = _summed_up([formulas.text(term) for term in terms], remarks)
        math = formula_latex.total([formula_latex.latex(term) for term in terms]) if self._full else ""
        if any(remarks) and self._full:
            math += formula_latex.text(" (" + "; ".join(dict.fromkeys(remark for remark in remarks if remark)) + ")")
        if node.hooks is not None and any(number == output for number, _, _ in node.hooks):
            text += ", then changed by a hook"
            math += formula_latex.text(", then changed by a hook")
        return text, math

    def _terms(self, node: Node, output: int) -> tuple[list[Term], list[str]]:
        """For each consumer, the oldest first, the formula of its contribution, and a remark on the sum that undoes broadcasting."""
        terms: list[Term] = []
        remarks: list[str] = []
        for user, i in reversed(self._steps.consumers[node]):
            if user.edges[i][1] != output or (self._capture and user not in self._capture):
                continue
            terms.append(self._rule(user, i, self._steps.environment))
            remarks.append(self._summed(user, i, node.meta(output)[0]))
        return terms, remarks

    def _rule(self, user: Node, i: int, environment: Callable[[OpNode], dict[str, Term]]) -> Term:
        """The formula of a consumer's rule for its input `i`."""
        if isinstance(user, CopySlices):
            return self._written(user, i)
        if not isinstance(user, OpNode):
            return self._steps.gradient_symbol(user)
        rule = user.op.rules[user.op.tensors[0 if user.op.variadic else i]]
        names = {**environment(user), "i": formulas.Number(i)}
        if user.meta(0)[1].is_complex and not user.op.wirtinger:
            names |= {name: formulas.Applied("conj", (names[name],)) for name in self._conjugated(user) if name in names}
        grads, arrived = names.get("grads"), self._capture.get(user)
        if isinstance(grads, Listed) and arrived:
            zeros = [formulas.Applied("zeros_like", (self._steps.symbol(user, k),)) for k in range(len(grads.items))]
            names["grads"] = Listed(tuple(one if arrived[k] is not None else zeros[k] for k, one in enumerate(grads.items)), "[]")
        return self._real(_filled(rule, names), user, i)

    def _real(self, term: Term, user: OpNode, i: int) -> Term:
        """The real part of what a step with a complex output gives its real input."""
        parent, number = user.edges[i]
        real = user.meta(0)[1].is_complex and parent is not None and not parent.meta(number)[1].is_complex
        return formulas.Applied("real", (term,)) if real else term

    def _conjugated(self, user: OpNode) -> list[str]:
        """The names of the values that the rules of a step with a complex output get as conjugates."""
        saved = self._steps.recorder.saved(user)
        found = ["out"]
        for i, name in enumerate(() if user.op.variadic else user.op.tensors):
            value = saved[i] if i < len(saved) else None
            parent, number = user.edges[i]
            dtype = value.dtype if type(value) is Tensor else None if parent is None else parent.meta(number)[1]
            if type(value) is complex or (dtype is not None and dtype.is_complex):
                found.append(name)
        return found

    def _written(self, user: CopySlices, i: int) -> Term:
        """The contribution of a write to a part: to the value that was written to, which is input 0, or to the values written."""
        grad, inner = self._steps.gradient_symbol(user).text, user.inner
        if isinstance(inner, OpNode) and (i or inner.edges[0][0] is not None):
            rule = inner.op.rules[inner.op.tensors[0 if inner.op.variadic else i]]
            part = _filled(rule, self._steps.written_environment(user, inner))
            return part if i else Symbol(f"{grad} with {formulas.text(part)} where it was written", atomic=False)
        return Symbol(f"{grad} outside of what was written", atomic=False)

    def _parts(self, user: Node) -> list[Array | None] | None:
        """The contributions of a consumer, from running its rules once more; None where they cannot run."""
        if user not in self._contributions:
            try:
                self._contributions[user] = contributions(user, self._capture)
            except ProgramError:
                self._contributions[user] = None
        return self._contributions[user]

    def _summed(self, user: Node, i: int, shape: tuple[int, ...]) -> str:
        """The sum that undoes the broadcasting of input `i`, in words; "" for none. `shape` is that of the input."""
        if not self._capture:
            return ""
        parts = self._parts(user)
        part = None if parts is None else parts[i]
        if part is not None:
            have: tuple[int, ...] = part.shape
        elif isinstance(user, OpNode) and isinstance(user.op, Pointwise):
            have = user.meta(0)[0]
        else:
            return ""
        lead = len(have) - len(shape)
        dims = [k for k in range(len(have)) if k < lead or (shape[k - lead] == 1 and have[k] != 1)]
        if lead < 0 or not dims:
            return ""
        if len(dims) == len(have):
            return "summed"
        return f"summed over dim{'s' if len(dims) > 1 else ''} {', '.join(map(str, dims))}"

    # --- numbers ---

    def _backward(self, node: Node, output: int, came: str, remarks: list[str], gradient: Tensor) -> tuple[Arithmetic, ...]:
        """The formula of a gradient, and the same with numbers in place of names."""
        users = [(user, i) for user, i in reversed(self._steps.consumers[node]) if user.edges[i][1] == output and user in self._capture]
        texts = [formulas.text(self._rule(user, i, self._numeric_environment)) for user, i in users]
        return (Arithmetic(came, _summed_up(texts, remarks), self._numbers(gradient, "")),)

    def _numeric_environment(self, user: OpNode) -> dict[str, Term]:
        steps, op = self._steps, user.op
        names = steps.environment(user)
        grads = [
            None if grad is None else self._number_symbol(wrap(np.asarray(grad), user.meta(k)[1]), steps.gradient_symbol(user, k))
            for k, grad in enumerate(self._capture.get(user) or ())
        ]
        if isinstance(known := names.get("grads"), Listed):
            names["grads"] = Listed(tuple(one or name for one, name in zip(grads, known.items, strict=True)), "[]")
        elif grads and grads[0] is not None:
            names["grad"] = grads[0]
        for k, output in enumerate(op.outputs or ("out",)):
            out = value_of(steps, user, k)
            if out is not None:
                names[output] = self._number_symbol(out, names[output])
        inputs = [self._numeric_input(user, i, name) for i, name in enumerate(self._inputs_of(user, names))]
        return names | ({op.tensors[0]: Listed(tuple(inputs), "[]")} if op.variadic else dict(zip(op.tensors, inputs, strict=True)))

    def _inputs_of(self, user: OpNode, names: dict[str, Term]) -> list[Term]:
        listed = names[user.op.tensors[0]]
        return list(listed.items) if user.op.variadic and isinstance(listed, Listed) else [names[tensor] for tensor in user.op.tensors]

    def _numeric_input(self, user: OpNode, i: int, name: Term) -> Term:
        saved = self._steps.recorder.saved(user)
        parent, number = user.edges[i]
        value = saved[i] if i < len(saved) and type(saved[i]) is Tensor else None
        if value is None and parent is not None:
            value = value_of(self._steps, parent, number)
        return name if value is None else self._number_symbol(value, name)

    def _number_symbol(self, value: Tensor, name: Term) -> Symbol:
        text = self._numbers(value, formulas.text(name))
        return Symbol(text, atomic=not text.startswith(("-", "all")), shape=tuple(value.array.shape))

    def _numbers(self, value: Tensor | None, name: str) -> str:
        """The elements of a small tensor; else its name."""
        if value is None:
            return name
        if value.array.size > SMALL:
            return name or f"a tensor of shape {tuple(value.array.shape)}"
        return " ".join(self._shown(value).cell().split())


def _summed_up(texts: Sequence[str], remarks: Sequence[str]) -> str:
    """The sum of the texts, each with its remark."""
    parts = [(f"{text}, {remark}" if remark else text, remark) for text, remark in zip(texts, remarks, strict=True) if text != "0"]
    if len(parts) < 2:
        return parts[0][0] if parts else "0"
    total = ""
    for part, remark in parts:
        part = f"({part})" if remark else part
        sign = "" if not total else " - " if part.startswith("-") else " + "
        total += sign + (part[1:] if sign == " - " else part)
    return total


def _filled(rule: Rule | None, names: Mapping[str, Term]) -> Term:
    """The formula of a rule with the names of this program; a rule without formula refuses the derivative."""
    if rule is not None and not rule.formula:
        return Symbol("no derivative", atomic=True)
    return formula_substitution.filled(rule.formula if rule else "grad", names)
