"""Packages that a command must not load, because they make its start slow."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "lark", "rich", "pydantic", "prompt_toolkit")
FORMATS = ("repr", "plain", "json", "csv")


def loaded(code: str, names: tuple[str, ...] = HEAVY) -> set[str]:
    """Which of `names` are in `sys.modules` after `code`, run in an interpreter of its own."""
    probe = f"import sys\n{code}\nprint('LOADED', *(m for m in {names!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["eval", "--help"], ["grad", "-h"], ["grad", "--version"], ["x+1"]])
def test_help_and_version_load_nothing_heavy(words: list[str]) -> None:
    assert loaded(f"from gradcli.cli.app import run; run({words!r})") == set()


@pytest.mark.parametrize("words", [["eval", "x**2", "x=3"], *(["grad", "x**2", "x=3", "--format", name] for name in FORMATS)])
def test_what_is_no_table_needs_no_rich(words: list[str]) -> None:
    assert "rich" not in loaded(f"from gradcli.cli.app import run; run({words!r})")


def test_a_table_needs_what_draws_tables_alone() -> None:
    code = "from gradcli.cli.app import run; run(['grad', 'x**2', 'x=3'])"
    more = ("rich.table", "rich.traceback", "rich.markdown", "rich.syntax", "rich.progress", "pygments")
    assert loaded(code, more) == {"rich.table"}


def test_core_needs_numpy_alone() -> None:
    assert loaded("import gradcli.core.tensor.tensor, gradcli.core.autograd.backward") == {"numpy"}
