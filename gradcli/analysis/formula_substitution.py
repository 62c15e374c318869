"""Substitution of the names of a graph into the formulas of rules.

A formula is an expression, or definitions and an expression: `d = input - other; grad * sign(d)`. The interpreter evaluates
the parts that follow from sizes and options alone, such as `input.dim() - 1`. It also evaluates conditions on sizes, options
and values, such as `input.all()`, and the formula keeps the branch that was taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gradcli.analysis.formulas import Indexed, Known, Listed, Number, Symbol, Term, broadcast, from_syntax
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import GradcliError, InternalFault, LimitError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax import nodes, parser
from gradcli.source import Source

#: attributes and methods of a tensor that depend on its shape alone
_OF_SHAPE = frozenset({"shape", "ndim"})
_OF_SHAPE_CALLED = frozenset({"size", "dim", "numel"})
#: a comprehension of at most so many items is written out
_WRITTEN = 8
#: whole numbers below this are written without a point
_WHOLE = 1e15


class Defined(NamedTuple):
    """The definition of a name in a formula, and its shape where it is known."""

    term: Term
    shape: tuple[int, ...] | None


Names = Mapping[str, Term | Defined]


class Formula(NamedTuple):
    """The definitions of a formula, each of one name or several, and the expression of its value."""

    definitions: tuple[tuple[tuple[str, ...], nodes.Expr], ...]
    value: nodes.Expr


@lru_cache(maxsize=1024)
def parsed(formula: str) -> Formula:
    """The syntax trees of a formula. Raises LanguageError, and InternalFault for other statements than definitions."""
    *first, last = parser.parse_input(Source("<formula>", formula)).body
    definitions = []
    for statement in first:
        names = _targets(statement.targets[0]) if isinstance(statement, nodes.Assign) else ()
        if not isinstance(statement, nodes.Assign) or not names or len(statement.targets) > 1:
            raise InternalFault(f"not a formula: {formula}")
        definitions.append((names, statement.value))
    if not isinstance(last, nodes.ExprStmt):
        raise InternalFault(f"not a formula: {formula}")
    return Formula(tuple(definitions), last.value)


def _targets(target: nodes.Expr) -> tuple[str, ...]:
    items = target.items if isinstance(target, nodes.TupleExpr) else (target,)
    names = tuple(item.id for item in items if isinstance(item, nodes.Name))
    return names if len(names) == len(items) else ()


def filled(formula: str, names: Mapping[str, Term]) -> Term:
    """A formula with its names and definitions substituted, and simplified. Raises what `parsed` raises."""
    tree = parsed(formula)
    terms: dict[str, Term | Defined] = dict(names)
    for targets, value in tree.definitions:
        term = _filled(value, terms)
        if len(targets) == 1:
            terms[targets[0]] = term if isinstance(term, (Number, Known)) else Defined(term, _shape(value, terms))
        elif isinstance(term, Listed):
            terms.update(zip(targets, term.items, strict=True))
        else:
            terms.update((name, Indexed(term, str(k))) for k, name in enumerate(targets))
    return broadcast(_filled(tree.value, terms))


def _shape(node: nodes.Node, terms: Names) -> tuple[int, ...] | None:
    bound = _bound(node, terms, shapes=True)
    found = None if bound is None else _evaluated(f"({node.text}).shape", bound)
    return tuple(found) if isinstance(found, tuple) else None


def _filled(node: nodes.Node, terms: Names) -> Term:
    def known(one: nodes.Node) -> Term | None:
        if isinstance(one, nodes.Name):
            term = terms.get(one.id)
            return term.term if isinstance(term, Defined) else term
        if isinstance(one, nodes.Conditional):
            return _taken(one, terms)
        return _constant(one, terms) or _written_out(one, terms)

    return from_syntax(node, known)


def _taken(node: nodes.Conditional, terms: Names) -> Term | None:
    """The branch that a conditional takes; None where the condition is not known."""
    bound = _bound(node.test, terms, values=True)
    test = ... if bound is None else _evaluated(node.test.text, bound)
    if type(test) is Tensor and test.array.size == 1:
        test = bool(test.array.item())
    return _filled(node.body if test else node.orelse, terms) if isinstance(test, (bool, int, float, str, tuple, type(None))) else None


def _constant(node: nodes.Node, terms: Names) -> Term | None:
    """The value of an expression that follows from sizes and options alone; None for any other."""
    if isinstance(node, (nodes.Constant, nodes.Slice, nodes.Keyword)):
        return None
    bound = _bound(node, terms)
    return _plain(_evaluated(node.text, bound)) if bound else None


class Shaped(NamedTuple):
    """A tensor of which only the shape matters."""

    shape: tuple[int, ...]


def _bound(node: nodes.Node, terms: Names, shapes: bool = False, values: bool = False) -> dict[str, Any] | None:
    """The values of the names of an expression that follows from sizes and options; None for another expression.

    With `shapes` only the shape of the expression is wanted. With `values` the expression may depend on elements of tensors.
    """
    bound: dict[str, Any] = {}
    for name, shape_only in _names_of(node):
        term = terms.get(name)
        if isinstance(term, (Number, Known)):
            bound[name] = term.value
        elif isinstance(term, Symbol) and values and term.value is not None:
            bound[name] = wrap(term.value)
        elif isinstance(term, (Symbol, Defined)) and term.shape is not None and (shapes or shape_only):
            bound[name] = Shaped(term.shape)
        elif term is not None:
            return None
    return bound


@lru_cache(maxsize=4096)
def _names_of(node: nodes.Node, shapes: bool = False) -> tuple[tuple[str, bool], ...]:
    """The names in an expression, each with whether the expression depends on nothing but its shape."""
    if isinstance(node, nodes.Name):
        return ((node.id, shapes),)
    if isinstance(node, nodes.Attribute) and node.name in _OF_SHAPE:
        return _names_of(node.value, True)
    inside = nodes.children(node)
    if isinstance(node, nodes.Call) and isinstance(node.function, nodes.Attribute) and node.function.name in _OF_SHAPE_CALLED:
        inside = [*node.args, *node.keywords]
        return sum((_names_of(one, shapes) for one in inside), _names_of(node.function.value, True))
    if isinstance(node, nodes.Compare) and node.ops in (("is",), ("is not",)):
        # for a comparison with None any tensor will do
        shapes = shapes or (isinstance(node.rest[0], nodes.Constant) and node.rest[0].value is None)
    return sum((_names_of(one, shapes) for one in inside), ())


def _evaluated(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression, `...` if it has none."""
    # 1, 1.0 and True are one key of a dict
    key = tuple((name, value, type(value)) for name, value in names.items())
    try:
        try:
            return _remembered(text, key, dtypes.get_default())
        except TypeError:  # a list or a tensor cannot be a key
            return _run(text, key)
    except LimitError:  # this is not remembered, since under other bounds there may be a value
        return ...


@lru_cache(maxsize=1024)
def _remembered(text: str, names: tuple[tuple[str, Any, type], ...], default_dtype: DType) -> Any:
    return _run(text, names)


def _run(text: str, names: tuple[tuple[str, Any, type], ...]) -> Any:
    """The value of an expression, `...` if it has none. Raises LimitError."""
    run = Interpreter(write=lambda _: None, warn=lambda *_: None, one_off=True)
    for name, value, _ in names:
        run.set(name, wrap(np.broadcast_to(np.zeros((), np.float32), value.shape)) if isinstance(value, Shaped) else value)
    try:
        return run.evaluate(parser.parse_expression(Source("<formula>", text)))
    except LimitError:
        raise
    except GradcliError:
        return ...


def _plain(value: Any) -> Term | None:
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return Number(int(value))  # a quotient of counts
    if isinstance(value, (bool, int, float)):
        return Number(value)
    if value is None or isinstance(value, str):
        return Known(value)
    if isinstance(value, (tuple, list)) and all(_plain(one) is not None for one in value):
        return Known(tuple(value) if isinstance(value, tuple) else value)
    return None


def _written_out(node: nodes.Node, terms: Names) -> Term | None:
    """The list that `[f(x) for x in y]` is, where y follows from sizes and options; else None."""
    if not isinstance(node, nodes.Comprehension) or node.kind not in ("list", "generator") or len(node.clauses) != 1:
        return None
    (clause,) = node.clauses
    if not isinstance(clause.target, nodes.Name) or clause.conditions:
        return None
    over = _values(clause.iterable, terms)
    if over is None or len(over) > _WRITTEN:
        return None
    name = clause.target.id
    return Listed(tuple(_filled(node.element, {**terms, name: term}) for term in over), "[]")


def _values(iterable: nodes.Node, terms: Names) -> list[Term] | None:
    """The items of an iterable that follows from sizes and options; else None."""
    if isinstance(iterable, (nodes.Name, nodes.TupleExpr)):
        term = _filled(iterable, terms)
        if isinstance(term, Listed):
            return list(term.items)
    bound = _bound(iterable, terms)
    if bound is None:
        return None
    found = _evaluated(f"list({iterable.text})", bound)
    items = [_plain(value) for value in found] if isinstance(found, list) else [None]
    return [item for item in items if item is not None] if None not in items else None
