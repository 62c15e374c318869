"""The graph that backward walks: immutable nodes with ordered parents."""

from __future__ import annotations

import gc
import re
import weakref
from collections import defaultdict
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from gradcli import limits
from gradcli.core.tensor.state import state
from gradcli.errors import Code, InternalFault, LimitError, ProgramError, runtime_error

if TYPE_CHECKING:
    from gradcli.core.tensor.dtypes import DType
    from gradcli.core.tensor.tensor import Tensor

Edge = tuple["Node | None", int]
NO_EDGE: Edge = (None, 0)
#: take the place of an output's number in hooks of the node itself, which run before or after the node's rules
BEFORE, AFTER = -1, -2


class Node:
    """A step of the graph. `edges` are (node, output number) of the inputs, (None, 0) where no gradient is wanted.

    `shape` and `dtype` describe the single output; nodes with several outputs have them in `outputs` instead. A `plain`
    node has one output, float32 or float64, and neither hooks nor retained gradients: it may take the fast path of a walk.
    """

    __slots__ = ("edges", "shape", "dtype", "outputs", "sequence", "origin", "hooks", "retained", "plain", "metadata", "__weakref__")

    edges: tuple[Edge, ...]
    #: what programs keep with the node; made when it is first asked for
    metadata: object
    #: whether it stands for several nodes, and unfolds into them when it is read (gradcli/core/plans)
    folded: ClassVar[bool] = False
    #: whether programs see what is behind it in its place
    hidden: ClassVar[bool] = False
    #: whether its rule is called even if no gradient has arrived
    runs_anyway: ClassVar[bool] = False
    #: whether a real input has the real part of a complex gradient
    real_part: ClassVar[bool] = True
    #: whether what it had saved has been let go
    freed: bool = False

    def __init__(self, edges: tuple[Edge, ...], shape: tuple[int, ...], dtype: DType) -> None:
        self.edges = edges
        self.shape = shape
        self.dtype = dtype
        self.outputs: tuple[tuple[tuple[int, ...], DType], ...] | None = None
        self.sequence = state.sequence
        state.sequence += 1
        if state.sequence > state.recount:
            recount()
        self.origin = state.origin
        #: tensor hooks: (output number, handle id, function on Tensor); those of the node have BEFORE or AFTER as the number
        self.hooks: list[tuple[int, int, Callable[..., Any]]] | None = None
        #: output number -> the tensor whose gradient is kept (retain_grad)
        self.retained: dict[int, Tensor] | None = None
        self.plain = dtype.is_plain

    @property
    def type_name(self) -> str:
        """The literal class name in PyTorch, e.g. `MulBackward0`."""
        raise NotImplementedError

    @property
    def path(self) -> str:
        """The name with its module, as the repr shows it."""
        return self.type_name

    def name(self) -> str:
        """What `grad_fn.name()` returns: nodes that exist only in C++ carry their namespace."""
        return self.type_name

    @property
    def listed(self) -> Sequence[int]:
        """The indices of the edges that PyTorch has too: those of inputs that can have a derivative."""
        return range(len(self.edges))

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        """Pairs of (node, output number), one for each input that can have a derivative."""
        return tuple([_shown(self.edges[i]) for i in self.listed])

    @property
    def saved_names(self) -> tuple[str, ...]:
        """Names that `_saved_NAME` can read."""
        return ()

    def saved_value(self, name: str) -> Any:
        """The value behind `_saved_NAME`."""
        raise InternalFault(f"{self.type_name} saved no {name}")

    def meta(self, number: int) -> tuple[tuple[int, ...], DType]:
        """Shape and dtype of output `number`."""
        if self.outputs is None:
            return self.shape, self.dtype
        return self.outputs[number]

    def gradients(self, grads: list[Any], traced: bool, wanted: Sequence[bool]) -> list[Any]:
        """Gradients of the inputs from those of the outputs (arrays; Tensors when `traced`), None where not wanted."""
        raise NotImplementedError

    def release(self) -> None:
        """Forget what was saved; a later walk through this node raises."""

    # --- folded nodes ---

    @property
    def stands_for(self) -> int:
        """The number of nodes that it unfolds into."""
        return 1

    def outward(self) -> Sequence[Edge]:
        """The edges that lead out of what it stands for, one for each gradient."""
        return self.edges

    def outward_gradients(self, grad: Any, keep: bool) -> list[Any] | None:
        """The gradients for the edges `outward`, or None where the nodes that it stands for have to be visited one by one."""
        return None


def members(last: Node, count: int) -> list[Node]:
    """The nodes that a folded node stands for, or stood for before it was unfolded, newest first."""
    oldest = last.sequence - count
    found: dict[int, Node] = {}
    stack: list[Node] = [last]
    while stack:
        node = stack.pop()
        if node.sequence not in found:
            found[node.sequence] = node
            stack += [to for to, _ in node.edges if to is not None and to.sequence > oldest]
    return [found[sequence] for sequence in sorted(found, reverse=True)]


def recount() -> None:
    """Count the nodes that are alive. Raises LimitError where they are more than the bound.

    The next count comes when as many new nodes have been made as the bound leaves room for, so counts are rare.
    """
    most = limits.current.nodes
    alive = sum(one.stands_for for one in gc.get_objects() if isinstance(one, Node))
    if alive > most:
        gc.collect()
        alive = sum(one.stands_for for one in gc.get_objects() if isinstance(one, Node))
    if alive > most:
        raise LimitError("nodes", f"a graph of more than {most:,.0f} nodes is over the limit")
    state.recount = state.sequence + most - alive


class AccumulateGrad(Node):
    """The node of a leaf: the gradient that arrives is added to `variable.grad`."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        super().__init__((), variable.array.shape, variable.dtype)
        self.variable = variable
        self.origin = None

    def takes_as_is(self) -> bool:
        """Whether it has no hooks, and a gradient of the shape and dtype that the leaf has now reaches it without a change."""
        variable = self.variable
        return self.hooks is None and self.shape == variable.array.shape and self.dtype is variable.dtype

    @property
    def type_name(self) -> str:
        return "AccumulateGrad"

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"


def _shown(edge: Edge) -> Edge:
    """An edge as programs see it."""
    node, number = edge
    while node is not None and node.hidden:
        node, number = node.edges[0] if node.edges else NO_EDGE
    return node, number


class Nowhere(Node):
    """Where the gradient of a view ends that requires grad as its base does, and has neither a node nor a gradient of its own.

    Such a view was made without recording. Programs see no edge there.
    """

    __slots__ = ()

    hidden = True

    @property
    def type_name(self) -> str:
        return "unrecorded view"

    def gradients(self, grads: list[Any], traced: bool, wanted: Sequence[bool]) -> list[Any]:
        return []


def freed_error() -> ProgramError:
    """The error of a second walk through a graph whose saved tensors are gone."""
    return runtime_error(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
        "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
        "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
        "after calling backward.",
        code=Code.GRAPH_FREED,
    )


#: the tensors that `detach_` has cut out of a graph, by id, while they live
DETACHED: dict[int, weakref.ref[Tensor]] = {}


def note_detached(tensor: Tensor) -> None:
    """Remember a tensor that is cut out of its graph: nodes that keep it cannot go on from it."""
    key = id(tensor)
    DETACHED[key] = weakref.ref(tensor, lambda _: DETACHED.pop(key, None))


def detached_error() -> ProgramError:
    """PyTorch's error of a node that keeps an operand which was cut out of its graph meanwhile."""
    return runtime_error(
        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please use out-of-place "
        "`.detach()` instead"
    )


def message_name(grad_fn: str) -> str:
    """The name as error messages give it: `Exp` for `ExpBackward0`, `Pow1` for `PowBackward1`; other names are whole."""
    return re.sub(r"Backward(?:0$|(?=[1-9]*$))", "", grad_fn)


_FOUND = (
    "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was changed in "
    "there or anywhere later. Good luck!"
)
_NOT_FOUND = (
    "enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)


def modified_error(dtype: DType, shape: tuple[int, ...], node: Node | None, number: int, version: int, expected: int) -> ProgramError:
    """PyTorch's error when a saved tensor was written to before backward needed it."""
    where = "" if node is None else f", which is output {number} of {message_name(node.name())},"
    return runtime_error(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{dtype.tensor_name} {list(shape)}]{where} is at version {version}; expected version {expected} instead. "
        f"Hint: {_FOUND if state.anomaly else _NOT_FOUND}",
        code=Code.SAVED_TENSOR_MODIFIED,
    )


_INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked by "
    "autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead "
    "of `torch.inference_mode()`."
)


def inference_saved() -> ProgramError:
    """PyTorch's error for an inference tensor that would be saved."""
    return runtime_error(_INFERENCE, Code.INFERENCE_TENSOR_SAVED)


def misfit_error(node: str, place: str, have: str, wanted: str) -> ProgramError:
    """The error of a node that gave its operand at `place` a gradient of shape `have`, which cannot be reduced to `wanted`."""
    return runtime_error(
        f"Function {node} returned an invalid gradient at index {place} - got {have} but expected shape compatible with {wanted}",
        Code.GRADIENT_SHAPE,
        names=(place, have, wanted),
    )


# --- the order of a walk ---


_newest_first = attrgetter("sequence")


def reachable(edges: Sequence[Edge], folded: dict[Node, int] | None = None) -> tuple[list[Node], dict[Node, int]]:
    """The nodes that can be reached, newest first, so that consumers come before what they consumed.

    Accumulators come apart, each with the number of edges into it: it runs as soon as its last consumer has run. Folded nodes stay
    folded, and are added to `folded` with the number of nodes that they stand for, if that is given.
    """
    order: list[Node] = []
    seen: set[Node | None] = {None}
    sinks: dict[Node, int] = {}
    for node, _ in edges:
        if type(node) is AccumulateGrad:
            sinks[node] = 0
        elif node not in seen:
            seen.add(node)
            order.append(node)  # type: ignore[arg-type]
    for one in order:  # which grows on the way
        if one.folded and folded is not None:
            folded[one] = one.stands_for
            outward = one.outward()
        else:
            outward = one.edges
        for nxt, _ in outward:
            if nxt in seen:
                continue
            if type(nxt) is AccumulateGrad:
                sinks[nxt] = sinks.get(nxt, 0) + 1
            else:
                seen.add(nxt)
                order.append(nxt)  # type: ignore[arg-type]
    if folded and not all(one.folded for one in folded):  # reading another of its nodes has unfolded one
        folded.clear()
        return reachable(edges, folded)
    order.sort(key=_newest_first, reverse=True)
    return order, sinks


def leading_to(order: list[Node], targets: Sequence[Edge]) -> defaultdict[Node, bool]:
    """For each node, whether a gradient of a target passes through it; False for what is not reached."""
    needed: defaultdict[Node, bool] = defaultdict(bool)
    for node, _ in targets:
        if node is not None:
            needed[node] = True
    for node in reversed(order):
        needed[node] = needed[node] or any(nxt is not None and needed[nxt] for nxt, _ in node.edges)
    return needed


def count_consumers(order: list[Node], targets: Sequence[Edge]) -> dict[Node, int]:
    """The accumulators among the targets, with the number of edges into each from the nodes that will run."""
    counts: dict[Node, int] = {node: 0 for node, _ in targets if type(node) is AccumulateGrad}
    for node in order:
        for nxt, _ in node.edges:
            if nxt in counts:
                counts[nxt] += 1
    return counts
