"""Hooks of tensors and of nodes: functions that a backward walk calls with gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from gradcli.core.autograd.hook_calls import check_replacement
from gradcli.core.autograd.walk import Walk
from gradcli.core.calling.mappings import OrderedDict
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, sequence_of
from gradcli.core.functions.function import PythonMethod
from gradcli.core.tensor.node import AFTER, BEFORE, Node, Nowhere
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error


class HookHandle(Scripted):
    """What `register_hook` and its like return: `remove()` takes the hook away.

    `take_away(number)` removes the hook of that number from wherever it hangs.
    """

    __slots__ = ("take_away", "number")

    SCRIPT_NAME = "torch.utils.hooks.RemovableHandle"
    SCRIPT_ATTRIBUTES = {"id": lambda handle: handle.number}

    def __init__(self, take_away: Callable[[int], None]) -> None:
        self.take_away = take_away
        self.number = state.next_hook()

    def remove(self) -> None:
        """Take the hook away; a second time does nothing."""
        self.take_away(self.number)

    SCRIPT_METHODS = {"remove": Routine(remove)}

    def enter(self) -> HookHandle:
        """Begin a block, for the duration of which the hook is there."""
        return self

    def exit(self) -> None:
        """End the block."""
        self.remove()


class MultiHandle(HookHandle):
    """What `register_multi_grad_hook` returns."""

    __slots__ = ()

    SCRIPT_NAME = "torch.autograd.graph._MultiHandle"


def register_hook(self: Tensor, hook: Any) -> HookHandle:
    """Call `hook(grad)` when the gradient of this tensor is known; what it returns, if anything, replaces it."""
    if not self.requires_grad:
        raise runtime_error("cannot register a hook on a tensor that doesn't require gradient")
    node = self.grad_fn
    if node is None:
        return _hang_on_leaf(self, hook)
    self.set_property("hooked", True)
    return _hang(node, self.output_nr, hook)


def _refuse_change(hooks: TensorHooks, *args: Any, **more: Any) -> Any:
    raise ProgramError("NotImplementedError", "a change of the _backward_hooks of a tensor is not part of gradcli: remove() the hooks")


class TensorHooks(OrderedDict):
    """The hooks of a tensor by number. They are not changed here: `remove()` of what registering returns takes one away."""

    __slots__ = ()

    def copy(self) -> OrderedDict:
        """The hooks in a mapping of their own."""
        return OrderedDict(dict(self.table))

    SCRIPT_METHODS = {
        **OrderedDict.SCRIPT_METHODS,
        **dict.fromkeys(
            ("__setitem__", "__delitem__", "clear", "move_to_end", "pop", "popitem", "setdefault", "update"), Routine(_refuse_change)
        ),
        "copy": Routine(copy),
    }


def hooks_of(tensor: Tensor) -> TensorHooks | None:
    """The hooks of a tensor by number, as programs read them; None where it never had one."""
    node = tensor.grad_fn
    hooks = tensor.property_of("hooks") if node is None else (node.hooks or ()) if tensor.property_of("hooked") else None
    return None if hooks is None else TensorHooks({number: hook for at, number, hook in hooks if at == tensor.output_nr})


def _hang_on_leaf(leaf: Tensor, hook: Any) -> HookHandle:
    """A hook of a leaf, which lives as long as the leaf: each of its accumulators takes it over."""
    first = leaf.accumulator

    def take_away(known: int) -> None:
        leaf.set_property("hooks", _without(leaf.property_of("hooks"), known))
        for place in (first, leaf.accumulator):
            sink = None if place is None else place()
            if sink is not None:
                sink.hooks = _without(sink.hooks, known) or None

    handle = HookHandle(take_away)
    entry = (0, handle.number, hook)
    leaf.set_property("hooks", [*(leaf.property_of("hooks") or ()), entry])
    sink = None if leaf.accumulator is None else leaf.accumulator()
    if sink is not None:
        sink.hooks, sink.plain = [*(sink.hooks or ()), entry], False
    return handle


#: the number of an output, that of the handle, and the hook
Entry = tuple[int, int, Callable[..., Any]]


def _without(hooks: Sequence[Entry] | None, known: int) -> list[Entry]:
    return [hook for hook in hooks or () if hook[1] != known]


def _hang(node: Node, number: int, hook: Any) -> HookHandle:
    def take_away(known: int) -> None:
        node.hooks = _without(node.hooks, known) or None

    handle = HookHandle(take_away)
    node.plain = False
    node.hooks = [*(node.hooks or []), (number, handle.number, hook)]
    return handle


def register_node_hook(node: Node, fn: Any) -> HookHandle:
    """`grad_fn.register_hook(fn)`: call `fn(grad_inputs, grad_outputs)` when the node has run; what it returns replaces grad_inputs."""
    return _hang(node, AFTER, fn)


def register_node_prehook(node: Node, fn: Any) -> HookHandle:
    """`grad_fn.register_prehook(fn)`: call `fn(grad_outputs)` before the node runs; what it returns replaces them."""
    return _hang(node, BEFORE, fn)


def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> HookHandle:
    """Call `hook(leaf)`, which has to return None or the leaf itself, each time `.grad` has been filled."""
    if not self.requires_grad:
        raise runtime_error("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise runtime_error("post accumulate grad hooks cannot be registered on non-leaf tensors")

    def take_away(known: int) -> None:
        self.set_property("after_accumulation", [h for h in self.property_of("after_accumulation") or () if h[0] != known])

    def call(leaf: Tensor) -> None:
        returned = hook(leaf)
        if returned is not None and returned is not leaf:
            check_replacement(hook, leaf, returned)
            raise runtime_error("Tensor post accumulate grad hooks should return None.")

    handle = HookHandle(take_away)
    self.set_property("after_accumulation", [*(self.property_of("after_accumulation") or ()), (handle.number, call)])
    return handle


def _node_of(tensor: Any) -> Node | None:
    node = tensor.edge()[0] if type(tensor) is Tensor else None
    if type(tensor) is Tensor and (node is None or type(node) is Nowhere):
        raise ProgramError("AssertionError", "Expected gradient function to be set")
    return node


def _register_multi_grad_hook(tensors: Any, fn: Any, *, mode: str = "all") -> HookHandle:
    """Call `fn(grads)` once in each backward, when the gradients of all `tensors` are known ("any": `fn(grad)` with the first)."""
    if mode not in ("all", "any"):
        raise ProgramError("ValueError", f"Expects mode to be one of ('all', 'any') but got {formatted(mode)}")
    own = sequence_of(tensors)
    # as PyTorch's, which count the calls of each walk, and compare with how many of the nodes the walk comes to
    nodes = [_node_of(tensor) for tensor in own] if mode == "all" else []
    calls: WeakKeyDictionary[Walk, tuple[int, list[Tensor | None]]] = WeakKeyDictionary()
    wanted = 0

    def arrived(i: int, grad: Tensor) -> None:
        nonlocal wanted
        walk = Walk.running
        assert walk is not None
        count, known = calls.get(walk) or (0, [None] * len(own))
        calls[walk] = count + 1, known
        if mode == "any":
            if not count:
                fn(grad)
            return
        if not count:
            wanted = sum(walk.reaches(node) for node in nodes)
        known[i] = grad
        if count == wanted - 1:
            fn(known)
            del calls[walk]

    handles = [register_hook(tensor, partial(arrived, i)) for i, tensor in enumerate(own) if mode == "all" or tensor.requires_grad]

    def take_away(_: int) -> None:
        for handle in handles:
            handle.remove()

    return MultiHandle(take_away)


REGISTER_MULTI_GRAD_HOOK = Routine(_register_multi_grad_hook, "register_multi_grad_hook")

METHODS = (
    PythonMethod(register_hook, "register_hook", "A function to call with the gradient."),
    PythonMethod(
        register_post_accumulate_grad_hook,
        "register_post_accumulate_grad_hook",
        "A function to call with the leaf when its .grad has been filled.",
    ),
)
