"""Rules that many records share, and records of operations that PyTorch gives a node but no derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule, no_derivative
from gradcli.errors import ProgramError

UNCHANGED = Rule(lambda grad: grad, "grad")
NEGATED = Rule(lambda grad: -grad, "-grad")


def zero(note: str = "") -> Rule:
    """The derivative is 0 everywhere; `note` says what that means where the function is not differentiable."""
    return Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad", note)


ZERO = zero()


def refused(error: Callable[[], ProgramError]) -> Rule:
    """A derivative that PyTorch does not have: the backward pass raises the error that `error` makes."""

    def refuse(grad: Any) -> Any:
        raise error()

    return Rule(refuse, "")


def not_differentiable(
    name: str, forward: Callable[..., Any], tensors: str, attrs: str = "", *, elementwise: bool = False, number: str = ""
) -> Op:
    """The record of PyTorch's operator `aten::name`: its results require gradients, and the backward pass raises RuntimeError.

    `number` is the operand that is a Python number.
    """
    rule = refused(lambda: no_derivative(f"aten::{name}"))
    rules: Any = {operand: None if operand == number else rule for operand in tensors.split()}
    kind = Pointwise if elementwise else Op
    return kind("NotImplemented", forward, tensors, attrs, full_name="torch::autograd::NotImplemented", **rules)
