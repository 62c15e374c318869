"""Where each name of a program lives: in the globals, in a slot of a frame, or in a cell shared with inner functions.

A module's frame is the dict of its globals. A function's frame is a list: the globals, the parameters, the other locals,
then the cells that it got from the functions around it. A local that an inner function uses lives in a cell, a list of one
element, so that both functions share one variable. A comprehension has a scope of its own, as in Python.

The body of a class has a frame like a function, but functions inside it do not see its names. Instead they may share its
cell `__class__`, which holds the class once it is made: `super()` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gradcli.errors import LanguageError
from gradcli.lang.syntax import nodes, patterns
from gradcli.lang.values.special_methods import CLASS_NAMES

#: the kinds of places where a name lives
GLOBAL, LOCAL, CELL = "global", "local", "cell"
#: the cell of a class body that holds the class
CLASS = "__class__"


class Scope:
    """The names of a module or of one function."""

    __slots__ = (
        *("bound", "cells", "children", "deleted", "frees", "globals", "node", "nonlocals", "parameters", "parent", "passed", "slots"),
        *("uses", "wanted", "yields"),
    )

    def __init__(self, node: nodes.Node, parent: Scope | None) -> None:
        self.node = node
        self.parent = parent
        self.children: dict[nodes.Node, Scope] = {}
        #: names bound here, in order of first binding
        self.bound: dict[str, None] = {}
        self.uses: set[str] = set()
        self.deleted: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: dict[str, nodes.Node] = {}
        #: names that this scope or one inside it needs from outside
        self.wanted: set[str] = set()
        self.slots: dict[str, int] = {}
        self.cells: set[str] = set()
        self.frees: tuple[str, ...] = ()
        #: the slots of the cells that a class body got from outside: its own names may be the same
        self.passed: dict[str, int] = {}
        self.parameters: tuple[str, ...] = ()
        #: the `yield` expressions of a generator, each with the name of the hidden local that holds what was sent
        self.yields: dict[nodes.Node, str] = {}

    @property
    def is_module(self) -> bool:
        """Whether the frame of this scope is the dict of globals."""
        return self.parent is None

    @property
    def is_class(self) -> bool:
        """Whether this is the body of a class."""
        return isinstance(self.node, nodes.ClassDef)

    def where(self, name: str) -> tuple[str, int]:
        """The kind of place of `name`, and its slot in a frame (0 for globals)."""
        slot = self.slots.get(name)
        if slot is None:
            return (CELL, self.passed[name]) if name in self.passed else (GLOBAL, 0)
        return (CELL if name in self.cells else LOCAL), slot

    @property
    def size(self) -> int:
        """The length of a frame."""
        return 1 + len(self.slots) + len(self.passed)

    def shared(self, name: str) -> int:
        """The slot of the cell that functions inside share as `name`."""
        return self.passed[name] if name in self.passed else self.slots[name]


def analyse(program: nodes.Node, body: Iterable[nodes.Node]) -> Scope:
    """The scope of a whole program or of a single expression, with the scopes of all functions inside it. Raises LanguageError."""
    scope = Scope(program, None)
    _collect(scope, body)
    _resolve(scope, frozenset())
    return scope


# --- the names that each scope binds and uses ---------------------------------------------------------------


def _collect(scope: Scope, parts: Iterable[nodes.Node]) -> None:
    """Fill in the scope from its statements; functions inside become children. The parts are visited without recursion."""
    stack: list[Any] = list(parts)
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is nodes.Name:
            scope.uses.add(node.id)
            if node.id == "super":
                scope.uses.add(CLASS)
        elif kind is nodes.Constant:
            continue
        elif kind is nodes.Binary:
            stack.append(node.first)
            stack += node.rest
        elif kind is nodes.Call:
            stack += (node.function, *node.args, *node.keywords)
        elif kind is nodes.Attribute:
            stack.append(node.value)
        elif kind in _SPECIAL:
            _SPECIAL[kind](scope, node, stack)
        else:
            stack += nodes.children(node)
    if scope.is_class:
        scope.uses -= scope.bound.keys()
    for child in scope.children.values():
        scope.wanted |= child.wanted
    if scope.is_class:
        scope.wanted.discard(CLASS)
    scope.wanted |= scope.uses
    scope.wanted -= scope.globals
    if scope.parent is not None and not scope.is_class:
        scope.wanted -= scope.bound.keys()


def _add(scope: Scope, name: str, node: nodes.Node) -> None:
    """Note that `node` binds a name. Raises LanguageError for names such as `__class__`, which programs cannot bind."""
    if len(name) > 4 and name.startswith("__") and name.endswith("__") and not (scope.is_class and name in CLASS_NAMES):
        raise LanguageError(f"names such as {name} cannot be bound in gradcli's language", span=node.span)
    scope.bound[name] = None


def _bind(scope: Scope, target: nodes.Node, stack: list[nodes.Node]) -> None:
    """Note the names that an assignment to `target` binds; the expressions inside the target are put on the stack."""
    pending = [target]
    while pending:
        node = pending.pop()
        if isinstance(node, nodes.Name):
            _add(scope, node.id, node)
        elif isinstance(node, nodes.TupleExpr | nodes.ListExpr):
            pending.extend(reversed(node.items))
        elif isinstance(node, nodes.Starred):
            pending.append(node.value)
        elif isinstance(node, nodes.Subscript):
            stack += [node.value, node.index]
        elif isinstance(node, nodes.Attribute):
            stack.append(node.value)


def _assign(scope: Scope, node: nodes.Assign, stack: list[nodes.Node]) -> None:
    for target in node.targets:
        _bind(scope, target, stack)
    stack.append(node.value)


def _aug_assign(scope: Scope, node: nodes.AugAssign, stack: list[nodes.Node]) -> None:
    if isinstance(node.target, nodes.Name):
        scope.uses.add(node.target.id)
    _bind(scope, node.target, stack)
    stack.append(node.value)


def _for(scope: Scope, node: nodes.For, stack: list[nodes.Node]) -> None:
    _bind(scope, node.target, stack)
    stack += [node.iterable, *node.body, *node.orelse]


def _with(scope: Scope, node: nodes.With, stack: list[nodes.Node]) -> None:
    for context, target in node.items:
        stack.append(context)
        if target is not None:
            _bind(scope, target, stack)
    stack += node.body


def _case(scope: Scope, node: nodes.Case, stack: list[nodes.Node]) -> None:
    for one, evaluated in patterns.walked(node.pattern):
        if isinstance(one, nodes.Name) and one.id != patterns.WILDCARD:
            _add(scope, one.id, one)
        stack += evaluated
    stack += node.body
    if node.guard is not None:
        stack.append(node.guard)


def _try(scope: Scope, node: nodes.Try, stack: list[nodes.Node]) -> None:
    stack += [*node.body, *node.handlers, *node.orelse, *node.finalbody]


def _handler(scope: Scope, node: nodes.Handler, stack: list[nodes.Node]) -> None:
    if node.name is not None:
        _add(scope, node.name, node)
        scope.deleted.add(node.name)
    if node.type is not None:
        stack.append(node.type)
    stack += node.body


def _delete(scope: Scope, node: nodes.Delete, stack: list[nodes.Node]) -> None:
    for target in node.targets:
        _bind(scope, target, stack)
        pending: list[nodes.Expr] = [target]
        while pending:
            at = pending.pop()
            if isinstance(at, nodes.Name):
                scope.deleted.add(at.id)
            elif isinstance(at, nodes.TupleExpr | nodes.ListExpr):
                pending.extend(at.items)


def _named(scope: Scope, node: nodes.NamedExpr, stack: list[nodes.Node]) -> None:
    """`:=`; inside a comprehension it binds in the function or module around all comprehensions."""
    name = node.target.id
    owner = scope
    while isinstance(owner.node, nodes.Comprehension) and owner.parent is not None:
        owner.uses.add(name)
        owner = owner.parent
    _add(owner, name, node.target)
    stack.append(node.value)


def _yield(scope: Scope, node: nodes.Yield, stack: list[nodes.Node]) -> None:
    """`yield` makes the function a generator."""
    if isinstance(scope.node, nodes.Comprehension):
        raise LanguageError("'yield' inside a comprehension", span=node.span)
    if isinstance(scope.node, nodes.Lambda):
        raise LanguageError("'yield' in a lambda is not part of gradcli's language", span=node.span)
    if not isinstance(scope.node, nodes.FunctionDef):
        raise LanguageError("'yield' outside function", span=node.span)
    scope.yields[node] = f"<yield {len(scope.yields)}>"
    scope.bound[scope.yields[node]] = None
    if node.value is not None:
        stack.append(node.value)


def _import(scope: Scope, node: nodes.Import, stack: list[nodes.Node]) -> None:
    for dotted, alias in node.names:
        _add(scope, alias or dotted.partition(".")[0], node)


def _import_from(scope: Scope, node: nodes.ImportFrom, stack: list[nodes.Node]) -> None:
    if not node.names and scope.parent is not None:
        raise LanguageError("import * only allowed at module level", span=node.span)
    for name, alias in node.names:
        _add(scope, alias or name, node)


def _global(scope: Scope, node: nodes.Global, stack: list[nodes.Node]) -> None:
    scope.globals.update(node.names)


def _nonlocal(scope: Scope, node: nodes.Nonlocal, stack: list[nodes.Node]) -> None:
    for name in node.names:
        scope.nonlocals[name] = node
        scope.uses.add(name)


def _function(scope: Scope, node: nodes.FunctionDef | nodes.Lambda, stack: list[nodes.Node]) -> None:
    """A function: its decorators and defaults belong to the outer scope, its body has a scope of its own."""
    if isinstance(node, nodes.FunctionDef):
        _add(scope, node.name, node)
        stack += node.decorators
        body: Iterable[nodes.Node] = node.body
    else:
        body = (node.body,)
    stack += [p.default for p in node.parameters if p.default is not None]
    child = Scope(node, scope)
    scope.children[node] = child
    _parameters(child, node.parameters)
    _collect(child, body)
    _declarations(child)


def _class(scope: Scope, node: nodes.ClassDef, stack: list[nodes.Node]) -> None:
    """A class: its decorators and bases belong to the outer scope, its body has a scope of its own."""
    _add(scope, node.name, node)
    stack += [*node.decorators, *node.bases, *node.keywords]
    child = Scope(node, scope)
    scope.children[node] = child
    _collect(child, reversed(node.body))  # the last node is visited first, and names keep the order of the text
    _declarations(child)


def _declaration(scope: Scope, node: nodes.Declaration, stack: list[nodes.Node]) -> None:
    """A declaration binds nothing, but the name is one of the function or class."""
    if node.name and scope.parent is not None:
        _add(scope, node.name, node)


def _parameters(scope: Scope, parameters: tuple[nodes.Parameter, ...]) -> None:
    """Bind the parameters in the order of the slots: positional, keyword-only, `*`, `**`."""
    order = {"positional": 0, "plain": 0, "keyword": 1, "*": 2, "**": 3}
    # a bare `*` only separates: it binds nothing
    named = [p for p in sorted(parameters, key=lambda p: order[p.kind]) if p.name]
    scope.parameters = tuple([p.name for p in named])
    for parameter in named:
        _add(scope, parameter.name, parameter)


def _declarations(scope: Scope) -> None:
    """`global` and `nonlocal` names are not locals, whatever is assigned to them."""
    for name in [*scope.globals, *scope.nonlocals]:
        scope.bound.pop(name, None)
    scope.wanted |= scope.nonlocals.keys()


def _comprehension(scope: Scope, node: nodes.Comprehension, stack: list[nodes.Node]) -> None:
    """A comprehension: its first iterable belongs to the outer scope, everything else to a scope of its own."""
    first, *others = node.clauses
    stack.append(first.iterable)
    child = Scope(node, scope)
    scope.children[node] = child
    inner: list[nodes.Node] = [node.element]
    if node.value is not None:
        inner.append(node.value)
    for clause in node.clauses:
        _bind(child, clause.target, inner)
        inner += clause.conditions
    inner += [clause.iterable for clause in others]
    _collect(child, inner)


_SPECIAL: dict[type, Callable[[Scope, Any, list[nodes.Node]], None]] = {
    nodes.Assign: _assign,
    nodes.AugAssign: _aug_assign,
    nodes.For: _for,
    nodes.With: _with,
    nodes.Try: _try,
    nodes.Handler: _handler,
    nodes.Case: _case,
    nodes.Delete: _delete,
    nodes.NamedExpr: _named,
    nodes.Import: _import,
    nodes.ImportFrom: _import_from,
    nodes.Global: _global,
    nodes.Nonlocal: _nonlocal,
    nodes.FunctionDef: _function,
    nodes.ClassDef: _class,
    nodes.Declaration: _declaration,
    nodes.Lambda: _function,
    nodes.Comprehension: _comprehension,
    nodes.Yield: _yield,
}


# --- the place of each name ------------------------------------------------------------------------


def _resolve(scope: Scope, visible: frozenset[str]) -> None:
    """Give every local name its slot. `visible` are the names that the functions around this scope bind."""
    if not scope.is_module:
        for name, node in scope.nonlocals.items():
            if name not in visible:
                raise LanguageError(f"no binding for nonlocal '{name}' found", span=node.span)
        scope.frees = tuple(sorted(scope.wanted & visible))
        own = [CLASS] if scope.is_class else list(scope.frees)
        names = list(dict.fromkeys((*scope.parameters, *scope.bound, *own)))
        scope.slots = {name: 1 + at for at, name in enumerate(names)}
        if scope.is_class:
            scope.passed = {name: 1 + len(names) + at for at, name in enumerate(scope.frees)}
            scope.cells = {CLASS}
            # functions inside do not see the names of the body
            visible = (visible - scope.globals) | {CLASS}
        else:
            scope.cells = set(scope.frees)
            visible = (visible - scope.globals) | frozenset(scope.bound)
    for child in scope.children.values():
        _resolve(child, visible)
        if not scope.is_module and not scope.is_class:
            scope.cells.update(child.frees)
