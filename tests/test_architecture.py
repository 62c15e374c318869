"""Who may import whom: every import of the package, lazy ones too, is held against this table."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "gradcli"

#: layer -> what it may import of ours, besides itself
ALLOWED = {
    "source": set(),
    "errors": {"source"},
    "limits": {"errors"},
    "data": {"limits", "errors"},
    "core": {"errors", "limits"},
    "lang": {"core", "errors", "source", "limits"},
    "analysis": {"core", "lang", "results", "errors", "source"},
    "results": {"plain"},
    "plain": set(),
    "session": {"lang", "core", "analysis", "data", "results", "limits", "errors", "source"},
    "batch": {"session", "limits", "errors"},
    "render": {"results", "errors", "source"},
    "repl": {"session", "render", "results", "lang.names", "limits", "errors"},
    "cli": {"plain", "source", "errors", "limits", "data", "analysis", "results", "session", "batch", "render", "repl", "__init__"},
    "__main__": {"cli"},
    "__init__": set(),
}

#: layer -> third-party packages it may import
THIRD_PARTY = {
    "data": {"numpy"},
    "core": {"numpy"},
    "lang": {"numpy", "lark"},
    "analysis": {"numpy"},
    "results": {"numpy"},
    "session": {"numpy"},
    "render": {"rich", "pygments", "plotille", "matplotlib"},
    "repl": {"prompt_toolkit", "pygments", "platformdirs"},
    "cli": {"typer", "rich"},
}


def layer_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imports(path: Path) -> list[tuple[int, str]]:
    """(line, dotted module) of every import statement, also inside functions and `if TYPE_CHECKING`."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            assert node.module is not None
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def offence(layer: str, module: str) -> str | None:
    """Why `layer` may not import `module`, or None."""
    top, *rest = module.split(".")
    if top != "gradcli":
        if top in sys.stdlib_module_names or top in THIRD_PARTY.get(layer, set()):
            return None
        return f"the third-party package {top}"
    target = "__init__" if not rest or (rest[0] not in ALLOWED and rest[0].startswith("__")) else rest[0]
    if target == layer or target in ALLOWED[layer] or ".".join(rest[:2]) in ALLOWED[layer]:
        return None
    return f"gradcli.{target}"


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_follow_the_table(path: Path) -> None:
    layer = layer_of(path)
    assert layer in ALLOWED, f"{path} belongs to no layer"
    wrong = [f"line {line}: {why}" for line, module in imports(path) if (why := offence(layer, module))]
    assert not wrong


def test_only_the_parser_imports_lark() -> None:
    importers = {str(path.relative_to(PACKAGE)) for path in modules() for _, module in imports(path) if module.split(".")[0] == "lark"}
    assert importers == {"lang/syntax/lark_parser.py"}


@pytest.mark.parametrize(
    ("layer", "module"),
    [
        ("core", "gradcli.source"),
        ("core", "lark"),
        ("render", "gradcli.session"),
        ("cli", "gradcli.core.tensor.tensor.Tensor"),
        ("cli", "gradcli.lang.syntax.parser"),
        ("lang", "gradcli.cli"),
        ("repl", "gradcli.lang.syntax.parser"),
        ("render", "numpy"),
    ],
)
def test_the_table_refuses(layer: str, module: str) -> None:
    assert offence(layer, module) is not None


def test_no_module_runs_host_code() -> None:
    """No eval, exec or compile of the host, and no unpickling."""
    forbidden = {"eval", "exec", "compile", "__import__"}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in forbidden, f"{path}:{node.lineno}"
        assert "pickle" not in {module.split(".")[0] for _, module in imports(path)}, path
