"""The text of tensors, and of containers that the core prints itself, such as the state of an optimiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from textwrap import indent
from typing import Any

from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.state import Batching, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def grad_fn_name(tensor: Tensor) -> str | None:
    """The name of a tensor's node as its text has it; None without a node."""
    try:
        node = tensor.grad_fn
        return None if node is None else node.type_name
    except ProgramError:
        return "Invalid"  # a view that may not be part of the graph any more


def tangent_text(tensor: Tensor) -> str | None:
    """The text of a tensor's forward gradient; None without one."""
    if state.dual is None:
        return None
    found = state.dual.tangent_of(tensor)
    return None if found is None else formatted(found)


def tensor_repr(tensor: Tensor) -> str:
    """`repr(tensor)` as PyTorch prints it with the print options in force."""
    levels = tensor.property_of("levels") or ()
    if levels or state.writes is not None:
        batches = [] if state.writes is None else state.writes.batches(tensor)
        if levels or batches:
            return _wrapped(tensor, levels, batches)
    return printing.tensor_text(
        tensor.array,
        tensor.dtype.name,
        options=printing.options,
        default_dtype=dtypes.get_default().name,
        requires_grad=tensor.requires_grad,
        grad_fn=grad_fn_name(tensor),
        is_parameter=tensor.is_parameter,
        tangent=tangent_text(tensor),
    )


def _wrapped(tensor: Tensor, levels: Sequence[Any], batches: Sequence[Batching]) -> str:
    """The text of a tensor within torch.func: that of its values, wrapped in each level, the innermost level outside."""
    requires_grad, node = levels[0].history(tensor, levels) if levels else (tensor.requires_grad, tensor.grad_fn)
    name = None if node is None else node.type_name
    array, wholes = tensor.array, []
    for batching in batches:
        if array is not None:
            array = batching.gather(array, batching.dim)
        wholes.append((batching.number, f"BatchedTensor(lvl={batching.number}, bdim={batching.dim}, value="))
        argument = batching.argument
        if argument is not None and not levels:
            requires_grad, name = argument.requires_grad, grad_fn_name(argument)
        elif name is not None:
            name = batching.named(name)
    if array is None:
        return ""  # a program sees no text before all samples have run
    text = printing.tensor_text(
        array,
        tensor.dtype.name,
        options=printing.options,
        default_dtype=dtypes.get_default().name,
        requires_grad=requires_grad,
        grad_fn=name,
    )
    wholes += [(level.number, f"GradTrackingTensor(lvl={level.number}, value=") for level in levels]
    for _, start in sorted(wholes, key=itemgetter(0)):
        text = f"{start}\n{indent(text, '    ')}\n)"
    return text


class Texts:
    """`repr` and `str` of a value of any type; the language provides them."""

    __slots__ = ("repr", "str")

    def __init__(self) -> None:
        self.repr: Callable[[object], str] = repr
        self.str: Callable[[object], str] = str


language = Texts()


def shown(value: object) -> str:
    """`repr(value)` as programs see it. All texts that have values in them are made by this function or by `formatted`."""
    return tensor_repr(value) if type(value) is Tensor else language.repr(value)


def formatted(value: object) -> str:
    """What an f-string writes for `{value}`: strings as they are, a 0-d tensor as its number, anything else as its repr."""
    if isinstance(value, str):
        return value
    if type(value) is Tensor and not value.array.ndim:
        return repr(value.item())
    return language.str(value)
