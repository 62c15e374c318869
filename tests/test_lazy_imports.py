"""Packages that a command must not load, because they make its start slow."""

from __future__ import annotations

import os
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


#: what one-off expressions of numbers and operators have no use for, by what it is for
UNUSED = {
    "programs": ("gradcli.lang.interpreter.statement_table", "gradcli.lang.interpreter.compile_functions", "gradcli.lang.names.imports"),
    "files": ("gradcli.data.tables", "gradcli.data.arrays", "csv"),
    "attributes of nodes": ("gradcli.lang.names.graph_attributes", "gradcli.core.autograd.hooks", "gradcli.core.calling.mappings"),
    "functions": ("gradcli.core.ops.elementwise.exponential", "gradcli.core.ops.reduce.sum_mean", "gradcli.core.graph.in_place"),
    "libraries": ("gradcli.core.nn.module", "gradcli.core.optim.optimizer", "gradcli.core.data", "gradcli.core.transforms"),
    "numpy's arrays": ("gradcli.lang.arrays", "numpy.random"),
    "analysis": ("gradcli.analysis", "gradcli.session.derivatives", "gradcli.render.diagnostic", "gradcli.cli.progress"),
}


@pytest.mark.parametrize("words", [["grad", "x**3+2*x", "x=2"], ["eval", "x**3+2*x", "x=2"]])
def test_a_polynomial_loads_what_it_uses(words: list[str]) -> None:
    unused = tuple(name for names in UNUSED.values() for name in names)
    assert loaded(f"from gradcli.cli.app import run; run({words!r})", unused) == set()


def test_arrays_do_without_random_numbers() -> None:
    code = "from gradcli.cli.app import run; run(['eval', 'np.ones(2) + np.array([1, 2])'])"
    assert loaded(code, ("numpy.random", "gradcli.lang.arrays")) == {"gradcli.lang.arrays"}


@pytest.mark.parametrize(("words", "most"), [(["--help"], 20), (["eval", "x**3+2*x", "x=2"], 170), (["grad", "x**3+2*x", "x=2"], 175)])
def test_how_many_modules_a_command_loads(words: list[str], most: int) -> None:
    code = f"from gradcli.cli.app import run; run({words!r}); print(sum(m.split('.')[0] == 'gradcli' for m in sys.modules))"
    # plans are made from the second evaluation on
    environment = {name: value for name, value in os.environ.items() if name != "GRADCLI_PLANS"}
    probe = subprocess.run([sys.executable, "-c", f"import sys; {code}"], capture_output=True, text=True, check=True, env=environment)
    assert int(probe.stdout.split()[-1]) <= most


def test_the_process_leaves_the_collector_as_programs_have_it() -> None:
    code = """import atexit, gc, sys
from gradcli.__main__ import main
atexit.register(lambda: print(gc.isenabled(), gc.get_threshold()[0], gc.get_freeze_count() > 0))
sys.argv = ["gradcli", "--version"]
main()"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True 100000 True"


def test_core_needs_numpy_alone() -> None:
    assert loaded("import gradcli.core.tensor.tensor, gradcli.core.autograd.backward") == {"numpy"}
