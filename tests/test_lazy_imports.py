"""Packages that a command must not load, because they make its start slow."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "lark", "rich", "pydantic", "prompt_toolkit")


def loaded(code: str) -> set[str]:
    """The heavy packages in `sys.modules` after `code`, run in an interpreter of its own."""
    probe = f"import sys\n{code}\nprint('LOADED', *(m for m in {HEAVY!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["eval", "--help"], ["grad", "-h"], ["grad", "--version"], ["x+1"]])
def test_help_and_version_load_nothing_heavy(words: list[str]) -> None:
    assert loaded(f"from gradcli.cli.app import run; run({words!r})") == set()


def test_a_gradient_needs_no_rich() -> None:
    assert "rich" not in loaded("from gradcli.cli.app import run; run(['grad', 'x**2', 'x=3'])")


def test_core_needs_numpy_alone() -> None:
    assert loaded("import gradcli.core.tensor.tensor, gradcli.core.autograd.backward") == {"numpy"}
