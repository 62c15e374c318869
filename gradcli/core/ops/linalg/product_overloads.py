"""Overloads that come in pairs or by families: how several functions declare them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.functions.function import Overload
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

#: how the functions that add to a product scale their terms
FACTORS = "*, Number beta=1, Number alpha=1"


def scaled(tensors: str, run: Callable[..., Tensor]) -> tuple[Overload, ...]:
    """The old overloads of a function that adds to a product: the scales stand among the tensors."""
    return (
        (f"Number beta, Tensor input, Number alpha, {tensors} |deprecated", lambda b, x, a, m, n: run(x, m, n, b, a)),
        (f"Number beta, Tensor input, {tensors} |deprecated", lambda b, x, m, n: run(x, m, n, b)),
    )


def wider(name: str, tensors: str, more: str = "") -> Overload:
    """The overload of a product with a dtype for the result: PyTorch lists it, and has it on no CPU."""

    def refuse(*args: Any) -> Tensor:
        raise ProgramError("NotImplementedError", f"Could not run 'aten::{name}.dtype' with arguments from the 'CPU' backend.")

    return f"Tensor input, {tensors}, dtype out_dtype{more} |function", refuse


def seeded(leading: str, options: str, run: Callable[..., Tensor]) -> tuple[Overload, ...]:
    """With and without `generator`, which comes first among the options; `run` gets None where there is none."""
    at = leading.count(",") + 1
    return (
        (f"{leading}, *, Generator? generator, {options}", run),
        (f"{leading}, *, {options}", lambda *args: run(*args[:at], None, *args[at:])),
    )
