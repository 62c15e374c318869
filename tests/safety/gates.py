"""Where Python's own hash, comparison or text meets values of programs, outside the functions that bound them.

Python hashes, compares, prints and frees containers by recursion that nothing counts or interrupts, and its texts show the objects of the
host. `found` follows what may be a value through each function: parameters annotated `Any`, `Value` or `object`, what is read from them,
and what is assigned from those. `python -m tests.safety.gates` rewrites the list of the places that were reviewed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent.parent.parent / "gradcli"
TARGET = Path(__file__).with_name("gates.txt")
#: annotations of what may be any value
_ANY = {"Any", "Value", "object", "Operand"}
#: annotations of containers: their items are looked at
_HOLDING = {"Sequence", "Iterable", "Iterator", "list", "tuple", "dict", "Mapping", "set", "Collection"}
#: functions of Python's that make texts or hashes
_PRIMITIVES = {"str", "repr", "hash", "ascii", "format"}
#: methods that hash or compare their argument
_KEYED = {"index", "remove", "setdefault", "discard"}
#: calls that give an item of, or the same value as, their first argument
_PASSING = {"next", "iter", "reversed", "enumerate", "zip", "list", "tuple", "set", "dict", "cast", "max", "min"}
_READING = {"items", "values", "keys", "get", "pop", "copy", "setdefault", "popitem"}


class Place(NamedTuple):
    """A primitive of Python's that meets a value: the file, the function around it, and the expression."""

    path: str
    function: str
    what: str

    def line(self) -> str:
        """The place as a line of the reviewed list."""
        return f"{self.path}: {self.function}: {self.what}"


def found(source: str, path: str) -> Iterator[Place]:
    """The places in a module's source."""
    yield from _Module(path).places(ast.parse(source))


def everywhere() -> list[Place]:
    """The places of the wings that values flow through."""
    places = []
    for wing in ("core", "lang"):
        for file in sorted((PACKAGE / wing).rglob("*.py")):
            path = file.relative_to(PACKAGE).as_posix()
            if not path.startswith(("core/kernels/", "lang/syntax/", "lang/prompt/")):
                places += found(file.read_text(encoding="utf-8"), path)
    return places


def text() -> str:
    """All places, a line each."""
    return "".join(f"{line}\n" for line in sorted({place.line() for place in everywhere()}))


class _Module:
    def __init__(self, path: str) -> None:
        self.path = path

    def places(self, tree: ast.AST, within: str = "") -> Iterator[Place]:
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                name = getattr(node, "name", "lambda")
                yield from _Function(self.path, f"{within}{name}", node).places()
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield from self.places(node, f"{within}{node.name}.")
            else:
                yield from self.places(node, within)


class _Function:
    """What one function does with its values; functions inside it are looked at on their own."""

    def __init__(self, path: str, name: str, node: ast.FunctionDef | ast.Lambda) -> None:
        self.path, self.name, self.node = path, name, node
        #: the names of values, and of containers of values
        self.values: set[str] = set()
        self.holders: set[str] = set()
        arguments = node.args
        for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            self._declare(one.arg, one.annotation)
        for star in (arguments.vararg, arguments.kwarg):
            if star is not None and _kind(star.annotation) == "value":
                self.holders.add(star.arg)
        #: the names of `**kwargs`, and of mappings whose keys are texts
        self.keywords: set[str] = set() if arguments.kwarg is None else {arguments.kwarg.arg}
        self.keywords |= {one.arg for one in (*arguments.args, *arguments.kwonlyargs) if _has_text_keys(one.annotation)}

    def _declare(self, name: str, annotation: ast.expr | None) -> None:
        kind = _kind(annotation)
        if kind is not None and name not in ("self", "cls"):
            (self.values if kind == "value" else self.holders).add(name)

    def places(self) -> Iterator[Place]:
        body = list(self._own(self.node))
        for _ in range(3):  # until what is assigned from values is known, in any order
            for node in body:
                self._note(node)
        for node in body:
            for primitive in self._primitives(node):
                yield Place(self.path, self.name, ast.unparse(primitive))

    def _own(self, node: ast.AST) -> Iterator[ast.AST]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
                yield child
                yield from self._own(child)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign | ast.NamedExpr) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                self._assign(target, node.value)
        elif isinstance(node, ast.For | ast.comprehension):
            self._loop(node.target, node.iter)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            self._declare(node.target.id, node.annotation)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if self.is_value(value):
            self._bind(target, True)
        elif self.is_holder(value):
            if isinstance(target, ast.Name):
                self.holders.add(target.id)
            else:
                self._bind(target, True)

    def _loop(self, target: ast.expr, source: ast.expr) -> None:
        """Positions that `enumerate` counts, and the names of keywords, are no values."""
        called = source.func if isinstance(source, ast.Call) else None
        if isinstance(target, ast.Tuple) and isinstance(called, ast.Name) and called.id in ("enumerate", "zip"):
            assert isinstance(source, ast.Call)
            sources = source.args if called.id == "zip" else [ast.Constant(0), source.args[0]]
            for one, inner in zip(target.elts, sources, strict=False):
                self._loop(one, inner)
        elif (
            isinstance(target, ast.Tuple)
            and isinstance(called, ast.Attribute)
            and called.attr == "items"
            and self._is_keywords(called.value)
        ):
            self._bind(target.elts[1], True)
        else:
            self._bind(target, self._items(source) and not self._is_keywords(source))

    def _is_keywords(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.keywords

    def _bind(self, target: ast.expr, is_value: bool) -> None:
        if is_value:
            self.values |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}

    def _items(self, node: ast.expr) -> bool:
        return self.is_value(node) or self.is_holder(node)

    def is_value(self, node: ast.expr) -> bool:
        """Whether an expression may be any value."""
        if isinstance(node, ast.Name):
            return node.id in self.values
        if isinstance(node, ast.Subscript):
            return self.is_holder(node.value) or self.is_value(node.value)
        if isinstance(node, ast.IfExp):
            return self.is_value(node.body) or self.is_value(node.orelse)
        if isinstance(node, ast.BoolOp):
            return any(map(self.is_value, node.values))
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in _PASSING and node.args:
                return any(map(self._items, node.args))
            if isinstance(called, ast.Attribute) and called.attr in _READING:
                return self._items(called.value)
        return False

    def is_holder(self, node: ast.expr) -> bool:
        """Whether an expression is a container of values."""
        if isinstance(node, ast.Name):
            return node.id in self.holders
        if isinstance(node, ast.List | ast.Tuple):
            return any(self._items(item.value if isinstance(item, ast.Starred) else item) for item in node.elts)
        return False

    def _primitives(self, node: ast.AST) -> Iterator[ast.expr]:
        if isinstance(node, ast.FormattedValue):
            node = node.value
            meets = self._items(node)
        elif isinstance(node, ast.Call):
            meets = self._is_primitive(node)
        elif isinstance(node, ast.Compare):
            meets = self._compares(node)
        else:
            meets = isinstance(node, ast.Attribute) and node.attr == "__name__" and self._is_type_of_a_value(node.value)
        if meets:
            assert isinstance(node, ast.expr)
            yield node

    def _is_type_of_a_value(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and ast.unparse(node.func) == "type" and any(map(self.is_value, node.args))

    def _is_primitive(self, node: ast.Call) -> bool:
        arguments = [one.value if isinstance(one, ast.Starred) else one for one in node.args]
        if isinstance(node.func, ast.Name):
            return node.func.id in _PRIMITIVES and any(map(self._items, arguments))
        if isinstance(node.func, ast.Attribute):
            return (node.func.attr == "format" and any(map(self._items, arguments))) or (
                node.func.attr in _KEYED and any(map(self.is_value, arguments))
            )
        return False

    def _compares(self, node: ast.Compare) -> bool:
        sides = [node.left, *node.comparators]
        kinds = {type(one) for one in node.ops}
        if kinds & {ast.Eq, ast.NotEq}:
            return any(map(self._items, sides)) and not any(map(_plain, sides))
        return bool(kinds & {ast.In, ast.NotIn}) and any(map(self.is_value, sides[:-1])) and not _names(sides[-1])


def _kind(annotation: ast.expr | None) -> str | None:
    """`value` or `holder` for an annotation of values, or of containers of them."""
    if annotation is None:
        return None
    if isinstance(annotation, ast.Name):
        return "value" if annotation.id in _ANY else None
    if isinstance(annotation, ast.BinOp):
        return _kind(annotation.left) or _kind(annotation.right)
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name) and annotation.value.id in _HOLDING:
        inside = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        return "holder" if any(map(_kind, inside)) else None
    return None


def _has_text_keys(annotation: ast.expr | None) -> bool:
    return annotation is not None and "[str, " in ast.unparse(annotation)


def _plain(node: ast.expr) -> bool:
    """Whether an operand is a plain constant: what is compared with it is decided without looking into containers."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def _names(node: ast.expr) -> bool:
    """Whether a container has constants only, or is a table of names."""
    return isinstance(node, ast.Tuple | ast.List | ast.Set) and all(map(_plain, node.elts))


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
