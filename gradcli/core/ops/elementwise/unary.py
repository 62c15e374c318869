"""How elementwise functions of one tensor are declared: a record and a public function, a row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.functions.out import OutRule
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import OnComplex, Rule
from gradcli.core.kernels import Array


def floating(grad_fn: str, forward: Callable[..., Any], rule: Rule, complex: OnComplex = None) -> Pointwise:
    """The record of a function whose result is floating, also for integers; `complex` is the function of complex arrays."""
    return Pointwise(grad_fn, forward, "input", kind="float", complex=complex, input=rule)


def at_once(compute: Callable[[Array], Array]) -> Callable[[Any], Array]:
    """A forward that needs the whole array: chains with it do not run block by block."""
    return lambda x: compute(np.asarray(x))


def unary(
    name: str,
    op: Pointwise,
    doc: str,
    reference: Callable[..., Any] | None,
    x: Sequence[float] = (0.5, 1.5, -0.25),
    *,
    run: Callable[..., Any] | None = None,
    aliases: Sequence[str] = (),
    inplace: bool = True,
    torch_inplace: Sequence[str] | None = None,
    written: Overload | None = None,
    analytic: bool = False,
    out: OutRule = True,
) -> Function:
    """The function and method `name`, with samples at the points `x`.

    `reference` is the same function in numpy; `analytic`: also of complex arrays. `run` checks arguments before it calls `op`.
    `torch_inplace` are the in-place forms that are functions of torch's too: of all names by default. `written` is the overload of the
    in-place form, where PyTorch gives it a derivative of its own.
    """
    if torch_inplace is None:
        torch_inplace = [f"{n}_" for n in (name, *aliases) if "." not in n] if inplace else ()
    return Function(
        name,
        ("Tensor input", run or (lambda input: op(input))),
        doc=doc,
        ops=(op,),
        samples=(Sample(f"{name}(x)", reference, x=list(x)), Sample(f"x.{name}()", reference, x=x[0])),
        inplace=inplace,
        torch_inplace=torch_inplace,
        written=() if written is None else (written,),
        analytic=reference if analytic else None,
        out=out,
        aliases=aliases,
    )
