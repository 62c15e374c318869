"""Python's rules for `global` and `nonlocal`: they come before every use of the name, and the name is no parameter."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.errors import LanguageError
from gradcli.lang.syntax import nodes


def check_declarations(program: nodes.Program) -> None:
    """Python's checks of global and nonlocal in every function of the program. Raises LanguageError."""
    bodies: list[tuple[nodes.Node, tuple[nodes.Node, ...]]] = [(program, program.body)]
    while bodies:
        owner, body = bodies.pop()
        _check_body(owner, body, bodies)


def _check_body(owner: nodes.Node, body: tuple[nodes.Node, ...], bodies: list[tuple[nodes.Node, tuple[nodes.Node, ...]]]) -> None:
    parameters = {p.name for p in owner.parameters} if isinstance(owner, nodes.FunctionDef) else set()
    #: the names so far, each with how it occurred: "used", "assigned to", "global" or "nonlocal"
    met: dict[str, str] = {}
    for node, name, how in _in_order(body, bodies):
        if how not in ("global", "nonlocal"):
            if met.get(name) != "assigned to":
                met[name] = how
            continue
        if how == "nonlocal" and isinstance(owner, nodes.Program):
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


def _in_order(
    body: tuple[nodes.Node, ...], bodies: list[tuple[nodes.Node, tuple[nodes.Node, ...]]]
) -> Iterator[tuple[nodes.Node, str, str]]:
    """Each occurrence of a name as (node, name, how), in the order of the text. Functions inside are added to `bodies`."""
    stack: list[nodes.Node] = list(reversed(body))
    while stack:
        node = stack.pop()
        if isinstance(node, nodes.Global | nodes.Nonlocal):
            for name in node.names:
                yield node, name, type(node).__name__.lower()
            continue
        if isinstance(node, nodes.Name):
            yield node, node.id, "used"
        elif isinstance(node, nodes.FunctionDef):
            yield node, node.name, "assigned to"
            bodies.append((node, node.body))
            stack += [p.default for p in node.parameters if p.default is not None]
            stack += node.decorators
        elif isinstance(node, nodes.ClassDef):
            yield node, node.name, "assigned to"
            bodies.append((node, node.body))
            stack += [*node.keywords, *node.bases, *node.decorators]
        elif isinstance(node, nodes.Lambda):
            stack += [p.default for p in node.parameters if p.default is not None]
        elif isinstance(node, nodes.Comprehension):
            stack.append(node.clauses[0].iterable)
        elif isinstance(node, nodes.Import | nodes.ImportFrom):
            for dotted, alias in node.names:
                yield node, alias or dotted.partition(".")[0], "assigned to"
        else:
            yield from _bound(node)
            stack += reversed(nodes.children(node))


def _bound(node: nodes.Node) -> Iterator[tuple[nodes.Node, str, str]]:
    """The names that a statement binds."""
    targets: list[nodes.Node] = []
    if isinstance(node, nodes.Assign | nodes.Delete):
        targets = list(node.targets)
    elif isinstance(node, nodes.AugAssign | nodes.For):
        targets = [node.target]
    elif isinstance(node, nodes.With):
        targets = [target for _, target in node.items if target is not None]
    elif isinstance(node, nodes.Handler) and node.name is not None:
        yield node, node.name, "assigned to"
    while targets:
        target = targets.pop()
        if isinstance(target, nodes.Name):
            yield target, target.id, "assigned to"
        else:
            targets += [child for child in nodes.children(target) if not hasattr(target, "index")]
