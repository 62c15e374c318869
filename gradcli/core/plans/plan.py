"""Expressions that are evaluated again, as straight steps over numbered slots.

An expression such as `((x + 2) * (x + 2) * 2).mean()` finds out, each time it is evaluated, which record each operator means, what
its rules need, which node comes next, where a gradient must be summed over broadcast dimensions. None of this changes from one
evaluation to the next as long as the names have values of the same kind. So the second evaluation is watched (`watching.py`): which
records ran, on which inputs, with which plain arguments, and which nodes came of it. What was seen becomes a `Plan` (`making.py`),
which is a list of forward functions, and for each node a list of gradient functions, over slots. A plan may also stand for several
assignments that follow each other, each of which uses the names before it; what it gives are the values of all of these names.

A plan holds for values of the same kind: tensors with the same dtype, shape, strides and `requires_grad`, numbers that are equal,
functions that are the same object. A plan goes through calls of modules that only compute (`modules.py`): their parameters are tensors
like those of names. It holds in one state: grad mode as it was, nobody watching, no hooks on saved tensors, no forward
mode, no anomaly detection, no vmap, no inference mode, the same limits. `Plan.run` checks this and answers None where it does not hold,
and where any step fails. Then the ordinary way runs, so every error is the ordinary one.

A plan does not compute anything of its own. Its steps are the forward functions and rules of the records, called with arrays of the
same values and memory formats in the same order, so its results are the ordinary ones to the last bit. When a plan is made, each step
is carried out once more and compared with what the ordinary way has given.

The result has one node in the graph, a `FoldedNode` (`folded_node.py`). A walk without hooks, targets or recording goes through it in
straight steps. Whatever else reads the node finds attributes missing, and that unfolds it into the nodes that the ordinary way makes.
The tensor of a name in between has a `PartNode`, which unfolds with the node of the result.

Where `.backward()` follows the assignments, the plan goes on with its backward steps (`backward_plan.py`): no node is walked through, and
what results is a graph that has been freed. Large tensors have such plans alone, which work block by block (`fused_pass.py`). Statements
that write in place while nothing is recorded have plans of their own (`update_plan.py`). All hold only while nobody can see the
difference: leaves have no hooks, and what is written to is no view. In a loop whose body consists of such plans and of steps of
optimisers, what they hold for is checked once, and the tensors of names are made when the loop ends (`BackwardRepetition`).

A plan may also hold for other numbers than those that its expression was written with: then they are leaves, and the places of its
operations are looked up in the text of each evaluation.

The rest of the core asks a node whether it is `folded`, and knows nothing else about plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol
from weakref import ref

import numpy as np
from numpy import ndarray

from gradcli import limits
from gradcli.core.graph.op_node import Plan as Keeping
from gradcli.core.graph.record import Op
from gradcli.core.kernels import Array, blocks
from gradcli.core.plans.folded_node import FoldedNode, Part, PartNode
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import AccumulateGrad, Edge
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import GradcliError

#: the kind of a value that is a tensor: dtype, shape, strides, requires_grad; of any other value: None, and the value itself
Kind = tuple[DType | None, Any, tuple[int, ...], bool]

#: a forward step: the function, the slots of its arguments (the second is -1 for one argument), whether the result is a scalar of numpy's;
#: in an `UpdatePlan` the function may be None
Step = tuple[Any, Any, int, bool]

#: a backward step: the function, or None for a gradient that goes on unchanged; the slots of its arguments as in a `Step`; the shape that
#: the result is summed to, or None; and the slot of the gradient that it is added to, or -1 for a gradient that leaves the plan
Back = tuple[Any, Any, int, tuple[int, ...] | None, int]

_NUMBERS = (float, int)


class Text(Protocol):
    """An expression with numbers that may be others in the next evaluation."""

    #: the values of these numbers
    numbers: Sequence[float]

    def number_at(self, origin: Any, value: Any) -> int | None:
        """Which of the numbers is `value`, an operand of the operation with this origin; None where it is none of them."""

    def place_of(self, origin: Any) -> int:
        """The number of an origin among those that `origins` gives. Raises LookupError."""

    def origins(self, whole: Any) -> Sequence[Any]:
        """The origins of the operations of an expression with the same shape, that of the last first."""


class Template(NamedTuple):
    """What the nodes of one step have in common: everything but tensors and edges that lead out of the plan."""

    op: Op
    keeping: Keeping
    attrs: tuple[Any, ...]
    #: where the operation stands in the program; in a plan with `origins`, its number among these
    origin: Any
    shape: tuple[int, ...]
    dtype: DType
    #: for each input: the number of a node of the plan, -1 - the number of an outer edge, or None without edge
    edges: tuple[int | None, ...]
    #: for each input that is kept: (slot, None) of a tensor or of a number that is a leaf, (-1, value) of any other number; None where
    #: nothing is kept
    saved: tuple[tuple[int, Any] | None, ...] | None
    #: the slot of the output
    slot: int


class Viewed(NamedTuple):
    """A view of a tensor of a name that backward needs."""

    slot: int
    #: the slot of the tensor
    base: int
    #: the operation's name, for messages
    source: str


class Named(NamedTuple):
    """A result before the last one, which has a name."""

    slot: int
    #: the number of its node, None without one
    number: int | None
    #: the slot's place among those that are kept, None for one that is not
    place: int | None


class Plan:
    """The steps of one expression, or of several assignments, for values of certain kinds in one state."""

    __slots__ = (
        *("backward", "blank", "bounds", "constants", "count", "dtype", "enabled", "exposed", "frees", "keep_out", "kept", "kept_leaves"),
        *("kinds", "largest", "named", "nodes", "origin", "origins", "outer", "outward", "root", "shape", "steps", "views"),
    )

    def __init__(self) -> None:
        self.kinds: tuple[Kind, ...] = ()
        #: whether operations are recorded
        self.enabled = state.enabled
        self.bounds = limits.current
        #: the most elements of any array
        self.largest = 0
        #: values of slots behind those of the expression's names and of the numbers that are leaves
        self.constants: list[Any] = []
        self.steps: tuple[Step, ...] = ()
        self.dtype: Any = None
        self.shape: tuple[int, ...] = ()
        #: the place of the last step in the program
        self.origin: Any = None
        #: gives the places of all steps from that of the whole expression, where each evaluation has others; else None
        self.origins: Callable[[Any], Sequence[Any]] | None = None
        #: nodes that the plan stands for, oldest first
        self.nodes: tuple[Template, ...] = ()
        self.count = 0
        #: the names whose tensors the outer edges lead to; the outer edge of each gradient that leaves the plan, None where each edge has
        #: one gradient in the order of the edges
        self.outer: tuple[int, ...] = ()
        self.outward: tuple[int, ...] | None = None
        #: the results before the last one
        self.named: tuple[Named, ...] = ()
        #: the views among the slots that are kept
        self.views: tuple[Viewed, ...] = ()
        #: the slots that backward needs: first those of names, whose tensors are kept, and those of `named`
        self.kept: tuple[int, ...] = ()
        self.kept_leaves: tuple[int, ...] = ()
        #: how many of the slots that are kept the program can write to
        self.exposed = 0
        #: whether a node says after a walk that what it kept has been freed
        self.frees = False
        #: whether the last node keeps its output
        self.keep_out = False
        #: the slots of the backward pass that follow those that are kept: constants, and None for gradients
        self.blank: list[Any] = []
        #: the slot of the gradient of the result
        self.root = 0
        self.backward: tuple[Back, ...] = ()

    def run(self, values: Sequence[Any], numbers: Sequence[float] = (), origin: Any = None) -> list[Tensor] | None:
        """The results, that of the whole expression last, from the values of names; None where the plan does not hold. Raises no error.

        `numbers` and `origin` are the numbers that are leaves, and the place of the expression, where each evaluation has others.
        """
        slots = self.forward(values, numbers)
        if slots is None:
            return None
        edges: list[Edge] = []
        try:
            for i in self.outer:
                leaf = values[i]
                if leaf.node is not None and leaf.view is None:
                    edges.append((leaf.node, leaf.output_nr))
                    continue
                edge = leaf.edge()
                # the ordinary way may let go of an AccumulateGrad between two assignments, with its hooks and its shape
                if edge[0] is None or (type(edge[0]) is AccumulateGrad and not edge[0].takes_as_is()):
                    return None
                edges.append(edge)
        except GradcliError:
            return None
        made = self.results(slots, origin)
        if self.count:
            made[-1].node = self.node(made, values, edges, slots, origin)
            made[-1].requires_grad = True
        return made

    def forward(self, values: Sequence[Any], numbers: Sequence[float] = ()) -> list[Any] | None:
        """The slots of names, numbers, constants and results; None where the plan does not hold, or a step fails. Raises no error."""
        slots = self.slots(values, numbers)
        if slots is None:
            return None
        try:
            carry_out(self.steps, slots)
        except Exception:  # evaluation in the ordinary way raises the error, with its place
            return None
        return slots

    def slots(self, values: Sequence[Any], numbers: Sequence[float] = ()) -> list[Any] | None:
        """The slots of names, numbers and constants; None where the plan does not hold."""
        if (
            state.enabled is not self.enabled
            or state.observed
            or state.dual is not None
            or state.anomaly
            or state.inference
            or state.mapped
            or limits.current is not self.bounds
            or self.largest >= blocks.threshold
            or state.sequence + self.count > state.recount
        ):
            return None
        slots: list[Any] = []
        for value, (dtype, shape, strides, requires_grad) in zip(values, self.kinds, strict=True):
            if type(value) is Tensor:
                array = value.array
                if (
                    value.dtype is not dtype
                    or type(array) is not ndarray
                    or array.shape != shape
                    or array.strides != strides
                    or value.requires_grad is not requires_grad
                    or (value.meta is not None and "inference" in value.meta)
                ):
                    return None
                slots.append(array)
            elif dtype is not None:
                return None
            elif value is shape or (type(value) in _NUMBERS and type(value) is type(shape) and value == shape and value):
                slots.append(value)  # 0.0 and -0.0 are equal and differ
            else:
                return None
        slots += numbers
        slots += self.constants
        return slots

    def results(self, slots: Sequence[Array], origin: Any = None) -> list[Tensor]:
        """The tensors of the names and of the whole expression, without nodes."""
        state.origin = self.origin if origin is None else origin
        made = [Tensor(slots[one.slot], self.dtype) for one in self.named] if self.named else []
        made.append(Tensor(slots[-1], self.dtype))
        return made

    def node(self, made: list[Tensor], values: Sequence[Any], edges: list[Edge], slots: list[Array], origin: Any = None) -> FoldedNode:
        """The node of the results, which is not walked through yet."""
        node = self._node(origin)
        leaves = [values[i] for i in self.kept_leaves] if self.kept_leaves else []
        node.run = (
            self,
            edges,
            leaves,
            [0 if leaf.version is None else leaf.version.count for leaf in leaves] if leaves else [],
            [slots[i] for i in self.kept],
            made[-1].counter() if self.keep_out else None,
            [_part(node, one, tensor) for one, tensor in zip(self.named, made, strict=False)] if self.named else (),
        )
        return node

    def freed_node(self, made: list[Tensor], edges: list[Edge]) -> FoldedNode:
        """The node of the results after a walk that has freed what it kept."""
        node = self._node()
        node.freed = True
        parts = [(_part_node(node, one, tensor), None, None) for one, tensor in zip(self.named, made, strict=False)] if self.named else ()
        node.run = (self, edges, [], [], None, None, parts)
        return node

    def _node(self, origin: Any = None) -> FoldedNode:
        node = FoldedNode.__new__(FoldedNode)
        node.shape = self.shape
        node.dtype = self.dtype
        node.outputs = node.hooks = node.retained = None
        state.sequence += self.count
        node.sequence = state.sequence - 1
        node.origin = self.origin if origin is None else origin
        node.plain = True
        node.freed = False
        return node


def carry_out(steps: Sequence[Step], slots: list[Any]) -> None:
    """Run forward steps. One without function writes its second slot to the first, and gives nothing. Raises what a step raises."""
    for function, first, second, is_scalar in steps:
        if function is None:
            slots[first][...] = slots[second]
            continue
        if second >= 0:
            result = function(slots[first], slots[second])
        elif second == -1:
            result = function(slots[first])
        else:
            result = function(*[slots[i] for i in first])
        slots.append(np.asarray(result) if is_scalar else result)


def _part(whole: FoldedNode, named: Named, tensor: Tensor) -> Part:
    """What is kept of a result before the last one, which gets its node."""
    node = _part_node(whole, named, tensor)
    return (node, None, None) if named.place is None else (node, ref(tensor), tensor.counter())


def _part_node(whole: FoldedNode, named: Named, tensor: Tensor) -> ref[PartNode] | None:
    """Give the tensor of a result before the last one its node."""
    if named.number is None:
        return None
    part = PartNode.__new__(PartNode)
    part.plain = True
    part.whole = whole, named.number
    tensor.node = part
    tensor.requires_grad = True
    return ref(part)


def packed(slots: list[int]) -> tuple[Any, int]:
    """The slots of one or two arguments by themselves, those of more as a tuple."""
    if len(slots) == 1:
        return slots[0], -1
    if len(slots) == 2:
        return slots[0], slots[1]
    return tuple(slots), -2
