"""torch.autograd.function.once_differentiable: the decorator of a backward that cannot be differentiated again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted
from gradcli.core.graph.record import Op, Rule
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error


class _Once(Scripted):
    """A backward that cannot be differentiated again."""

    __slots__ = ("function",)

    SCRIPT_NAME = "function"
    SCRIPT_ATTRIBUTES: dict[str, Any] = {}

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @property
    def name(self) -> str:
        """`__name__`."""
        return str(getattr(self.function, "name", "backward"))

    def __call__(self, ctx: Any, *grads: Any) -> Any:
        with recording(False):
            found = self.function(ctx, *grads)
        if not state.enabled or not any(type(grad) is Tensor and grad.requires_grad for grad in grads):
            return found
        results = found if isinstance(found, tuple) else (found,)
        made: Any = _TWICE([_leaf(one) for one in results])
        made = tuple([out if type(one) is Tensor else one for one, out in zip(results, made, strict=True)])
        return made if isinstance(found, tuple) else made[0]


def _leaf(gradient: Any) -> Tensor:
    """A gradient as input of the node that raises: a leaf, as in PyTorch. What is no gradient needs none."""
    if type(gradient) is not Tensor:
        return Tensor(np.zeros((), np.float32), dtypes.float32)
    leaf = Tensor(gradient.array, gradient.dtype)
    leaf.requires_grad = True
    return leaf


def _no_second(grads: Any) -> Any:
    raise runtime_error("trying to differentiate twice a function that was marked with @once_differentiable")


_TWICE = Op(
    "Error",
    lambda gradients: gradients,
    "gradients",
    full_name="torch::autograd::Error",
    variadic=True,
    outputs="outputs",
    differentiable=1 << 62,
    saved="",
    gradients=Rule(_no_second, "not differentiable"),
    complex=True,
)


def once_differentiable(fn: Any) -> _Once:
    """Mark a backward that cannot be differentiated again."""
    return _Once(fn)


ONCE_DIFFERENTIABLE = Routine(once_differentiable, "once_differentiable")
