"""Who may import whom: every import of the package is held against one table, and no modules import one another in a circle.

Imports inside functions count, and so do strings that name modules, since `import_module` may be given them. Imports for
the type checker alone are held against the table, but make no circle. Python runs the `__init__` of a package before its
modules; this does not count as an import, so that `gradcli.core` may fill in what lower wings need of upper ones.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache, reduce
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

import gradcli
from gradcli.core.functions import _index, catalog
from gradcli.core.graph import namespaces
from gradcli.core.tensor import tensor
from gradcli.core.vocabulary import library

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "gradcli"

#: the wings of the core and of the language, top-down: each may import those behind it
CORE = [
    *("vocabulary", "data", "distributions", "nn", "optim", "transforms", "ops", "autograd"),
    *("plans", "functions", "graph", "random", "calling", "tensor", "kernels"),
]
LANG = ["prompt", "interpreter", "names", "plotting", "arrays", "saving", "libraries", "classes", "values", "python", "syntax"]


def _downward(folder: str, wings: list[str], *others: str) -> dict[str, set[str]]:
    return {f"{folder}.{wing}": {*(f"{folder}.{below}" for below in wings[i + 1 :]), *others} for i, wing in enumerate(wings)}


#: wing -> what it may import of ours, besides itself; "core" stands for all wings of the core
ALLOWED: dict[str, set[str]] = {
    "source": set(),
    "errors": {"source"},
    "limits": {"errors"},
    "data": {"limits", "errors"},
    **_downward("core", CORE, "errors", "limits", "plain"),
    "core.kernels": {"limits"},
    # the composition root, which fills in what lower wings need of upper ones
    "core": {f"core.{wing}" for wing in CORE},
    **_downward("lang", LANG, "core", "errors", "source", "limits"),
    "lang": set(),
    "analysis": {"core", "lang", "results", "limits", "errors", "source"},
    "results": {"core.tensor", "plain"},
    "plain": set(),
    "session": {"lang", "core", "analysis", "data", "results", "limits", "errors", "source"},
    "batch": {"session", "render", "results", "limits", "errors", "source"},
    "cluster": {"batch", "session", "errors", "plain", "__init__"},
    "render": {"results", "errors", "source", "plain"},
    "repl": {"__init__", "plain", "source", "session", "render", "results", "lang.names", "limits", "errors"},
    "cli": {"plain", "source", "errors", "limits", "data", "analysis", "results"}
    | {"session", "batch", "cluster", "render", "repl", "__init__"},
    "__main__": {"cli", "limits"},
    "__init__": set(),
}

#: wing, or the folder that it stands in -> third-party packages that it may import
THIRD_PARTY = {
    "data": {"numpy"},
    "core": {"numpy"},
    "lang": {"numpy"},
    "lang.python": {"packaging"},
    "lang.syntax": {"lark"},
    "analysis": {"numpy"},
    "results": {"numpy"},
    "session": {"numpy"},
    "batch": {"msgspec"},
    "cluster": {"numpy", "dask", "distributed", "fsspec"},
    "render": {"rich", "pygments", "plotille", "matplotlib"},
    "repl": {"prompt_toolkit", "pygments", "platformdirs"},
    "cli": {"typer", "rich", "shellingham"},
}

Sources = Mapping[str, str]
_NAME = re.compile(r"gradcli(\.\w+)+")


class Import(NamedTuple):
    """An import: its line, the dotted name that is imported, and whether it is there for the type checker alone."""

    line: int
    name: str
    for_types: bool = False


def sources() -> dict[str, str]:
    """Dotted name -> text of every module of the package; a package goes by its own name."""
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in PACKAGE.rglob("*.py")}
    return {name: path.read_text(encoding="utf-8") for path, name in sorted(names.items())}


SOURCES = sources()


def imports(module: str, known: Sources) -> list[Import]:
    """All imports of a module. A string that begins an f-string, such as f"gradcli.cli.{name}", names all modules below."""
    return _imports(module, known[module], tuple(known))


@cache
def _imports(module: str, text: str, known: tuple[str, ...]) -> list[Import]:
    tree = ast.parse(text)
    typed = {id(inner) for node in ast.walk(tree) if _for_types(node) for statement in node.body for inner in ast.walk(statement)}
    found = []
    for node in ast.walk(tree):
        for name in _named(node, module, known):
            found.append(Import(node.lineno, name, id(node) in typed))  # type: ignore[attr-defined]
    return found


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _named(node: ast.AST, module: str, known: tuple[str, ...]) -> Iterator[str]:
    """The dotted names that one node of a syntax tree imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{module}:{node.lineno}: relative import"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if _NAME.fullmatch(node.value):
            yield node.value
        elif _NAME.fullmatch(node.value.removesuffix(".")):
            yield from (name for name in known if name.startswith(node.value) and name != module)


def target(name: str, known: Sources) -> str:
    """The module of ours that a dotted name lies in."""
    while name not in known and "." in name:
        name = name.rpartition(".")[0]
    return name


def wing(module: str) -> str:
    """The wing of a module: `core.graph` for gradcli.core.graph.record, `cli` for gradcli.cli.app, `__init__` for gradcli itself."""
    parts = module.split(".")[1:]
    return ".".join(parts[:2] if parts[:1] in (["core"], ["lang"]) else parts[:1]) or "__init__"


def offence(own: str, name: str, known: Sources = SOURCES) -> str | None:
    """Why the wing `own` may not import `name`, or None."""
    top = name.split(".")[0]
    if top != "gradcli":
        allowed = THIRD_PARTY.get(own, set()) | THIRD_PARTY.get(own.split(".")[0], set())
        return None if top in sys.stdlib_module_names or top in allowed else f"the third-party package {top}"
    other = wing(target(name, known))
    above = {other, other.split(".")[0]}
    return None if other == own or above & ALLOWED[own] else name


def offences(module: str, known: Sources = SOURCES) -> list[str]:
    """The imports of a module that its wing may not have."""
    found = ((line, offence(wing(module), name, known)) for line, name, _ in imports(module, known))
    return [f"line {line}: {why}" for line, why in found if why is not None]


def circle(known: Sources) -> list[str]:
    """Modules that import one another in a circle, the first one again at the end; empty where there is none."""
    edges = {name: {target(one.name, known) for one in imports(name, known) if not one.for_types} for name in known}
    try:
        TopologicalSorter({name: below & known.keys() - {name} for name, below in edges.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("module", SOURCES)
def test_imports_follow_the_table(module: str) -> None:
    assert wing(module) in ALLOWED, f"{module} belongs to no wing"
    assert not offences(module)


@pytest.mark.slow
def test_no_circle() -> None:
    assert not circle(SOURCES)


def test_tables_of_names_follow_the_table() -> None:
    """The vocabulary's places, and the families of operations that the composition root loads for the catalog."""
    places = {module for module, _ in library.PLACES.values()}
    families = {f"gradcli.core.ops.{name}" for name in _index.FAMILIES}
    assert places | families <= SOURCES.keys()
    assert not [name for name in places if offence("core.vocabulary", name)]
    assert not [name for name in families if offence("core", name)]


def test_the_composition_root_provides_what_lower_wings_declare() -> None:
    for provided in (tensor.provided, namespaces.provided, catalog.provided):
        assert all(hasattr(provided, name) for name in provided.__slots__)


def test_every_module_is_reached_by_its_dotted_name() -> None:
    """`import a.b.c as c` reads attributes: no package binds another value to the name of one of its modules."""
    without = "" if find_spec("distributed") else "gradcli.cluster."
    for module in SOURCES:
        if module != "gradcli.__main__" and not (without and module.startswith(without)):
            assert import_module(module) is reduce(getattr, module.split(".")[1:], gradcli), module


def test_only_the_parser_imports_lark() -> None:
    naming = [module for module, text in SOURCES.items() if "lark" in text]
    importers = {module for module in naming for one in imports(module, SOURCES) if one.name.split(".")[0] == "lark"}
    assert importers == {"gradcli.lang.syntax.lark_parser"}


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ("core.ops", "gradcli.source"),
        ("core.ops", "lark"),
        ("core.kernels", "gradcli.errors"),
        ("core.kernels", "gradcli.core.tensor.tensor.Tensor"),
        ("core.tensor", "gradcli.core.graph.record"),
        ("core.ops", "gradcli.core"),
        ("lang.syntax", "gradcli.lang.values.values"),
        ("lang.values", "lark"),
        ("render", "gradcli.session"),
        ("cli", "gradcli.core.tensor.tensor.Tensor"),
        ("cli", "gradcli.lang.syntax.parser"),
        ("lang.prompt", "gradcli.cli"),
        ("repl", "gradcli.lang.syntax.parser"),
        ("render", "numpy"),
    ],
)
def test_the_table_refuses(own: str, name: str) -> None:
    assert offence(own, name) is not None


RECORD, TENSOR = "gradcli.core.graph.record", "gradcli.core.tensor.tensor"


@pytest.mark.parametrize(
    "text",
    [
        f"from {RECORD} import Op",
        f"def run():\n    from {RECORD} import Op",
        f"def run():\n    import {RECORD}",
        "def run():\n    from gradcli.core.graph import record",
        f"TABLE = {{'op': ('{RECORD}', 'Op')}}",
        "load = lambda name: import_module(f'gradcli.core.graph.{name}')",
        "load = lambda name: import_module('gradcli.core.graph.' + name)",
        f"if TYPE_CHECKING:\n    from {RECORD} import Op",
    ],
)
def test_an_upward_import_is_found(text: str) -> None:
    assert offences(TENSOR, {RECORD: "", TENSOR: text})


@pytest.mark.parametrize(
    "text",
    [
        f"from {TENSOR} import Tensor",
        f"def run():\n    from {TENSOR} import Tensor",
        f"import_module('{TENSOR}')",
        "import_module(f'gradcli.core.tensor.{name}')",
    ],
)
def test_a_circle_is_found(text: str) -> None:
    known = {RECORD: text, TENSOR: "def run():\n    from gradcli.core.graph import node", "gradcli.core.graph.node": f"import {RECORD}"}
    assert set(circle(known)) == known.keys()
    assert not circle({**known, TENSOR: "if TYPE_CHECKING:\n    from gradcli.core.graph import node"})


@pytest.mark.slow
def test_no_module_runs_host_code() -> None:
    """No eval, exec or compile of the host, and no unpickling."""
    forbidden = {"eval", "exec", "compile", "__import__"}
    for module, text in SOURCES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in forbidden, f"{module}:{node.lineno}"
        assert "pickle" not in {one.name.split(".")[0] for one in imports(module, SOURCES)}, module
