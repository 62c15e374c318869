"""Methods about the tensor itself: its place in the graph, its values as Python numbers."""

from __future__ import annotations

from typing import Any

from gradcli import limits
from gradcli.core.autograd import hooks, tensor_state, torch_autograd
from gradcli.core.functions.function import Function, Sample
from gradcli.core.ops import operators
from gradcli.core.ops.checks import check_no_samples
from gradcli.core.tensor.tensor import Tensor


def _is_floating_point(input: Tensor) -> bool:
    return input.dtype.is_floating_point


def _tolist(input: Tensor) -> Any:
    limits.check_list(input.array.size, 32)
    check_no_samples((input,), "Cannot access data pointer of Tensor that doesn't have storage")
    return input.tolist()


FUNCTIONS: tuple[Any, ...] = (
    *torch_autograd.METHODS,
    *hooks.METHODS,
    Function(
        "detach",
        ("Tensor input", tensor_state.detach),
        doc="The same values outside the graph.",
        samples=(Sample("tensor([1.]).detach()"),),
    ),
    Function("detach_", ("Tensor input", tensor_state.detach_), doc="Cut out of the graph, in place."),
    Function(
        "requires_grad_",
        ("Tensor input, bool requires_grad=True", tensor_state.requires_grad_),
        doc="Switch gradients on or off, in place.",
        function=False,
    ),
    Function("retain_grad", ("Tensor input", tensor_state.retain_grad), doc="Keep the gradient of a computed tensor.", function=False),
    Function("item", ("Tensor input", operators.item), doc="The only element as a Python number.", function=False),
    Function("tolist", ("Tensor input", _tolist), doc="Nested lists of Python numbers.", function=False),
    Function("is_floating_point", ("Tensor input", _is_floating_point), doc="Whether the dtype is a float."),
    Function("is_complex", ("Tensor input", lambda t: t.dtype.is_complex), doc="Whether the dtype is complex."),
    Function("is_signed", ("Tensor input", lambda t: t.dtype.name not in ("bool", "uint8")), doc="Whether the dtype has negative values."),
    Function("is_inference", ("Tensor input", lambda t: bool(t.property_of("inference"))), doc="Whether made in inference mode."),
    Function("is_same_size", ("Tensor input, Tensor other", lambda a, b: a.array.shape == b.array.shape), doc="Whether the shapes agree."),
)
