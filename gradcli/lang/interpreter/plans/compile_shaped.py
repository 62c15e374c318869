"""Expressions with the shape of earlier ones: those that differ from them in numbers alone, as the lines of a generated script do.

They have one plan, whose leaves are the names and these numbers (`gradcli/core/plans/plan.py` tells what a plan is), so that they are
not even compiled. `shapes.py`, which is loaded by the first shape that is seen often, makes and runs the plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradcli.lang.interpreter import compile_context
from gradcli.lang.interpreter.compile_context import Compile, Context, Run
from gradcli.lang.interpreter.plans.plannable import Leaves, leaves_of, value_of
from gradcli.lang.syntax.nodes import Expr, Program, Unary

if TYPE_CHECKING:
    from gradcli.lang.interpreter.plans.shapes import Shape
    from gradcli.lang.syntax.templates import Template

#: a shape has plans when it is seen so often
_OFTEN = 8
#: at most so many shapes are counted, or have plans
_MOST = 512
#: at most so many kinds of numbers of one template have their leaves kept
_KINDS = 16
#: after `_MISSES` expressions in a row without such a plan, only one in `_SELDOM` is looked at
_MISSES, _SELDOM = 512, 16


class Shapes:
    """The shapes that were seen."""

    def __init__(self) -> None:
        #: how often a shape was seen, or its plans
        self.known: dict[tuple[object, ...], int | Shape] = {}
        self._made: dict[Template, _Made] = {}
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
            from gradcli.lang.interpreter.plans.shapes import Shape

            known = Shape(leaves, context)
        self.known[key] = known
        self.misses = 0
        return known

    def leaves(self, node: Expr, template: Template, numbers: Sequence[float]) -> tuple[Leaves | None, list[float]]:
        """The leaves of an expression that a template has made with some numbers, and those numbers that are among them."""
        made = self._made.get(template)
        if made is None:
            if len(self._made) >= _MOST:
                self._made.clear()
            made = self._made[template] = _Made(template)
        pool = (*numbers, *made.constants)
        return made.leaves(node, numbers), [sign * pool[i] for i, sign in made.places]


class _Made:
    """The expressions that a template makes."""

    def __init__(self, template: Template) -> None:
        assert template.value is not None
        leaves = leaves_of(template.value, modules=False)
        #: whether the expression that the template was made of can have a plan; else where the numbers of others stand is not known
        self._has_leaves = leaves is not None
        #: leaves that the template takes for constants
        self.constants: list[float] = []
        #: for each number that is a leaf its index among the numbers of the line and these constants, and its sign
        self.places: list[tuple[int, int]] = []
        spans = template.spans
        for number in leaves.numbers if leaves else ():
            literal, sign = (number.operand, -1) if isinstance(number, Unary) else (number, 1)
            if (literal.start, literal.end) in spans:
                self.places.append((spans.index((literal.start, literal.end)), sign))
            else:
                self.places.append((len(spans) + len(self.constants), sign))
                self.constants.append(value_of(literal))
        #: the numbers that are no leaves, and are part of the shape
        self._others = sorted(set(range(len(spans))) - {i for i, _ in self.places})
        #: the leaves by the types of the numbers, and the values of those that are part of the shape
        self._leaves: dict[tuple[object, ...], Leaves | None] = {}

    def leaves(self, node: Expr, numbers: Sequence[float]) -> Leaves | None:
        """Leaves with the shape of those of the expression."""
        key = (*map(type, numbers), *[numbers[i] for i in self._others])
        if key not in self._leaves:
            if len(self._leaves) >= _KINDS:
                self._leaves.clear()
            self._leaves[key] = leaves_of(node, modules=False) if self._has_leaves else None
        return self._leaves[key]


shapes = Shapes()


def shaped(ordinary: Compile) -> Compile:
    """A compile function whose closures take a plan of the expression's shape, where it was seen often."""

    def compiled(node: Any, context: Context) -> Run:
        once = context.once()
        if not context.scope.is_module or not shapes.are_sought():
            return ordinary(node, once)
        program = context.scope.node
        made = program.templates.get(node) if type(program) is Program else None
        if made is None:
            leaves = leaves_of(node, modules=False)
            numbers = leaves.values() if leaves else []
        else:
            leaves, numbers = shapes.leaves(node, *made)
        if leaves is None:
            return ordinary(node, context)
        shape = shapes.find(leaves, once)
        return ordinary(node, once) if shape is None else shape.closure(node, numbers, lambda: ordinary(node, once))

    return compiled
