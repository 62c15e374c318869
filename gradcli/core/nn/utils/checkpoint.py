"""torch.utils.checkpoint: parts of a model that are computed again in the backward pass, to save memory.

With `use_reentrant=True` a node computes them, and walks a graph of its own; else the hooks on what the nodes of the part keep.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradcli.core.autograd import custom_function
from gradcli.core.autograd.backward import backward
from gradcli.core.autograd.custom_function import FunctionNode, Functions
from gradcli.core.autograd.saved_tensor_hooks import pop, push
from gradcli.core.autograd.tensor_state import detach
from gradcli.core.autograd.walk import Walk
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import sequence_of
from gradcli.core.nn.module import Module
from gradcli.core.random.seeds import GET_RNG_STATE, SET_RNG_STATE
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import inference_saved, modified_error
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error

_NO_CHOICE = (
    "torch.utils.checkpoint{}: the use_reentrant parameter should be passed explicitly. {} use_reentrant=False is recommended, but if you "
    "need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences "
    "between the two variants."
)
_WILL_RAISE = (
    "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception.",
    "In version 2.9 we will raise an exception if use_reentrant is not passed.",
)
_NOT_WITH_GRAD = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to .backward(). To "
    "resolve this error, you can either set use_reentrant=False, or call .backward() without passing the `inputs` argument."
)

_TIP = (
    "\n"
    "Tip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\n"
    "enable checkpoint‑debug mode globally.\n"
    "\n"
    "If this error occurs under torch.compile with automatic_dynamic_shapes enabled,\n"
    "it may be because the recomputation selected a different compiled graph than the\n"
    "forward pass (e.g., a dynamic graph instead of the original static graph).\n"
    "To fix this, either:\n"
    "  - Use torch._dynamo.mark_dynamic() to explicitly mark varying dimensions as\n"
    "    dynamic upfront, avoiding the static-to-dynamic transition.\n"
    "  - Call torch._C._dynamo.eval_frame._set_lru_cache(False) to disable LRU cache\n"
    "    reordering, which can change which graph is checked first between forward\n"
    "    and recompute.\n"
    "See https://github.com/pytorch/pytorch/issues/166926 for more details and\n"
    "workaround examples.\n"
)
_UNPACKED_ONCE = (
    "Unpack is being triggered for a tensor that was already unpacked once. If you are calling ctx.saved_tensors in backward, make sure to "
    "do so only once. Otherwise please open an issue with details on your use case."
)
_OTHER_NUMBER = (
    "A different number of tensors was saved during the original forward and recomputation.\nNumber of tensors saved during forward: "
    "{}\nNumber of tensors saved during recomputation: {}.\n" + _TIP
)
_OTHER_METADATA = "Recomputed values for the following tensors have different metadata than during the forward pass.\n{}.\n" + _TIP
_MORE = "trying to save more tensors during recomputation than during the original forward pass.\n" + _TIP


def _forward(ctx: FunctionNode, function: Callable[..., Any], preserve_rng_state: Any, *args: Any) -> Any:
    if not any(arg.requires_grad for arg in args if type(arg) is Tensor):
        warnings.emit("None of the inputs have requires_grad=True. Gradients will be None")
    ctx.write("run_function", function)
    ctx.write("rng_state", GET_RNG_STATE() if preserve_rng_state else None)
    ctx.write("inputs", args)
    ctx.save_for_backward(*[arg for arg in args if type(arg) is Tensor])
    return function(*args)


def _backward(ctx: FunctionNode, *grads: Any) -> tuple[Any, ...]:
    walk = Walk.running
    if walk is not None and walk.targets is not None:
        raise runtime_error(_NOT_WITH_GRAD)
    saved = iter(ctx.saved_tensors)
    inputs = [_detached(next(saved)) if type(arg) is Tensor else arg for arg in ctx.read("inputs", ())]
    before, at_forward = GET_RNG_STATE(), ctx.read("rng_state", None)
    try:
        if at_forward is not None:
            SET_RNG_STATE(at_forward)
        with recording(True):
            found = ctx.read("run_function", None)(*inputs)
    finally:
        if at_forward is not None:
            SET_RNG_STATE(before)
    outputs = found if isinstance(found, tuple) else (found,)
    wanted = [(one, grad) for one, grad in zip(outputs, grads, strict=False) if type(one) is Tensor and one.requires_grad]
    if not wanted:
        raise runtime_error("none of output has requires_grad=True, this checkpoint() is not necessary")
    backward([one for one, _ in wanted], [grad for _, grad in wanted])
    return (None, None, *[arg.grad if type(arg) is Tensor else None for arg in inputs])


def _detached(tensor: Tensor) -> Tensor:
    alone = detach(tensor)
    alone.requires_grad = tensor.requires_grad
    return alone


_CHECKPOINT = Functions("CheckpointFunction", _forward, _backward, None, None)


class _Stop(ProgramError):
    """Ends the second computation, once it has come to the last tensor that is needed."""

    def __init__(self) -> None:
        super().__init__("_StopRecomputationError", "")


class _Frame:
    """One call of `checkpoint`: its nodes keep numbers, for which the function computes the tensors again, once in each walk."""

    def __init__(self, run: Callable[[], Any], early_stop: Any, compares: bool) -> None:
        self.run = run
        self.early_stop = early_stop
        #: shape and dtype of each tensor, where those that are computed again have to agree
        self.compares = compares
        self.metadata: list[_Metadata] = []
        #: how many tensors the nodes have kept
        self.count = 0
        #: those that were computed again, by number, how many they are, and the walk that asked for them
        self.found: dict[int, Tensor] = {}
        self.computed = 0
        self.walk: weakref.ref[Walk] | None = None

    def pack(self, tensor: Tensor) -> int:
        """The number of a tensor, in the order in which the nodes keep them."""
        self.count += 1
        self.metadata.append(_metadata(tensor))
        return self.count - 1

    def unpack(self, number: int) -> Tensor:
        """The tensor of a number. Raises CheckpointError for one that was asked for before."""
        walk = Walk.running
        if walk is None or self.walk is None or self.walk() is not walk:
            self._compute()
            self.walk = None if walk is None else weakref.ref(walk)
        if number not in self.found:
            raise _error(_UNPACKED_ONCE)
        return self.found.pop(number)

    def _compute(self) -> None:
        self.found, self.computed = {}, 0
        push(self._keep, lambda kept: kept)
        try:
            with recording(True):
                self.run()
        except _Stop:
            pass
        finally:
            pop()
        if self.computed != self.count:
            raise _error(_OTHER_NUMBER.format(self.count, self.computed))
        again = [_metadata(self.found[number]) for number in range(self.count)] if self.compares else self.metadata
        if again != self.metadata:
            raise _error(_OTHER_METADATA.format("".join(_differing(self.metadata, again))))

    def _keep(self, tensor: Tensor) -> Tensor:
        if self.computed == self.count:
            raise _error(_MORE)
        kept = self.found[self.computed] = detach(tensor) if tensor.requires_grad else tensor
        self.computed += 1
        if self.early_stop and self.computed == self.count:
            raise _Stop
        return kept


_Metadata = tuple[Size, DType]


def _metadata(tensor: Tensor) -> _Metadata:
    return tensor.shape, tensor.dtype


def _differing(saved: Sequence[_Metadata], again: Sequence[_Metadata]) -> Iterator[str]:
    for number, pair in enumerate(zip(saved, again, strict=True)):
        if pair[0] != pair[1]:
            one, other = (f"{{'shape': {shape!r}, 'dtype': {dtype!r}, 'device': device(type='cpu')}}" for shape, dtype in pair)
            yield f"tensor at position {number}:\nsaved metadata: {one}\nrecomputed metadata: {other}\n"


def _error(text: str) -> ProgramError:
    return ProgramError("CheckpointError", f"torch.utils.checkpoint: {text}")


def _kept_as_numbers(call: Callable[..., Any], args: Sequence[Any], early_stop: Any, preserve_rng_state: Any, compares: bool) -> Any:
    """What `call` returns for the arguments. What its nodes keep is computed again, with the same random numbers if that is asked for.

    The arguments are saved, by the hooks that are in force. Without hooks RuntimeError is raised then for one that has been written to.
    """
    at_forward = GET_RNG_STATE() if preserve_rng_state else None
    if any(type(arg) is Tensor and arg.property_of("inference") for arg in args):
        raise inference_saved()
    hooks = state.saving
    saved = [arg if hooks is None or type(arg) is not Tensor else hooks.packed(arg, None) for arg in args]
    inputs = [(arg, arg.version_number) for arg in saved if type(arg) is Tensor]

    def again() -> None:
        for tensor, version in inputs:
            if tensor.version_number != version:
                shape = tensor.array.shape
                raise modified_error(tensor.dtype, shape, tensor.grad_fn, tensor.output_nr, tensor.version_number, version)
        before = GET_RNG_STATE()
        try:
            if at_forward is not None:
                SET_RNG_STATE(at_forward)
            call(*[one if one is arg else one.open(None) for one, arg in zip(saved, args, strict=True)])
        finally:
            if at_forward is not None:
                SET_RNG_STATE(before)

    frame = _Frame(again, early_stop, compares)
    push(frame.pack, frame.unpack)
    try:
        return call(*args)
    finally:
        pop()


@Routine
def checkpoint(
    function: Any,
    *args: Any,
    use_reentrant: Any = None,
    context_fn: Any = None,
    determinism_check: Any = "default",
    debug: Any = False,
    early_stop: Any = True,
    preserve_rng_state: Any = True,
    **kwargs: Any,
) -> Any:
    """What the function returns for the arguments. It runs again in the backward pass.

    Raises ValueError for keyword arguments, `context_fn` and `debug` with `use_reentrant`.
    """
    if use_reentrant is None:
        warnings.emit(_NO_CHOICE.format("", _WILL_RAISE[0]))
        use_reentrant = True
    if not use_reentrant:
        if state.saving_forbidden is not None:  # PyTorch saves by hooks
            raise runtime_error(state.saving_forbidden)
        if determinism_check not in ("default", "none"):
            text = f"determinism_check should be one of ['default', 'none'], but got {formatted(determinism_check)}"
            raise ProgramError("ValueError", text)
        if context_fn is not None and any(getattr(one, "SCRIPT_NAME", "") != "nullcontext" for one in sequence_of(context_fn())):
            text = "checkpoint with a context_fn that gives other contexts than nullcontext is not part of gradcli"
            raise ProgramError("NotImplementedError", text)
        if not state.enabled:
            return function(*args, **kwargs)
        compares = determinism_check == "default"
        return _kept_as_numbers(lambda *args: function(*args, **kwargs), args, early_stop, preserve_rng_state, compares)
    if kwargs:
        raise ProgramError("ValueError", f"Unexpected keyword arguments: {','.join(kwargs)}")
    if context_fn is not None or debug is not False:
        raise ProgramError("ValueError", "Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return custom_function.apply(_CHECKPOINT, (function, preserve_rng_state, *args))


@Routine
def checkpoint_sequential(functions: Any, segments: Any, input: Any, use_reentrant: Any = None, preserve_rng_state: Any = True) -> Any:
    """Functions, or modules of a Sequential, called one after the other, as checkpoints of so many segments."""
    steps = list(functions.children_by_name.values()) if isinstance(functions, Module) else list(functions)
    if type(segments) is not int or segments < 1:
        raise ProgramError("ValueError", "checkpoint_sequential() takes a positive number of segments")
    if use_reentrant is None:
        warnings.emit(_NO_CHOICE.format(".checkpoint_sequential", _WILL_RAISE[1]))
        use_reentrant = True
    size = len(steps) // segments
    if not size:
        raise ProgramError("ValueError", "range() arg 3 must not be zero")
    for start in range(0, size * (segments - 1), size):
        run = _run(steps[start : start + size])
        input = checkpoint(run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return _run(steps[size * (segments - 1) :])(input)


def _run(steps: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run
