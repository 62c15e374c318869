"""The inputs of the prompt as a script that does the same in a file, run by gradcli or by PyTorch.

At the prompt `mean` is torch's, `sum` is torch's for tensors, values are echoed, and `_` is the last value. The script has
`torch.mean`, `torch.sum`, `print(...)` and `_ = ...` instead. These are inserted into the user's text, which is kept as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gradcli.lang.interpreter.scope import Scope, analyse
from gradcli.lang.names import bare_names, builtins, importable_modules
from gradcli.lang.syntax import nodes
from gradcli.source import Source

#: by prebound name, the import statement that binds it for PyTorch
_IMPORTS = {
    "nn": "from torch import nn",
    "optim": "from torch import optim",
    "F": "import torch.nn.functional as F",
    "math": "import math",
    "np": "import numpy as np",
}

#: defined in the script for a call of `sum` and its like that called both torch's and Python's function, or never ran
_EITHER = """\
def {name}_of(*args, **kwargs):
    if args and isinstance(args[0], torch.Tensor):
        return torch.{name}(*args, **kwargs)
    return {name}(*args, **kwargs)
"""

#: the position in the text, the order among insertions at one position, and the inserted text
Insertion = tuple[int, int, str]


@dataclass(slots=True)
class Input:
    """One input that succeeded.

    `echoes` has for each statement "" (it gave nothing), "silent" (a value that was not shown), "print" or "repr".
    `bound` are the names that were bound before. `one_off` is False for the text of a file. `inner` has how the values of
    expression statements within blocks were shown.
    """

    program: nodes.Program
    echoes: tuple[str, ...]
    bound: frozenset[str]
    one_off: bool = True
    inner: Mapping[nodes.ExprStmt, str] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        """The text."""
        return self.program.source


class Writer:
    """Makes one script of many inputs. `choices` are those of the interpreter that ran them."""

    def __init__(self, inputs: Iterable[Input], choices: Mapping[object, str]) -> None:
        self._inputs = list(inputs)
        self._choices = choices
        self._imports: dict[str, None] = {}
        self._helpers: dict[str, None] = {}
        self._ever: set[str] = set()
        for one in self._inputs:
            self._ever |= one.bound | set(analyse(one.program, one.program.body).bound)
        #: the names of last values that the inputs read, "_" for the last one and "__" for the one before it
        self._last_values = {name for one in self._inputs for name in _last_values(one.program)}

    def text(self, setup: Iterable[str] = ()) -> str:
        """The script; `setup` are the lines that follow the imports."""
        body = "".join(self._rewrite(one).rstrip() + "\n" for one in self._inputs)
        head = ["import torch", *self._imports, *setup]
        if self._last_values - {"_"}:
            head.append("_ = __ = ___ = None")
        helpers = "".join(f"\n\n{_EITHER.format(name=name)}" for name in self._helpers)
        return "\n".join(head) + "\n" + helpers + ("\n\n" if helpers else "\n") + body

    def _rewrite(self, one: Input) -> str:
        edits: set[Insertion] = set()
        bound = set(one.bound)
        for statement, echo in zip(one.program.body, one.echoes, strict=True):
            scope = analyse(nodes.Program(one.source, statement.start, statement.end, (statement,), {}), (statement,))
            is_simple = not _is_compound(statement)
            self._names(statement, scope, bound if is_simple else bound | set(scope.bound), one.one_off, edits)
            bound |= set(scope.bound)
            if isinstance(statement, nodes.ExprStmt):
                edits.update(self._echo(statement, echo))
        for inner, echo in one.inner.items():
            edits.update(self._echo(inner, echo))
        text = one.source.text
        for at, _, new in sorted(edits, reverse=True):
            text = text[:at] + new + text[at:]
        return text

    def _echo(self, statement: nodes.ExprStmt, echo: str) -> list[Insertion]:
        """Edits that print the value as the prompt showed it, and bind it to `_` if any input reads `_`."""
        if not echo:
            return []
        start, end = statement.start, statement.end
        printed = {"print": "print(_)", "repr": "print(repr(_))", "silent": ""}[echo]
        if self._last_values:
            before, after = ("_, __, ___ = (", "), _, __") if self._last_values - {"_"} else ("_ = ", "")
            return [(start, 0, before), (end, 0, after + (f"; {printed}" if printed else ""))]
        if echo == "silent":
            return []
        before, after = ("print(", ")") if echo == "print" else ("print(repr(", "))")
        if isinstance(statement.value, nodes.TupleExpr) and not statement.text.startswith("("):
            before, after = before + "(", ")" + after
        return [(start, 0, before), (end, 0, after)]

    # --- names ---

    def _names(self, root: nodes.Node, scope: Scope, bound: set[str], one_off: bool, edits: set[Insertion]) -> None:
        """Add the edits for the names below `root` that the program has not bound."""
        calls: dict[nodes.Node, nodes.Call] = {}
        stack: list[tuple[nodes.Node, Scope]] = [(root, scope)]
        while stack:
            node, inside = stack.pop()
            if isinstance(node, nodes.Name):
                known = bound if inside.is_module else bound | self._ever
                if node.id not in inside.slots and node.id not in known:
                    self._name(node, calls.get(node), one_off, edits)
                continue
            if isinstance(node, nodes.Call):
                calls[node.function] = node
            targets = _targets(node)
            stack += [(child, where) for child, where in _below(node, inside) if child not in targets]

    def _name(self, node: nodes.Name, call: nodes.Call | None, one_off: bool, edits: set[Insertion]) -> None:
        name = node.id
        if one_off and name in builtins.ONE_OFF:
            chosen = "both" if call is None else self._choices.get(call, "both")
            if chosen == "torch":
                edits.add((node.start, 1, "torch."))
            elif chosen == "both":
                self._helpers[name] = None
                edits.add((node.end, -1, "_of"))
        elif name in importable_modules.PREBOUND:
            if name in _IMPORTS:
                self._imports[_IMPORTS[name]] = None
        elif bare_names.is_torch(name, one_off):
            edits.add((node.start, 1, "torch."))


def _is_compound(statement: nodes.Stmt) -> bool:
    return hasattr(statement, "body") or hasattr(statement, "branches")


def _below(node: nodes.Node, scope: Scope) -> list[tuple[nodes.Node, Scope]]:
    """The nodes directly inside, each with the scope it belongs to."""
    inner = scope.children.get(node, scope)
    outer: list[nodes.Node] = []
    if isinstance(node, nodes.FunctionDef | nodes.Lambda):
        outer = [*getattr(node, "decorators", ()), *(p.default for p in node.parameters if p.default is not None)]
    elif isinstance(node, nodes.Comprehension):
        outer = [node.clauses[0].iterable]
    # these nodes belong to the outer scope, so they are left out of the inner one
    aside = set(outer)
    return [(child, scope) for child in outer] + [(child, inner) for child in reversed(nodes.children(node)) if child not in aside]


def _targets(node: nodes.Node) -> set[nodes.Node]:
    """The names that `node` binds, and the tuples and lists that hold them."""
    pending: list[nodes.Node] = (
        [node.target] if isinstance(node, nodes.NamedExpr) else list(node.targets) if isinstance(node, nodes.Assign) else []
    )
    found: set[nodes.Node] = set()
    while pending:
        target = pending.pop()
        if isinstance(target, nodes.TupleExpr | nodes.ListExpr | nodes.Starred):
            pending += nodes.children(target)
        elif not isinstance(target, nodes.Name):
            continue
        found.add(target)
    return found


def _last_values(program: nodes.Program) -> set[str]:
    """Which of `_`, `__` and `___` the program reads or binds."""
    found: set[str] = set()
    stack: list[nodes.Node] = [program]
    while stack:
        node = stack.pop()
        if isinstance(node, nodes.Name) and node.id in ("_", "__", "___"):
            found.add(node.id)
        stack += nodes.children(node)
    return found
