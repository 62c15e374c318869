"""Expressions that may be evaluated again: those that can have a plan are watched from their second evaluation on.

What a plan is, `gradcli/core/plans/plan.py` tells; `planned.py`, which is loaded by the first second evaluation, makes and runs them.
"""

from __future__ import annotations

from typing import Any

from gradcli.lang.interpreter import compile_context
from gradcli.lang.interpreter.compile_context import Compile, Context, Frame, Run
from gradcli.lang.interpreter.plannable import names_of
from gradcli.lang.syntax.nodes import Expr


def repeated(ordinary: Compile) -> Compile:
    """A compile function whose closures take a plan, where the expression can have one and is evaluated again."""

    def compiled(node: Any, context: Context) -> Run:
        names = names_of(node)
        if names is None:
            return ordinary(node, context)
        inner = context.once()
        return _beginning(ordinary(node, inner), names, inner)

    return compiled


def _beginning(run: Run, names: list[Expr], context: Context) -> Run:
    """The ordinary way for the first evaluation, and what takes plans from the second on."""
    current: Run = run

    def second(frame: Frame) -> Any:
        nonlocal current
        from gradcli.lang.interpreter.planned import planned

        current = planned(run, names, context)
        return current(frame)

    def first(frame: Frame) -> Any:
        nonlocal current
        current = second
        return run(frame)

    current = second if compile_context.plans == "first" else first
    return lambda frame: current(frame)
