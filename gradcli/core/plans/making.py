"""Making a plan of the operations that one evaluation was seen to run. Whatever is not known to be the same each time makes none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.core.graph import op_node
from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.op_node import OpNode, message_name
from gradcli.core.graph.record import Op
from gradcli.core.kernels import Array
from gradcli.core.plans.backward_plan import BackwardPlan
from gradcli.core.plans.plan import Back, Kind, Named, Plan, Step, Template, Text, Viewed, packed
from gradcli.core.plans.watching import Ran
from gradcli.core.tensor.dtypes import DType, check_whole
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor

#: arrays of more elements are left to the ordinary way, whose walk treats them differently
LARGEST = 1 << 12


class NoPlanError(Exception):
    """The expression has no plan."""


class StepError(NoPlanError):
    """A step cannot be carried out, with values of whatever kind."""


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
    except Exception:  # the ordinary way raises it with its place
        return []


def require(holds: bool) -> None:
    """Raise NoPlanError unless something holds."""
    if not holds:
        raise NoPlanError


def place_of(text: Text, origin: Any) -> int:
    """`text.place_of(origin)`. Raises NoPlanError."""
    try:
        return text.place_of(origin)
    except LookupError as error:
        raise NoPlanError from error


class Slots:
    """Numbers the slots, of names, leaves that are numbers, constants and results in this order, and makes steps of operations."""

    def __init__(self, values: Sequence[Any], ran: list[Ran], dtype: DType, text: Text | None = None) -> None:
        self.values = values
        self.ran = ran
        self.text = text
        self.plan = Plan()
        self.plan.dtype = dtype
        #: the slot of each tensor by its id, and the values of all slots
        self.slots: dict[int, int] = {}
        #: by the slot of a view of the tensor of a name: the slot of that tensor, and the operation that made the view
        self.views: dict[int, tuple[int, Op]] = {}
        self.content: list[Any] = []
        self.plan.kinds = tuple([self._leaf(value) for value in values])
        self.content += text.numbers if text else ()
        #: the slots of numbers that are leaves, by the id of an operation's result and the place of the number among its inputs
        self.numbers: dict[tuple[int, int], int] = {}
        #: by these slots, those of what the operations take, which are arrays without dimensions or the numbers themselves
        self.operands: dict[int, int] = {}
        #: for each operation, the slots of its arguments, -1 for tensors
        self.arguments: list[list[int]] = []

    def _leaf(self, value: Any) -> Kind:
        at = len(self.content)
        if type(value) is not Tensor:
            self.content.append(value)
            return (None, value, (), False)
        require(id(value) not in self.slots)  # two names of one tensor cannot be told apart
        self._check_tensor(value)
        self.slots[id(value)] = at
        self.content.append(self.given(value.array, at))
        return (value.dtype, value.array.shape, value.array.strides, value.requires_grad)

    def _check_tensor(self, tensor: Tensor) -> None:
        require(tensor.dtype is self.plan.dtype and (tensor.meta is None or "inference" not in tensor.meta))
        self.check_array(tensor.array)

    def check_array(self, array: Any) -> None:
        """Raise NoPlanError for an array that the plan is not for."""
        require(type(array) is np.ndarray and array.size <= LARGEST)
        self.plan.largest = max(self.plan.largest, array.size)

    def given(self, array: Any, slot: int) -> Any:
        """The content of the slot of a tensor with a name."""
        return array

    def check_uses(self, occurrences: Sequence[int | None], uses: Counter[int]) -> None:
        """Each tensor must be an operand wherever it stands: where a number is made of one, the number differs next time."""
        for value, count in zip(self.values, occurrences, strict=True):
            require(type(value) is not Tensor or count is None or uses[id(value)] == count)

    def number_constants(self) -> None:
        """Number the constants, and the results behind them."""
        made: dict[int, Callable[[Any], Any]] = {}
        scalar = _scalar_of(self.plan.dtype)
        for ran in self.ran:
            require(not (ran.op.many or ran.op.variadic or ran.op.on_tensors or ran.op.outputs) and len(ran.outs) == 1)
            given: list[int] = []
            for i, one in enumerate((*ran.inputs, *ran.attrs)):
                if i < len(ran.inputs) and type(one) is Tensor:
                    given.append(-1)
                    continue
                require(_is_plain(one))
                as_scalar = isinstance(ran.op.forward, np.ufunc) and i < len(ran.inputs) and type(one) in (int, float)
                number = None if self.text is None or i >= len(ran.inputs) else self.text.number_at(ran.origin, one)
                if number is None:
                    given.append(len(self.content))
                    self.content.append(scalar(one) if as_scalar else one)
                    continue
                leaf = len(self.values) + number
                require(leaf not in self.operands)
                self.numbers[id(ran.outs[0]), i] = self.operands[leaf] = leaf
                given.append(leaf)
                if as_scalar or type(one) is int:
                    made[leaf] = scalar if as_scalar else _whole
            self.arguments.append(given)
        leaves = 0 if self.text is None else len(self.text.numbers)
        require(len(self.operands) == leaves)  # each is an operand, from none another number is computed
        self.plan.constants = self.content[len(self.values) + leaves :]
        for leaf, function in made.items():
            self.operands[leaf] = len(self.content)
            self.content.append(function(self.content[leaf]))
        self.plan.steps = tuple([(function, leaf, -1, False) for leaf, function in made.items()])

    def step(self, ran: Ran, places: list[int]) -> Step:
        """The step of one operation, after it has given the same result once more."""
        out = ran.outs[0]
        self._check_tensor(out)
        given = [self.slots.get(id(ran.inputs[i]), -1) if at < 0 else self.operands.get(at, at) for i, at in enumerate(places)]
        require(min(given) >= 0)  # a tensor that the expression did not make
        arguments = [self.content[at] for at in given]
        try:
            result = ran.op.forward(*arguments)
        except Exception as error:
            raise StepError from error
        self.slots[id(out)] = len(self.content)
        return (self.result(ran, given, arguments, result), *packed(given), type(result) is not np.ndarray)

    def result(self, ran: Ran, given: list[int], arguments: list[Any], result: Any) -> Any:
        """Note what a step has given. Its function, which may be a faster one."""
        out = ran.outs[0]
        array = np.asarray(result)
        same = array.dtype is out.array.dtype and array.shape == out.array.shape and array.strides == out.array.strides
        require(same and type(out.array) is np.ndarray and array.tobytes() == out.array.tobytes())
        if ran.op.view:
            self.views[len(self.content)] = (self._base(ran.inputs, given[0]), ran.op)
        else:
            require(not any(type(one) is np.ndarray and np.may_share_memory(array, one) for one in arguments))
        self.content.append(out.array)
        return _with_scalar(ran.op.forward, arguments, array)

    def _base(self, inputs: Sequence[Any], slot: int) -> int:
        """The slot of the tensor that a view is of, which must be that of a name, whose version is checked."""
        base = self.views[slot][0] if slot in self.views else slot
        require(len(inputs) == 1 and base < len(self.values) and self.values[base].view is None and inputs[0].array.size > 0)
        return base


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


def _with_scalar(function: Any, arguments: list[Any], result: Array) -> Any:
    """A function of numpy that takes an operand with one element as a scalar, which takes half the time; any other function as it is."""
    if not isinstance(function, np.ufunc) or len(arguments) != 2:
        return function
    first, second = arguments
    faster: Callable[[Any, Any], Any]
    if _is_scalar(first, second):
        faster = lambda a, b: function(a.reshape(()), b)  # noqa: E731
    elif _is_scalar(second, first):
        faster = lambda a, b: function(a, b.reshape(()))  # noqa: E731
    else:
        return function
    again = faster(first, second)
    same = again.strides == result.strides and again.shape == result.shape and again.tobytes() == result.tobytes()
    return faster if same else function


def _is_scalar(one: Any, other: Any) -> bool:
    return type(one) is np.ndarray and type(other) is np.ndarray and one.size == 1 and one.ndim > 0 and other.size > 1


def _scalar_of(dtype: DType) -> Callable[[float], Array]:
    """A function that makes a number an array without dimensions, which functions of numpy take in less time. It raises ProgramError."""
    kind = dtype.np

    def scalar(number: float) -> Array:
        return np.array(_whole(number) if type(number) is int else number, kind)

    return scalar


def _whole(number: int) -> int:
    """The number. Raises ProgramError where 64 bits cannot hold it."""
    check_whole(number)
    return number


def _is_plain(value: Any) -> bool:
    """Whether a plain argument is a value that the program wrote, no data."""
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str) or type(value) is DType


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
