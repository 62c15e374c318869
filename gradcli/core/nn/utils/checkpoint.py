"""torch.utils.checkpoint: parts of a model that PyTorch computes again in the backward pass, to save memory. Here they are kept."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.nn.module import Module
from gradcli.errors import ProgramError

_NO_CHOICE = (
    "torch.utils.checkpoint{}: the use_reentrant parameter should be passed explicitly. {} use_reentrant=False is recommended, but if you "
    "need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences "
    "between the two variants."
)
_WILL_RAISE = (
    "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception.",
    "In version 2.9 we will raise an exception if use_reentrant is not passed.",
)


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
    """What the function returns for the arguments. It runs once, as with `use_reentrant=False`."""
    if use_reentrant is None:
        warnings.emit(_NO_CHOICE.format("", _WILL_RAISE[0]))
    return function(*args, **kwargs)


@Routine
def checkpoint_sequential(functions: Any, segments: Any, input: Any, use_reentrant: Any = None, preserve_rng_state: Any = True) -> Any:
    """The functions, or the modules of a Sequential, called one after the other."""
    steps = list(functions.children_by_name.values()) if isinstance(functions, Module) else list(functions)
    if type(segments) is not int or segments < 1:
        raise ProgramError("ValueError", "checkpoint_sequential() takes a positive number of segments")
    if use_reentrant is None:
        warnings.emit(_NO_CHOICE.format(".checkpoint_sequential", _WILL_RAISE[1]))
    for step in steps:
        input = step(input)
    return input
