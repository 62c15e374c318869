"""The class of functions that stand in `torch.special` alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.functions.out import OutRule
from gradcli.core.graph.record import Op


class SpecialFunction(Function):
    """A function of torch.special alone: its argument errors call it `special_NAME`."""

    __slots__ = ()
    PREFIX = "special_"

    def __init__(self, name: str, *overloads: Overload, out: OutRule = True, **more: Any) -> None:
        super().__init__(name, *overloads, namespace="torch.special", method=False, out=out, **more)


def special_unary(
    name: str, op: Op, doc: str, reference: Callable[..., Any] | None, x: Sequence[float], run: Callable[..., Any] | None = None
) -> SpecialFunction:
    """The function `torch.special.NAME` of one tensor; `run` checks arguments before it calls `op`."""
    samples = (Sample(f"torch.special.{name}(x)", reference, x=list(x)),)
    return SpecialFunction(name, ("Tensor input", run or (lambda input: op(input))), doc=doc, ops=(op,), samples=samples)
