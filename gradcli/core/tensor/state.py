"""The state that recording depends on, such as grad mode, hooks on saved tensors and forward AD."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from gradcli.core.tensor.node import Node
    from gradcli.core.tensor.tensor import Tensor


class PackHooks(Protocol):
    """Hooks that a script has set on saved tensors; `outer` are those that were in force before."""

    @property
    def outer(self) -> PackHooks | None: ...

    def pack(self, node: Any, outs: Sequence[Tensor]) -> None:
        """Put every tensor that a new node keeps through the pack hook. `outs` are the results of the step."""

    def packed(self, tensor: Tensor, owner: Any) -> Any:
        """What a node keeps of one tensor. `owner` is the node of an output, None for another tensor."""


class ForwardLevel(Protocol):
    """A level of forward AD. Operations tell it what they did, and it gives their outputs tangents."""

    #: whether the level is computing tangents itself: operations tell it nothing meanwhile
    paused: bool
    #: whether numbers count as tensors in double precision
    functional: bool

    def tangent_of(self, value: Any) -> Tensor | None:
        """The tangent of a tensor, None without one."""

    def set_tangent(self, tensor: Tensor, tangent: Tensor) -> None:
        """Make `tensor` a dual tensor."""

    def alias(self, tensor: Tensor, made: Tensor) -> None:
        """Give `made`, which stands for `tensor` where that is written, its tangent."""

    def set_part(self, part: Tensor, base: Tensor, place: Any) -> None:
        """Make `part`, a view of `base`, a dual tensor if `base` is one."""

    def with_tangent(self, tensor: Tensor, operands: Sequence[Any], compute: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
        """`compute` of an in-place operation, for which the tensor has a tangent if an operand has one."""

    def push(self, op: Any, inputs: Sequence[Any], attrs: tuple[Any, ...], outs: Sequence[Tensor]) -> None:
        """The operation record `op` has computed `outs`."""

    def write(self, tensor: Tensor, tangent: Tensor | None) -> None:
        """A tensor has been written in place: its tangent is `tangent` now, None for zeros."""

    def written(self, tensor: Tensor, op: Any, more: Sequence[Any], attrs: tuple[Any, ...]) -> None:
        """A tensor has been written in place by `op`, with the further operands `more`."""

    def reshape(self, tensor: Tensor, op: Any, attrs: tuple[Any, ...]) -> None:
        """`op` has given a tensor another shape in place."""


class VmapLevel(Protocol):
    """A call of vmap that is running, and what batched tensors mean."""

    number: int
    size: int
    drawing: Any
    within: dict[str, Any] | None

    def levels(self, tensor: Tensor) -> Sequence[Any]:
        """The calls of vmap for each of whose samples a tensor is another, the innermost first."""

    def hides(self, tensor: Tensor) -> bool:
        """Whether vmap is the innermost level of a tensor, so that programs see nothing of its history."""

    def on_batch(self, op: Any, args: tuple[Any, ...]) -> Any:
        """The results of an operation record; None where no argument is batched."""

    def by_samples(self, run: Callable[..., Any], args: Sequence[Any], error: Any) -> Any:
        """The results of a function that asked for elements, by one sample after the other. Raises the error where there are none."""

    def of_batch(self, name: str, run: Callable[..., Any], args: Sequence[Any], error: Any) -> Any:
        """The error of a function, as PyTorch's operation on the whole batch raises it."""

    def by_rule(self, rule: Callable[..., Any], run: Callable[..., Any], args: Sequence[Any]) -> Any:
        """The outputs of the vmap staticmethod `rule` of a custom function whose forward is `run`."""

    def number_of(self, tensor: Tensor) -> Any:
        """The only element of a tensor. Raises PyTorch's RuntimeError for a batched one."""

    def is_recorded_outside(self, tensor: Tensor) -> bool:
        """Whether a tensor has a history, or a tangent, outside of the vmap that it is batched in."""

    def lift(self, tensor: Tensor) -> Tensor:
        """A tensor as it stands within the level, with a history of its own there."""


class State:
    """What recording depends on, such as grad mode, and what is under way."""

    __slots__ = (
        *("enabled", "grad_mode", "inference", "origin", "sequence", "recount", "anomaly", "anomaly_nan", "anomaly_turns", "walks"),
        *("watch", "saving", "saving_forbidden", "observed", "mapped", "transforms", "within", "multithreading", "dual", "numpy"),
        *("hooks", "module_hooks", "deterministic", "settings", "validates"),
    )

    def __init__(self) -> None:
        #: whether operations are recorded: in grad mode, outside inference mode
        self.enabled = True
        self.grad_mode = True
        self.inference = False
        #: the place in the program that is running; nodes and errors keep it, and only the language looks into it
        self.origin: Any = None
        self.sequence = 0
        #: how many hooks were registered: the `id` of the next handle
        self.hooks = 0
        #: the sequence number at which live nodes are counted next
        self.recount: float = math.inf
        self.anomaly = False
        self.anomaly_nan = True
        #: how many backward walks with create_graph are under way
        self.walks = 0
        #: the sequence numbers at which anomaly detection was switched on, off, on ..., which tell the nodes made under it
        self.anomaly_turns: tuple[int, ...] = ()
        #: a list, if set, gets the node and the outputs of every recorded step, so that intermediate values can be shown
        self.watch: list[tuple[Node, tuple[Tensor, ...]]] | None = None
        #: the hooks on saved tensors that are in force
        self.saving: PackHooks | None = None
        #: the message of the error that setting hooks on saved tensors raises, None where they may be set
        self.saving_forbidden: str | None = None
        #: whether `watch` or `saving` is set
        self.observed = False
        #: the calls of vmap that are running, the innermost last
        self.mapped: tuple[VmapLevel, ...] = ()
        #: the transforms of torch.func that are running, the innermost last: "vmap", "grad" or "jvp"
        self.transforms: tuple[str, ...] = ()
        #: what the rare properties of a new tensor begin with: "levels", those of torch.func that are open; None outside
        self.within: dict[str, Any] | None = None
        #: the flag of `set_multithreading_enabled`, which has no effect here
        self.multithreading = True
        #: the forward AD level that is open
        self.dual: ForwardLevel | None = None
        #: what numpy's functions keep for the session, once a program has named them
        self.numpy: Any = None
        #: the hooks of all modules; None until the first is registered
        self.module_hooks: Any = None
        #: the flag of `use_deterministic_algorithms`, which tells what is in new memory
        self.deterministic = False
        #: what programs have set and read back, by name; replaced, never changed
        self.settings: dict[str, Any] = {}
        #: whether distributions check arguments that they get, where `validate_args` does not say
        self.validates = True

    def put(self, values: tuple[Any, ...]) -> None:
        """Set all fields, in the order of the slots. Each request of a batch does this twice, so there is no loop."""
        (
            self.enabled,
            self.grad_mode,
            self.inference,
            self.origin,
            self.sequence,
            self.recount,
            self.anomaly,
            self.anomaly_nan,
            self.anomaly_turns,
            self.walks,
            self.watch,
            self.saving,
            self.saving_forbidden,
            self.observed,
            self.mapped,
            self.transforms,
            self.within,
            self.multithreading,
            self.dual,
            self.numpy,
            self.hooks,
            self.module_hooks,
            self.deterministic,
            self.settings,
            self.validates,
        ) = values

    def set_watch(self, watch: list[tuple[Node, tuple[Tensor, ...]]] | None) -> None:
        """Let recorded steps be added to a list, or to none."""
        self.watch = watch
        self.observed = watch is not None or self.saving is not None

    def next_hook(self) -> int:
        """The number of a hook that is registered."""
        self.hooks += 1
        return self.hooks - 1

    def set_saving(self, hooks: PackHooks | None) -> None:
        """Put hooks on saved tensors in force, or none."""
        self.saving = hooks
        self.observed = hooks is not None or self.watch is not None

    def set_anomaly(self, on: bool, check_nan: bool) -> None:
        """Switch anomaly detection."""
        if on is not self.anomaly:
            self.anomaly_turns = (*self.anomaly_turns, self.sequence)
        self.anomaly, self.anomaly_nan = on, check_nan


state = State()


class recording:
    """`with recording(False):` switches recording off within the core's own code, `recording(True)` on."""

    __slots__ = ("wanted", "before")

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.before = True

    def __enter__(self) -> None:
        self.before = state.enabled
        state.enabled = self.wanted

    def __exit__(self, *_: object) -> None:
        state.enabled = self.before
