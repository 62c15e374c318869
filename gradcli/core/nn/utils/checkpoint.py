"""torch.utils.checkpoint: parts of a model that PyTorch computes again in the backward pass, to save memory.

With `use_reentrant=True` they are computed again here too, by a node that walks a graph of its own; else they are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.core.autograd import custom_function
from gradcli.core.autograd.backward import backward
from gradcli.core.autograd.custom_function import FunctionNode, Functions
from gradcli.core.autograd.tensor_state import detach
from gradcli.core.autograd.walk import Walk
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.nn.module import Module
from gradcli.core.random.seeds import GET_RNG_STATE, SET_RNG_STATE
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
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
    """What the function returns for the arguments; with `use_reentrant` it runs again in the backward pass.

    Raises ValueError for keyword arguments, `context_fn` and `debug` with `use_reentrant`.
    """
    if use_reentrant is None:
        warnings.emit(_NO_CHOICE.format("", _WILL_RAISE[0]))
        use_reentrant = True
    if not use_reentrant:
        if state.saving_forbidden is not None:  # PyTorch saves by hooks
            raise runtime_error(state.saving_forbidden)
        return function(*args, **kwargs)
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
    for start in range(0, size * (segments - 1), size or 1):
        run = _run(steps[start : start + size])
        input = checkpoint(run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return _run(steps[size * (segments - 1) :])(input)


def _run(steps: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run
