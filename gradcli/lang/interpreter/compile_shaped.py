"""Expressions with the shape of earlier ones: those that differ from them in numbers alone, as the lines of a generated script do.

They have one plan, whose leaves are the names and these numbers (`gradcli/core/plans/plan.py` tells what a plan is), so that they are
not even compiled. `planned_shapes.py`, which is loaded by the first shape that is seen often, makes and runs the plans.
"""

from __future__ import annotations

from typing import Any

from gradcli.lang.interpreter import compile_context
from gradcli.lang.interpreter.compile_context import Compile, Context, Run
from gradcli.lang.interpreter.plannable import leaves_of

#: a shape has plans when it is seen so often
OFTEN = 16
#: at most so many shapes are counted, or have plans
_MOST = 512

#: by shape, how often it was seen, or its `Shape`
_shapes: dict[tuple[object, ...], Any] = {}


def shaped(ordinary: Compile) -> Compile:
    """A compile function whose closures take the plan of the expression's shape, where it was seen often."""

    def compiled(node: Any, context: Context) -> Run:
        leaves = leaves_of(node, modules=False) if context.scope.is_module else None
        if leaves is None:
            return ordinary(node, context)
        key = (context.one_off, *leaves.shape)
        known = _shapes.get(key, 0)
        if type(known) is int:
            if known < OFTEN and compile_context.plans != "first":
                if not known and len(_shapes) >= _MOST:
                    del _shapes[next(iter(_shapes))]
                _shapes[key] = known + 1
                return ordinary(node, context.once())
            from gradcli.lang.interpreter.planned_shapes import Shape

            known = _shapes[key] = Shape(leaves, context.once())
        return known.closure(node, leaves, ordinary, context)  # type: ignore[no-any-return]

    return compiled
