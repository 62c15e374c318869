"""Every console example of the README and of the pages in docs/ prints what stands there.

GRADCLI_UPDATE_PAGES=1 writes what the commands print into the pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradcli import errors, limits
from gradcli.cli import options
from gradcli.cli.completion import candidates

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted((ROOT / "docs").glob("*.md"))
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def examples(text: str) -> Iterator[tuple[str, str]]:
    """(command, output) of every `$` line in the fenced console blocks."""
    for block in _BLOCK.findall(text):
        for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = piece.partition("\n")
            yield command, output


def run(command: str, path: Path) -> str:
    """What the command prints, both streams together, with this interpreter's `gradcli` on the path."""
    script = path / "gradcli"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradcli "$@"\n')
    script.chmod(0o755)
    drop = ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "COLUMNS")
    environ = {key: value for key, value in os.environ.items() if key not in drop}
    environ |= {"PATH": f"{path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "GRADCLI_CONFIG_DIR": str(path / "config")}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(["bash", "-c", command], cwd=path, env=environ, text=True, timeout=60, **streams).stdout


@pytest.mark.parametrize(("command", "output"), list(examples(README)), ids=lambda text: text[:50])
def test_readme_example(command: str, output: str, tmp_path: Path) -> None:
    # .ci/run runs the part of the command that installs; here runs the part after it
    command = command.rpartition(" && ")[2].replace(".venv/bin/", "")
    if "pytest" in command:
        assert re.fullmatch(r"python -m pytest -q", command)
        return
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    assert run(command, tmp_path) == output


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page(page: Path, tmp_path: Path) -> None:
    """The commands of a page run one after the other in one folder."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    text = page.read_text(encoding="utf-8")
    printed = {command: run(command, tmp_path) for command, _ in examples(text)}
    if os.environ.get("GRADCLI_UPDATE_PAGES"):
        blocks = (
            "```console\n" + "".join(f"$ {command}\n{printed[command]}" for command, _ in examples(found[0])) + "```"
            for found in _BLOCK.finditer(text)
        )
        page.write_text(_BLOCK.sub(lambda _: next(blocks), text), encoding="utf-8")
        return
    for command, output in examples(text):
        assert printed[command] == output, command


def test_the_first_command_is_the_main_job() -> None:
    command, output = next(examples(README))
    assert command.endswith("gradcli grad 'mean((x+2)*(x+2)*2)' x='[-1.2301, 0.5498, -1.7590]'")
    for text in ("4.7682", "MeanBackward0", "1.0265, 3.3997, 0.3213"):
        assert text in output


def test_the_reference_has_every_command_limit_and_exit_code(tmp_path: Path) -> None:
    """The options of a command stand in its help, which the page shows whole."""
    shown = [command for command, _ in examples(REFERENCE)]
    commands = re.findall(r"^  (\w+) {2,}\S", run("gradcli --help", tmp_path).partition("Commands:")[2], re.M)
    assert len(commands) > 10 and [f"gradcli {name} --help" for name in commands] == shown[1:]
    rows = re.findall(r"^\| ([a-z, ]+) \|", REFERENCE.partition("## Limits")[2], re.M)
    assert sorted(name for row in rows[1:] for name in row.split(", ")) == sorted(limits.NAMES)
    kinds = {kind.exit_code for kind in errors.GradcliError.__subclasses__()}
    codes = {int(code) for code in re.findall(r"^\| (\d) \|", REFERENCE, re.M)}
    assert codes == kinds | {0}


def test_the_reference_has_every_kind_of_file() -> None:
    section = REFERENCE.partition("## Files")[2].partition("##")[0]
    named = {found for row in re.findall(r"^\| (`\..*?) \|", section, re.M) for found in re.findall(r"`(\.\w+)`", row)}
    written = set(options.SUFFIXES)
    read = {*candidates.DATA, *candidates.RUN}
    assert named == written | read


def test_the_reference_has_every_variable_of_the_environment() -> None:
    section = REFERENCE.partition("## Environment")[2].partition("##")[0]
    named = {found for row in re.findall(r"^\| (`[A-Z].*?) \|", section, re.M) for found in re.findall(r"`(\w+)`", row)}
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "gradcli").rglob("*.py"))
    read = set(re.findall(r"environ(?:\.get\(|\[)\"([A-Z]\w+)\"(?!\] =)", source))
    # those of completion are set by the shells' own scripts, the pager is pydoc's, and one is a switch for tests (CONTRIBUTING.md)
    assert named - {"PAGER"} == {name for name in read if not name.startswith("COMP_")} - {"GRADCLI_PLANS"}


def test_links_of_pages_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *PAGES):
        for target in re.findall(r"\]\((?!https?:)([^)#]*)#?[^)]*\)", page.read_text(encoding="utf-8")):
            assert not target or (page.parent / target).exists(), f"{page.name}: {target}"
