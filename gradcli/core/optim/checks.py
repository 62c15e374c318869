"""Checks of the optimisers' options, with PyTorch's texts."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.signature import hooks
from gradcli.core.calling.type_errors import not_ordered, not_subscriptable
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def number(value: Any, sign: str = "<=", left: bool = False) -> float:
    """A number to compare, from a number or a tensor of one element; `sign` and `left` shape the error for other types."""
    if type(value) is Tensor:
        return float(value.item())
    if isinstance(value, (int, float)):
        return value
    raise not_ordered(sign, value, 0.0) if left else not_ordered(sign, 0.0, value)


def at_least_zero(label: str, value: Any) -> None:
    """ValueError "Invalid LABEL: VALUE" for what is below zero or nan."""
    if not number(value) >= 0.0:
        raise ProgramError("ValueError", f"Invalid {label}: {_text(value)}")


def not_below_zero(label: str, value: Any) -> None:
    """The same, but nan passes, and wrong types are named on the left."""
    if number(value, "<", True) < 0.0:
        raise ProgramError("ValueError", f"Invalid {label}: {_text(value)}")


def _text(value: Any) -> str:
    """The value as an f-string shows it."""
    from gradcli.core.tensor.text import formatted

    return formatted(value)


def one_element(lr: Any) -> None:
    """A learning rate given as a tensor has one element."""
    if type(lr) is Tensor and lr.array.size != 1:
        raise ProgramError("ValueError", "Tensor lr must be 1-element")


def betas(value: Any) -> None:
    """Both decay rates are in [0, 1)."""
    if not isinstance(value, (tuple, list)):
        raise not_subscriptable(value)
    for i in range(2):
        if i >= len(value):
            raise ProgramError("IndexError", f"{hooks.type_name(value)} index out of range")
        if not 0.0 <= number(value[i]) < 1.0:
            raise ProgramError("ValueError", f"Invalid beta parameter at index {i}: {_text(value[i])}")


def fused(value: Any, differentiable: Any, foreach: Any = None) -> None:
    """`fused` and `foreach` change nothing here, but PyTorch refuses some pairs."""
    if value and differentiable:
        raise ProgramError("RuntimeError", "`fused` does not support `differentiable`")
    if value and foreach:
        raise ProgramError("RuntimeError", "`fused` and `foreach` cannot be `True` together.")
