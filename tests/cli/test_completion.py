"""Completion in shells: candidates, what each shell gets, and that nothing heavy is loaded for them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import pyte
import pytest

from gradcli.analysis.reference import lookup
from gradcli.cli.completion import names, scripts
from gradcli.cli.completion.candidates import candidates
from gradcli.cli.completion.shells import split_line
from gradcli.cli.group import COMMANDS
from gradcli.limits import NAMES

ROOT = Path(__file__).parents[2]
BREAKS = " \t\n\"'@><=;|&(:"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("data.csv", "my file.csv", "star*.csv", "it's.csv", "a.py", "notes.txt", ".hidden.csv", "two\nlines.csv"):
        (tmp_path / name).write_text("height,weight\n1,2\n")
    (tmp_path / "plants.tsv").write_text("height\tweight\n1\t2\n")
    (tmp_path / "course.ipynb").touch()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(*words: str) -> list[str]:
    return [one.value for one in candidates(words[:-1], words[-1])]


def test_commands() -> None:
    assert values("") == list(COMMANDS)
    assert values("ex") == ["explain"]
    assert values("nonsense", "") == []
    assert "--version" in values("--")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["eval", "--format", ""], ["table", "repr", "plain", "json", "csv", "npy"]),
        (["check", "--format", ""], ["table", "json", "csv"]),
        (["explain", "--format", "l"], ["latex"]),
        (["eval", "--format=j"], ["--format=json"]),
        (["graph", "x", "--as", ""], ["tree", "dot", "mermaid", "svg", "png", "pdf", "json"]),
        (["minimize", "x", "--method", "ada"], ["adam", "adamw", "adamax", "adagrad", "adadelta"]),
        (["eval", "--limit", "ti"], ["time="]),
        (["eval", "--limit", ""], [f"{name}=" for name in NAMES]),
        (["eval", "--color", "n"], ["never"]),
        (["eval", "--dtype", ""], ["float32", "float64"]),
        (["eval", "--dtype", "float64", "--dt"], []),
        (["eval", "--limit", "time=1", "--lim"], ["--limit"]),
        (["grad", "x*y", "x=1", "y=2", "--wrt", ""], ["x", "y"]),
        (["grad", "x*y", "x=1", "y=2", "--wrt", "x,"], ["x,y"]),
        (["eval", "x", "x=@d"], ["x=@data.csv"]),
        (["eval", "x", "x:=@my"], ["x:=@my file.csv"]),
        (["eval", "x", "x=@data.csv:w"], ["x=@data.csv:weight"]),
        (["eval", "x", "x=@s"], ["x=@star*.csv", "x=@sub/"]),
        (["eval", "x", "x=@.h"], ["x=@.hidden.csv"]),
        (["eval", "x", "x=@t"], []),
        (["eval", "-f", "n"], ["notes.txt"]),
        (["eval", "1+softmi"], []),
        (["eval", "1+F.softmi"], ["1+F.softmin"]),
        (["eval", "x.expm"], ["x.expm1"]),
        (["eval", "width=3", "2*wid"], ["2*width"]),
        (["eval", "x", "sof"], []),
        (["eval", "x", "x=@plants.tsv:w"], ["x=@plants.tsv:weight"]),
        (["run", ""], ["a.py", "course.ipynb", "sub/"]),
        (["ops", "softm"], ["softmax", "softmin"]),
        (["ops", "F.softm"], ["F.softmax", "F.softmin"]),
        (["ops", "torch.softm"], ["torch.softmax"]),
        (["ops", "Tensor.softm"], ["Tensor.softmax"]),
        (["ops", "nn.Softm"], ["nn.Softmax", "nn.Softmax2d", "nn.Softmin"]),
    ],
)
def test_values(folder: Path, words: list[str], found: list[str]) -> None:
    assert values(*words) == found


def test_every_name_that_completion_offers_is_known_to_ops() -> None:
    known = lookup._known()
    assert set(names.operations()) <= set(known)
    assert {name for name, family in known.items() if family} <= set(names.operations())


@pytest.mark.parametrize(
    ("text", "words", "typed", "kept"),
    [
        ("gradcli eval x x=@da", ["gradcli", "eval", "x"], "x=@da", 2),
        ("gradcli eval x 'x=@my f", ["gradcli", "eval", "x"], "x=@my f", 0),
        ("gradcli eval x x=@my\\ f", ["gradcli", "eval", "x"], "x=@my f", 2),
        ("gradcli eval 'x + 1' \"a\\\"b ", ["gradcli", "eval", "x + 1"], 'a"b ', 0),
        ("gradcli eval x='a b'@c:", ["gradcli", "eval"], "x=a b@c:", 8),
        ("gradcli eval '' ", ["gradcli", "eval", ""], "", 0),
    ],
)
def test_lines_of_bash(text: str, words: list[str], typed: str, kept: int) -> None:
    line = split_line(text, BREAKS)
    assert (line.words, line.typed, line.kept) == (words, typed, kept)


def completed(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run([sys.executable, "-m", "gradcli", *words], capture_output=True, text=True, env=environ, timeout=60)


def test_what_the_shells_get(folder: Path) -> None:
    bash = completed(_GRADCLI_COMPLETE="bash", _GRADCLI_LINE="gradcli eval x x=@s", _GRADCLI_BREAKS=BREAKS)
    assert (bash.stdout, bash.stderr) == ("open\n@star\\*.csv\n@sub/\n", "")
    zsh = completed("eval", "x", "x=@my", _GRADCLI_COMPLETE="zsh")
    assert (zsh.stdout, zsh.stderr) == ("file\t3\tmy file.csv\t\n", "")
    fish = completed("ev", _GRADCLI_COMPLETE="fish")
    assert (fish.stdout, fish.stderr) == (f"eval\t{COMMANDS['eval']}\n", "")
    typer = completed(_GRADCLI_COMPLETE="complete_bash", COMP_WORDS="gradcli ops softm", COMP_CWORD="2")
    assert (typer.stdout, typer.stderr) == ("softmax\nsoftmin\n", "")


@pytest.mark.parametrize("instruction", ["", "nonsense", "complete_zsh", "complete_bash", "bash", "zsh"])
def test_completion_never_fails(instruction: str) -> None:
    done = completed("\udcff", "x='", _GRADCLI_COMPLETE=instruction, COMP_WORDS="gradcli 'a", COMP_CWORD="x")
    assert (done.returncode, done.stderr) == (0, "")


def test_completion_loads_neither_numpy_nor_rich() -> None:
    code = (
        "import sys\nfrom gradcli.cli.app import main\nsys.argv = ['gradcli', 'ops', 'sof']\nmain()\n"
        "print({name.partition('.')[0] for name in sys.modules} & {'numpy', 'rich', 'lark', 'prompt_toolkit'})\n"
        "print([name for name in sys.modules if name.startswith('gradcli.core')])"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "_GRADCLI_COMPLETE": "zsh"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, timeout=60)
    assert "softmax" in done.stdout and done.stdout.splitlines()[-2:] == ["set()", "[]"]


def test_show_and_install(tmp_path: Path) -> None:
    for shell, script in scripts.SCRIPTS.items():
        assert completed("--show-completion", shell).stdout == script
        for _ in range(2):
            done = completed("--install-completion", shell, HOME=str(tmp_path))
            assert done.returncode == 0 and str(tmp_path) in done.stdout
    assert (tmp_path / ".bashrc").read_text().count("gradcli") == 1
    assert (tmp_path / ".config/fish/completions/gradcli.fish").read_text() == scripts.SCRIPTS["fish"]
    done = completed("--show-completion", "csh")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "UsageError: completion is for bash, zsh, fish, not csh")


_START = {
    "bash": (["--norc", "--noprofile"], "PS1='$ '; source <(gradcli --show-completion bash); clear"),
    "zsh": (["-f"], "PS1='$ '; autoload -Uz compinit; compinit -u -D; source <(gradcli --show-completion zsh); clear"),
    "fish": (["--no-config"], "function fish_prompt; echo '$ '; end; gradcli --show-completion fish | source; clear"),
}


class Shell:
    """A shell in a terminal, in the folder of the test."""

    def __init__(self, name: str, folder: Path) -> None:
        arguments, start = _START[name]
        program = folder / "gradcli"
        program.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m gradcli "$@"\n')
        program.chmod(0o755)
        environ = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TERM": "xterm", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
        self.child = pexpect.spawn(name, arguments, env=environ, dimensions=(20, 100), encoding="utf-8", cwd=str(folder))
        self.screen = pyte.Screen(100, 20)
        self.stream = pyte.Stream(self.screen)
        self.wait_for(lambda text: bool(text.strip()))
        self.child.send(start + "\n")
        self.wait_for(lambda text: text.strip() == "$")

    def wait_for(self, found: object, seconds: float = 20) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                self.stream.feed(self.child.read_nonblocking(4096, 0.1))
            except pexpect.TIMEOUT:
                text = "\n".join(line.rstrip() for line in self.screen.display)
                if found(text):  # type: ignore[operator]
                    return text
        raise AssertionError("\n".join(self.screen.display))


@pytest.mark.slow
@pytest.mark.parametrize("name", _START)
def test_real_shells(folder: Path, name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    shell = Shell(name, folder)
    for typed, whole in [
        ("gradcli expl", "gradcli explain"),
        ("gradcli ops logsumex", "gradcli ops logsumexp"),
        ("gradcli eval x --format=j", "gradcli eval x --format=json"),
        ("gradcli eval x x=@my", "gradcli eval x x=@my\\ file.csv"),
        ("gradcli eval x x=@star", "gradcli eval x x=@star\\*.csv"),
        ("gradcli eval x x=@data.csv:w", "gradcli eval x x=@data.csv:weight"),
        ("gradcli minimize x --limit wor", "gradcli minimize x --limit work="),
    ]:
        shell.child.send(typed + "\t")
        shell.wait_for(lambda text, whole=whole: whole in text)
        shell.child.send("\x15")
        shell.wait_for(lambda text: text.strip() == "$")
    shell.child.close(force=True)
