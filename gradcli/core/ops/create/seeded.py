"""Overloads with a generator."""

from __future__ import annotations

from collections.abc import Callable

from gradcli.core.functions.function import Overload
from gradcli.core.tensor.tensor import Tensor


def seeded(leading: str, options: str, run: Callable[..., Tensor]) -> tuple[Overload, ...]:
    """With and without `generator`, which comes first among the options; `run` gets None where there is none."""
    at = leading.count(",") + 1
    return (
        (f"{leading}, *, Generator? generator, {options}", run),
        (f"{leading}, *, {options}", lambda *args: run(*args[:at], None, *args[at:])),
    )
