"""`--format` and the suffix of `-o`: each command names what it writes, and writes what it names."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from gradcli.cli.group import COMMANDS

#: by command, words that it answers
_WORDS = {
    "eval": ["x*2", "x=1,2"],
    "grad": ["x*2", "x=1"],
    "jacobian": ["x*2", "x=1"],
    "hessian": ["x*x", "x=1"],
    "check": ["x*2", "x=1"],
    "explain": ["x*2", "x=1"],
    "minimize": ["x*x", "x=1"],
    "plot": ["x*2", "x=0..1"],
    "ops": ["sin"],
}


def _formats(command: str) -> tuple[str, ...]:
    found: tuple[str, ...] = import_module(f"gradcli.cli.commands.{command}").FORMATS
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_the_formats_of_the_command(cli, command: str) -> None:
    shown = cli(command, "--help").out
    match = re.search(r"--format FORMAT +([\w,\s]+?)\.", shown)
    named = set(re.findall(r"\w+", match[1])) - {"or"} if match else set()
    assert named == (set(_formats(command)) if len(_formats(command)) > 1 else set())
    assert ("--json" in shown) == ("json" in _formats(command) and command != "batch")


@pytest.mark.parametrize(("command", "format_"), [(command, format_) for command in _WORDS for format_ in _formats(command)])
def test_every_format_is_written(cli, tmp_path: Path, command: str, format_: str) -> None:
    if format_ in ("png", "pdf"):
        pytest.importorskip("matplotlib")
    target = tmp_path / "out"
    answer = cli(command, *_WORDS[command], "--format", format_, "-o", str(target))
    assert (answer.code, answer.out) == (0, "")
    assert target.stat().st_size > 0


@pytest.mark.parametrize("command", _WORDS)
def test_a_wrong_format_names_the_possible_ones(cli, command: str) -> None:
    answer = cli(command, *_WORDS[command], "--format", "xml")
    assert (answer.code, answer.out) == (2, "")
    assert set(re.findall(r"\w+", answer.err)) >= set(_formats(command))


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (["eval", "x", "x=1,2", "-o", "w.npy"], b"\x93NUMPY"),
        (["explain", "x*2", "x=1", "-o", "e.tex"], b"\\documentclass"),
        (["eval", "x", "x=1", "-o", "v.json"], b'{"gradcli"'),
        (["graph", "x*2", "x=1", "-o", "g.dot"], b"digraph"),
        (["graph", "x*2", "x=1", "-o", "g.SVG"], b"<svg"),
        (["eval", "x", "x=1", "-o", "v.txt"], b"tensor(1."),
        (["eval", "x", "x=1", "--format", "csv", "-o", "v.json"], b"index,value"),
        (["eval", "[1, True]", "-o", "w.npy"], b"\x93NUMPY"),
    ],
)
def test_suffixes_mean_what_they_say(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], start: bytes) -> None:
    monkeypatch.chdir(tmp_path)
    answer = cli(*words)
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    assert (tmp_path / words[-1]).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("words", "excerpt"),
    [
        (["eval", "x", "x=1", "-o", "w.pt"], ".pt is not what this command can write"),
        (["eval", "x", "x=1", "-o", "w.npz"], ".npz is not what this command can write"),
        (["grad", "x", "x=1", "-o", "g.npy"], ".npy is not what this command can write"),
        (["graph", "x*2", "x=1", "-o", "g.jpg"], "it has tree, dot, mermaid, svg, png, pdf, json"),
        (["explain", "x*2", "x=1", "-o", "e.html"], "it has table, json, csv, latex"),
        (["report", "x*2", "x=1", "-o", "r.pdf"], "it has html"),
        (["eval", "'text'", "-o", "w.npy"], "an npy file holds real numbers or booleans"),
    ],
)
def test_other_suffixes_are_errors(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], excerpt: str) -> None:
    monkeypatch.chdir(tmp_path)
    answer = cli(*words)
    assert (answer.code, answer.out) == (2, "")
    assert excerpt in answer.err
    assert list(tmp_path.iterdir()) == []


def test_npy_is_read_back(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in ("x/3", "x.double()/3", "x > 1", "x.long()"):
        assert cli("eval", text, "x=1,2,3", "-o", "w.npy").code == 0
        wide = ("--dtype", "float64") if "double" in text else ()
        assert cli("eval", "w.tolist()", "w:=@w.npy", *wide).out == cli("eval", f"({text}).tolist()", "x=1,2,3").out
    assert cli("report", "x*2", "x=1", "-o", "-").out.startswith("<!DOCTYPE html>")
