"""torch.autograd.graph's blocks in which saved tensors go through hooks, or may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.autograd.grad_mode import Decorating
from gradcli.core.autograd.packed_tensors import Pair
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Scripted, ScriptType, script_type
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import shown
from gradcli.errors import ProgramError, runtime_error


def push(pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
    """Put a pair of hooks in force. Raises RuntimeError where `disable_saved_tensors_hooks` forbids that."""
    if state.saving_forbidden is not None:
        raise runtime_error(state.saving_forbidden)
    state.saving, state.observed = Pair(pack_hook, unpack_hook, state.saving), True


def pop() -> None:
    """Put the pair of hooks in force that was there before the last `push`."""
    # Assignments alone, since a call could fail for want of memory and leave one of them out.
    state.saving = state.saving.outer if state.saving is not None else None
    state.observed = state.saving is not None or state.watch is not None


_NO_FUNCTIONS = (
    "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument types are supported:\n"
    "    1. (arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\nInvoked with: {}, {}"
)


class SavedTensorsHooks(Scripted):
    """`saved_tensors_hooks(pack_hook, unpack_hook)`: what nodes keep goes through `pack_hook`, and back through the other."""

    __slots__ = ("pack_hook", "unpack_hook")

    SCRIPT_NAME = "saved_tensors_hooks"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES = Attributes.read("pack_hook unpack_hook")
    SCRIPT_SETTERS = Attributes.write("pack_hook unpack_hook")

    def __init__(self, pack_hook: Any, unpack_hook: Any) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def enter(self) -> None:
        """Begin the block."""
        if not (callable(self.pack_hook) and callable(self.unpack_hook)):
            raise ProgramError("TypeError", _NO_FUNCTIONS.format(shown(self.pack_hook), shown(self.unpack_hook)))
        push(self.pack_hook, self.unpack_hook)

    def exit(self) -> None:
        """End the block."""
        pop()


class SaveOnCpu(SavedTensorsHooks):
    """`save_on_cpu()`: saved tensors rest on the CPU, which is where they are; `pin_memory` makes it a copy."""

    __slots__ = ()

    SCRIPT_NAME = "save_on_cpu"

    def __init__(self, pin_memory: Any = False, device_type: Any = "cuda") -> None:
        def pack(tensor: Tensor) -> Tensor:
            return Tensor(tensor.array.copy(), tensor.dtype) if pin_memory else tensor

        super().__init__(Routine(pack, "pack_to_cpu"), Routine(lambda packed: packed, "unpack_from_cpu"))


SAVED_TENSORS_HOOKS = script_type(SavedTensorsHooks, "torch.autograd.graph")
SAVE_ON_CPU = script_type(SaveOnCpu, "torch.autograd.graph")


class _GeneratorBlock(Decorating, Scripted):
    """A block that PyTorch writes as a generator."""

    __slots__ = ()

    SCRIPT_NAME = "contextlib._GeneratorContextManager"


class Disabled(_GeneratorBlock):
    """`disable_saved_tensors_hooks(error_message)`: setting hooks inside is an error with that message."""

    __slots__ = ("message", "before", "__weakref__")

    def __init__(self, message: str) -> None:
        self.message = message
        self.before: str | None = None

    def copy(self) -> Disabled:
        return Disabled(self.message)

    def enter(self) -> None:
        if state.saving is not None:
            raise runtime_error(self.message)
        self.before, state.saving_forbidden = state.saving_forbidden, self.message

    def exit(self) -> None:
        state.saving_forbidden = self.before

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *_: object) -> None:
        self.exit()


class MutationContext(Scripted):
    """What `allow_mutation_on_saved_tensors()` binds: the copies that were made while it lasts."""

    __slots__ = ("copies", "__weakref__")

    SCRIPT_NAME = "torch.autograd.graph._AllowMutationOnSavedContext"

    def __init__(self) -> None:
        self.copies: dict[int, Tensor] | None = {}

    def pack(self, tensor: Tensor) -> int:
        """Keep the values as they are now; returns their number."""
        if self.copies is None:
            raise ProgramError("AssertionError", _OUTSIDE)
        number = len(self.copies)
        self.copies[number] = Tensor(tensor.array.copy(), tensor.dtype)
        return number

    def unpack(self, number: int) -> Tensor:
        """The values that were kept. AssertionError when the block has ended."""
        if self.copies is None:
            raise ProgramError("AssertionError", _OUTSIDE)
        return self.copies[number]


_OUTSIDE = "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally recorded."


class AllowMutation(_GeneratorBlock):
    """`allow_mutation_on_saved_tensors()`: what is written to in place stays what it was for the nodes that keep it."""

    __slots__ = ("context", "__weakref__")

    #: the block that is under way
    running: AllowMutation | None = None

    def __init__(self) -> None:
        self.context = MutationContext()

    def copy(self) -> AllowMutation:
        return AllowMutation()

    def enter(self) -> MutationContext:
        if AllowMutation.running is not None:
            raise runtime_error("allow_mutation_on_saved_tensors contexts cannot be nested")
        push(self.context.pack, self.context.unpack)
        AllowMutation.running = self
        return self.context

    def exit(self) -> None:
        pop()
        AllowMutation.running = None
        self.context.copies = None


def disable_saved_tensors_hooks(error_message: Any) -> Disabled:
    """A block in which hooks on saved tensors are refused."""
    return Disabled(error_message)


def allow_mutation_on_saved_tensors() -> AllowMutation:
    """A block in which saved tensors may be written to."""
    return AllowMutation()


DISABLE_SAVED_TENSORS_HOOKS = Routine(disable_saved_tensors_hooks)
ALLOW_MUTATION_ON_SAVED_TENSORS = Routine(allow_mutation_on_saved_tensors)
