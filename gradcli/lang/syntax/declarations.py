"""Python's rules for `global` and `nonlocal`: they come before every use of the name, and the name is no parameter."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.errors import LanguageError
from gradcli.lang.syntax.nodes import (
    Assign,
    AugAssign,
    ClassDef,
    Comprehension,
    Delete,
    For,
    FunctionDef,
    Global,
    Handler,
    Import,
    ImportFrom,
    Lambda,
    Name,
    Node,
    Nonlocal,
    Program,
    With,
    children,
)


def check_declarations(program: Program) -> None:
    """Python's checks of global and nonlocal in every function of the program. Raises LanguageError."""
    bodies: list[tuple[Node, tuple[Node, ...]]] = [(program, program.body)]
    while bodies:
        owner, body = bodies.pop()
        _check_body(owner, body, bodies)


def _check_body(owner: Node, body: tuple[Node, ...], bodies: list[tuple[Node, tuple[Node, ...]]]) -> None:
    parameters = {p.name for p in owner.parameters} if isinstance(owner, FunctionDef) else set()
    #: the names so far, each with how it occurred: "used", "assigned to", "global" or "nonlocal"
    met: dict[str, str] = {}
    for node, name, how in _in_order(body, bodies):
        if how not in ("global", "nonlocal"):
            if met.get(name) != "assigned to":
                met[name] = how
            continue
        if how == "nonlocal" and isinstance(owner, Program):
            raise LanguageError("nonlocal declaration not allowed at module level", span=node.span)
        if name in parameters:
            raise LanguageError(f"name '{name}' is parameter and {how}", span=node.span)
        if met.get(name) in ("global", "nonlocal"):
            if met[name] != how:
                raise LanguageError(f"name '{name}' is nonlocal and global", span=node.span)
        elif name in met:
            before = "before" if met[name] == "assigned to" else "prior to"
            raise LanguageError(f"name '{name}' is {met[name]} {before} {how} declaration", span=node.span)
        met[name] = how


def _in_order(body: tuple[Node, ...], bodies: list[tuple[Node, tuple[Node, ...]]]) -> Iterator[tuple[Node, str, str]]:
    """Each occurrence of a name as (node, name, how), in the order of the text. Functions inside are added to `bodies`."""
    stack: list[Node] = list(reversed(body))
    while stack:
        node = stack.pop()
        if isinstance(node, Global | Nonlocal):
            for name in node.names:
                yield node, name, type(node).__name__.lower()
            continue
        if isinstance(node, Name):
            yield node, node.id, "used"
        elif isinstance(node, FunctionDef):
            yield node, node.name, "assigned to"
            bodies.append((node, node.body))
            stack += [p.default for p in node.parameters if p.default is not None]
            stack += node.decorators
        elif isinstance(node, ClassDef):
            yield node, node.name, "assigned to"
            bodies.append((node, node.body))
            stack += [*node.keywords, *node.bases, *node.decorators]
        elif isinstance(node, Lambda):
            stack += [p.default for p in node.parameters if p.default is not None]
        elif isinstance(node, Comprehension):
            stack.append(node.clauses[0].iterable)
        elif isinstance(node, Import | ImportFrom):
            for dotted, alias in node.names:
                yield node, alias or dotted.partition(".")[0], "assigned to"
        else:
            yield from _bound(node)
            stack += reversed(children(node))


def _bound(node: Node) -> Iterator[tuple[Node, str, str]]:
    """The names that a statement binds."""
    targets: list[Node] = []
    if isinstance(node, Assign | Delete):
        targets = list(node.targets)
    elif isinstance(node, AugAssign | For):
        targets = [node.target]
    elif isinstance(node, With):
        targets = [target for _, target in node.items if target is not None]
    elif isinstance(node, Handler) and node.name is not None:
        yield node, node.name, "assigned to"
    while targets:
        target = targets.pop()
        if isinstance(target, Name):
            yield target, target.id, "assigned to"
        else:
            targets += [child for child in children(target) if not hasattr(target, "index")]
