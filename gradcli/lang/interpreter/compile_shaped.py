"""Expressions with the shape of earlier ones: those that differ from them in numbers alone, as the lines of a generated script do.

They have one plan, whose leaves are the names and these numbers (`gradcli/core/plans/plan.py` tells what a plan is), so that they are
not even compiled. `planned_shapes.py`, which is loaded by the first shape that is seen often, makes and runs the plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcli.lang.interpreter import compile_context
from gradcli.lang.interpreter.compile_context import Compile, Context, Run
from gradcli.lang.interpreter.plannable import Leaves, leaves_of

if TYPE_CHECKING:
    from gradcli.lang.interpreter.planned_shapes import Shape

#: a shape has plans when it is seen so often
_OFTEN = 16
#: at most so many shapes are counted, or have plans
_MOST = 512
#: after so many expressions in a row without such a plan only one in `_SELDOM` is looked at
_MISSES, _SELDOM = 512, 16


class Shapes:
    """The shapes that were seen."""

    def __init__(self) -> None:
        #: how often a shape was seen, or its plans
        self.known: dict[tuple[object, ...], int | Shape] = {}
        #: how many expressions had no plan since the last one that had
        self.misses = 0

    def are_sought(self) -> bool:
        """Whether the next expression is looked at."""
        self.misses += 1
        return self.misses <= _MISSES or not self.misses % _SELDOM or compile_context.plans == "first"

    def find(self, leaves: Leaves, context: Context) -> Shape | None:
        """The plans of an expression with these leaves, if its shape was seen often."""
        key = (context.one_off, *leaves.shape)
        known = self.known.pop(key, 0)
        if not known and len(self.known) >= _MOST:
            del self.known[next(iter(self.known))]
        if isinstance(known, int) and known < _OFTEN and compile_context.plans != "first":
            self.known[key] = known + 1
            return None
        if isinstance(known, int):
            from gradcli.lang.interpreter.planned_shapes import Shape

            known = Shape(leaves, context)
        self.known[key] = known
        self.misses = 0
        return known


shapes = Shapes()


def shaped(ordinary: Compile) -> Compile:
    """A compile function whose closures take a plan of the expression's shape, where it was seen often."""

    def compiled(node: Any, context: Context) -> Run:
        once = context.once()
        if not context.scope.is_module or not shapes.are_sought():
            return ordinary(node, once)
        leaves = leaves_of(node, modules=False)
        if leaves is None:
            return ordinary(node, context)
        shape = shapes.find(leaves, once)
        return ordinary(node, once) if shape is None else shape.closure(node, leaves.values(), lambda: ordinary(node, once))

    return compiled
