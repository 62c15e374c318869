"""Making a plan of the operations that one evaluation was seen to run. Whatever is not known to be the same each time makes none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.core.graph import op_node
from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.op_node import OpNode
from gradcli.core.plans.backward_plan import BackwardPlan
from gradcli.core.plans.plan import Back, Named, Plan, Template, Text, Viewed, packed
from gradcli.core.plans.slots import NoPlanError, Slots, StepError, place_of, require
from gradcli.core.plans.watching import Ran
from gradcli.core.tensor.node import message_name
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor


class Result(NamedTuple):
    """What an assignment gave."""

    value: Any
    #: how often it stands in the assignments that follow
    uses: int
    #: whether its name has it in the end
    stays: bool


def make(
    values: Sequence[Any], occurrences: Sequence[int | None], ran: list[Ran], results: Sequence[Result], text: Text | None = None
) -> Plan | None:
    """The plan of an expression, or of assignments that follow each other.

    `values` are those of its names, each of which stands in it as often as `occurrences` says (None where that is not known, as for
    parameters of modules); `ran` are the operations that gave the `results`. The numbers of `text` are leaves of the plan. None where no
    plan can be made.
    """
    try:
        forward = Forward(values, occurrences, ran, results, text)
        if forward.nodes:
            Backward(forward)
        return forward.plan
    except NoPlanError:
        return None


def with_backward(plan: Plan, values: Sequence[Any]) -> list[BackwardPlan]:
    """The plan with a backward pass from its result, as a list; an empty one where no such plan can be made."""
    if not plan.count or math.prod(plan.shape) != 1 or any(values[i].node is not None for i in plan.outer):
        return []
    slots = plan.forward(values)
    if slots is None:
        return []
    try:
        return [BackwardPlan(plan, slots)]
    except Exception:  # evaluation in the ordinary way raises the error, with its place
        return []


class Forward(Slots):
    """Makes the forward steps."""

    def __init__(
        self, values: Sequence[Any], occurrences: Sequence[int | None], ran: list[Ran], results: Sequence[Result], text: Text | None
    ) -> None:
        result = results[-1].value
        require(len(ran) > 1 and result is ran[-1].outs[0])
        for one in results:
            require(type(one.value) is Tensor and one.value.view is None and one.value.meta is None and one.value.dtype.is_plain)
            require(one.value.node is None or result.node is not None)
        super().__init__(values, ran, result.dtype, text)
        self.results = results
        #: whether the result has a node
        self.nodes = result.node is not None
        self.plan.shape = result.array.shape
        if text is None:
            self.plan.origin = state.origin
        else:
            require(place_of(text, state.origin) == 0)
            self.plan.origins = text.origins
        self._check_results(occurrences)
        self.number_constants()
        self.plan.steps += tuple([self.step(ran, given) for ran, given in zip(self.ran, self.arguments, strict=True)])
        named = [self.slots[id(one.value)] for one in results[:-1] if one.stays]
        self.plan.named = tuple([Named(slot, None, None) for slot in named])

    def _check_results(self, occurrences: Sequence[int | None]) -> None:
        uses = Counter(id(one) for ran in self.ran for one in ran.inputs if type(one) is Tensor)
        self.check_uses(occurrences, uses)
        expected = {id(one.value): one.uses for one in self.results}
        require(len(expected) == len(self.results) and expected.keys() <= {id(ran.outs[0]) for ran in self.ran})
        for ran in self.ran[:-1]:
            require(uses[id(ran.outs[0])] == expected.get(id(ran.outs[0]), 1))


def _array(value: Any) -> Any:
    """A scalar of numpy as an array, which functions of numpy take in less time; any other value itself."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def _is_alone(needs: tuple[tuple[int, int], ...]) -> bool:
    """Whether a rule needs one argument beside the gradient."""
    return len(needs) == 2 and needs[0] == (op_node.GRAD, 0)


class Backward:
    """Makes the templates of the nodes, and the steps of the backward pass, which are carried out once for gradients of 1."""

    #: the namespace of the rules, and what they give
    xp: Any = numeric
    arrays: Any = (np.ndarray, np.generic)

    def __init__(self, forward: Forward) -> None:
        self.forward = forward
        self.plan = forward.plan
        #: by the slot of its output, the number of a node; by the slot of a name, the number of an outer edge
        self.numbers: dict[int, int] = {}
        self.outer: dict[int, int] = {}
        self.nodes: list[OpNode] = []
        self.ran: list[Ran] = []
        templates = []
        for ran in forward.ran:
            node = ran.outs[0].node
            if node is None:
                require(not any(type(one) is Tensor and one.requires_grad for one in ran.inputs))
                continue
            templates.append(self._template(ran, node))
        self.templates = self.plan.nodes = tuple(templates)
        self.plan.count = len(templates)
        self.plan.frees = any(one.keeping.frees for one in templates)
        self.plan.outer = tuple(self.outer)
        self._keep()
        self._steps()

    def _slot(self, tensor: Any) -> int:
        return self.forward.slots[id(tensor)]

    def _template(self, ran: Ran, node: Any) -> Template:
        keeping = node.plan
        require(type(node) is OpNode and node.op is ran.op and keeping.fast_rules is not None)
        require(len(node.edges) == len(ran.inputs))
        saved = None
        if node.saved is not None:
            saved = tuple([self._saved(ran, i) if i in keeping.keep else None for i in range(len(ran.inputs))])
        keeps = keeping.keep_out or any(place is not None and place[0] >= 0 for place in saved or ())
        require(keeping.frees or not keeps)
        edges = tuple([self._edge(one, to) for one, (to, _) in zip(ran.inputs, node.edges, strict=True)])
        slot = self._slot(ran.outs[0])
        self.numbers[slot] = len(self.nodes)
        self.nodes.append(node)
        self.ran.append(ran)
        return Template(node.op, keeping, node.attrs, self._origin(node.origin), node.shape, node.dtype, edges, saved, slot)

    def _origin(self, origin: Any) -> Any:
        text = self.forward.text
        return origin if text is None else place_of(text, origin)

    def _saved(self, ran: Ran, at: int) -> tuple[int, Any] | None:
        """What is kept of an input."""
        one = ran.inputs[at]
        if type(one) is Tensor:
            return self._slot(one), None
        leaf = self._leaf(ran, at)
        return (-1, one) if leaf is None else (leaf, None)

    def _leaf(self, ran: Ran, at: int) -> int | None:
        """The slot of an input that is a number and a leaf."""
        return self.forward.numbers.get((id(ran.outs[0]), at))

    def _edge(self, one: Any, to: Any) -> int | None:
        if to is None:
            require(type(one) is not Tensor or not one.requires_grad)
            return None
        slot = self._slot(one)
        if slot in self.numbers:
            return self.numbers[slot]
        require(slot < len(self.forward.values))
        return -1 - self.outer.setdefault(slot, len(self.outer))

    def _keep(self) -> None:
        """Number the slots that backward needs: those of names first, then those of results with names."""
        kept = {place[0] for one in self.templates for place in one.saved or () if place is not None and place[0] >= 0}
        kept |= {one.slot for one in self.templates if one.keeping.keep_out}
        for node, ran in zip(self.nodes, self.ran, strict=True):
            kept |= {slot for _, _, needs in node.plan.calls for need in needs if (slot := self._number(ran, need, needs)) is not None}
        views = sorted((slot, *view) for slot, view in self.forward.views.items() if slot in kept)
        self.plan.views = tuple([Viewed(slot, base, message_name(op.grad_fn)) for slot, base, op in views])
        kept |= {one.base for one in self.plan.views}
        names = len(self.forward.values)
        self.plan.kept_leaves = tuple(sorted(slot for slot in kept if slot < names))
        named = [one.slot for one in self.plan.named]
        self.plan.kept = tuple(sorted(kept, key=lambda slot: (slot >= names, slot not in named, slot)))
        self.plan.keep_out = self.templates[-1].keeping.keep_out
        self.places = {slot: i for i, slot in enumerate(self.plan.kept)}
        self.plan.named = tuple([Named(slot, self.numbers.get(slot), self.places.get(slot)) for slot in named])
        self.plan.exposed = sum(slot < names or slot in named for slot in kept)
        #: the values of the slots of the backward pass
        self.content: list[Any] = [self.forward.content[slot] for slot in self.plan.kept]
        #: the outer edge of each gradient that leaves the plan, and that gradient
        self.leaving: list[tuple[int, Any]] = []

    def _steps(self) -> None:
        """The backward steps of the nodes, newest first, in the order in which a walk calls the rules."""
        count = len(self.content)
        self.gradients = [self._new(None) for _ in self.nodes]
        self.plan.root = self.gradients[-1]
        self.content[self.plan.root] = np.ones(self.plan.shape, self.plan.dtype.np)
        steps: list[Back] = []
        for k in range(len(self.nodes) - 1, -1, -1):
            for i, function, needs in self.nodes[k].plan.calls:
                to = self.templates[k].edges[i]
                assert to is not None
                given = [self._argument(k, need, needs) for need in needs]
                steps.append(self._step(function, given, self.ran[k].inputs[i].array.shape, self.gradients[to] if to >= 0 else to))
        self.plan.backward = tuple(steps)
        outward = [edge for edge, _ in self.leaving]
        self.plan.outward = None if outward == list(range(len(self.outer))) else tuple(outward)
        for slot in self.gradients:
            self.content[slot] = None
        self.plan.blank = self.content[count:]

    def _new(self, value: Any) -> int:
        self.content.append(value)
        return len(self.content) - 1

    def _step(self, function: Any, given: list[int], shape: tuple[int, ...], to: int) -> Back:
        """The step of one rule, which is carried out; a negative `to` is -1 - the number of an outer edge."""
        arguments = [self.content[at] for at in given]
        try:
            result = function(*arguments)
            summed = None if result.shape == shape else shape
            reduced = result if summed is None else self.xp.sum_to(result, summed)
        except Exception as error:
            raise StepError from error
        require(isinstance(reduced, self.arrays) and reduced.dtype is self.plan.dtype.np and reduced.shape == shape)
        if to >= 0:
            known = self.content[to]
            self.content[to] = reduced if known is None else known + reduced
        else:
            self.leaving.append((-1 - to, reduced))
        unchanged = len(given) == 1 and result is arguments[0]
        return (None if unchanged else function, *packed(given), summed, max(to, -1))

    def _number(self, ran: Ran, need: tuple[int, int], needs: tuple[tuple[int, int], ...]) -> int | None:
        """The slot of an argument of a rule that is a number and a leaf; None for any other argument."""
        leaf = self._leaf(ran, need[1]) if need[0] == op_node.INPUT else None
        return leaf if leaf is None or not _is_alone(needs) else self.forward.operands[leaf]

    def _argument(self, k: int, need: tuple[int, int], needs: tuple[tuple[int, int], ...]) -> int:
        """The slot of one argument of a rule."""
        node, ran = self.nodes[k], self.ran[k]
        kind, at = need
        if kind == op_node.GRAD:
            return self.gradients[k]
        if kind == op_node.INPUT:
            value = ran.inputs[at]
            if type(value) is Tensor:
                return self.places[self._slot(value)]
            number = self._number(ran, need, needs)
            if number is not None:
                return self.places[number]
            return self._new(_array(node.dtype.scalars.get(value, value)) if _is_alone(needs) and value is not None else value)
        if kind == op_node.OUT:
            return self.places[self.templates[k].slot]
        if kind == op_node.XP:
            return self._new(self.xp)
        if kind in (op_node.ATTR, op_node.DATA):
            return self._new(node.attrs[at])
        if kind == op_node.ATTRS:
            return self._new(node.attrs)
        require(kind in (op_node.SHAPE, op_node.DTYPE))
        return self._new(node.argument(need, None, False, (), None))
