"""The text of tensors, and of containers that the core prints itself, such as the state of an optimiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Any

from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error

#: PyTorch's error of vmap for an operation that takes dual tensors apart
NO_RULE = "Batching rule not implemented for aten::{}; the fallback path doesn't work on out= or view ops."


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
    if levels or tensor.batch is not None:
        return _wrapped(tensor, levels)
    return _plain(tensor, tensor.requires_grad, grad_fn_name(tensor), is_parameter=tensor.is_parameter, tangent=tangent_text(tensor))


def _plain(tensor: Tensor, requires_grad: bool, grad_fn: str | None, **more: Any) -> str:
    return printing.tensor_text(
        tensor.array,
        tensor.dtype.name,
        options=printing.options,
        default_dtype=dtypes.get_default().name,
        requires_grad=requires_grad,
        grad_fn=grad_fn,
        **more,
    )


def _wrapped(tensor: Tensor, levels: Sequence[Any]) -> str:
    """The text of a tensor within torch.func: that of its values, wrapped in each level, the innermost level outside."""
    array: Any = tensor.array
    if tensor.batch is not None:
        inside = [level for level in levels if level.number > array.level.number]
        if array.dim is None and state.dual is not None and "jvp" not in state.transforms and state.dual.tangent_of(tensor) is not None:
            name = "_unpack_dual" if tensor.array.ndim else "detach"
            raise runtime_error(NO_RULE.format(name))
        text = tensor_repr(array.value)
        if array.dim is not None:
            text = _within(f"BatchedTensor(lvl={array.level.number}, bdim={array.dim}", text)
    else:
        inside = list(levels)
        requires_grad, node = levels[0].history(tensor, levels)
        text = _plain(tensor, requires_grad, None if node is None else node.type_name)
    for level in inside:
        number = level.number if level.open else -2  # as PyTorch numbers levels that have ended
        text = _within(f"GradTrackingTensor(lvl={number}", text)
    return text


def _within(start: str, text: str) -> str:
    return f"{start}, value=\n{indent(text, '    ')}\n)"


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
