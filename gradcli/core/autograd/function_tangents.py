"""Tangents of the outputs of custom functions, which the program's `jvp` computes, with PyTorch's checks of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.tensor.state import ForwardLevel
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error

_TANGENT_NOT_WRITTEN = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an input inplace, then "
    "the jvp function must modify the corresponding gradient inplace."
)


def push_tangents(
    level: ForwardLevel,
    ctx: Any,
    jvp: Callable[..., Any],
    args: tuple[Any, ...],
    given: Sequence[Tensor | None],
    outputs: Sequence[Any],
) -> None:
    """Give the outputs the tangents that the program's `jvp` computes from those of the arguments, `given`.

    Raises RuntimeError where an output that was written in place, or is a view of an input, has a tangent that is not, as PyTorch does.
    """
    versions = [None if known is None else known.counter().count for known in given]
    found = jvp(
        ctx,
        *[
            Tensor(np.zeros(arg.array.shape, arg.dtype.np), arg.dtype)
            if known is None and ctx.materialize and type(arg) is Tensor and arg.dtype.is_differentiable
            else known
            for arg, known in zip(args, given, strict=True)
        ],
    )
    tangents: Sequence[Any] = found if isinstance(found, tuple) else (found,)
    if len(tangents) != len(outputs):
        count = f"expected {len(outputs)} but got {len(tangents)}"
        raise runtime_error(f"Function's jvp returned an invalid number of forward gradients ({count})")
    for at, (one, tangent) in enumerate(zip(outputs, tangents, strict=True)):
        if type(one) is not Tensor or tangent is None:
            continue
        if not one.dtype.is_differentiable or any(one is other for other in ctx.non_differentiable):
            raise runtime_error(
                f"Function's jvp returned a gradient at position {at}, but  the corresponding forward output is not a differentiable "
                "Tensor.You should return None at that position instead."
            )
        written = next((k for k, arg in enumerate(args) if arg is one and given[k] is not None), None)
        if written is not None and (tangent.counter().count == versions[written] or tangent is not given[written]):
            raise runtime_error(_TANGENT_NOT_WRITTEN)
        if written is None and one.view is not None:
            _check_view(tangent, next((known for arg, known in zip(args, given, strict=True) if _base(arg) is one.view.base), None))
        if tangent.array.shape != one.array.shape:
            raise shape_error(
                f"Expected the tangent of an output to have its shape {list(one.array.shape)}, got {list(tangent.array.shape)}"
            )
        level.set_tangent(one, tangent)


def _base(value: Any) -> Any:
    """The tensor of which a value is a view; itself where it is none."""
    return value.view.base if type(value) is Tensor and value.view is not None else value


def _check_view(tangent: Tensor, of_input: Tensor | None) -> None:
    """Raise RuntimeError unless the tangent of an output that is a view of an input is such a view of that input's tangent."""
    if of_input is None:
        return
    if tangent.view is None:
        raise runtime_error("A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view.")
    if tangent.view.base is not _base(of_input):
        which = "the given grad input" if of_input.view is None else "the same base as the given grad input"
        raise runtime_error(f"A custom Function is returning a view but the jvp is not returning a view of {which}.")
