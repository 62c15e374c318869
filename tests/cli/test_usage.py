"""Mistakes: one message, the right exit code, never a traceback."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    ("words", "code", "err"),
    [
        (["x+1"], 2, "UsageError: no such command: x+1\n  did you mean gradcli eval 'x+1' x=3?\n"),
        (["x + 1"], 2, "UsageError: no such command: x + 1\n  did you mean gradcli eval 'x + 1' x=3?\n"),
        (["-x*2", "x=3"], 2, "UsageError: no such command: -x*2\n  did you mean gradcli eval '-x*2' x=3?\n"),
        (["evel", "1"], 2, "UsageError: no such command: evel\n  did you mean eval?\n"),
        (["--verbose"], 2, "UsageError: no such option: --verbose\n  try   gradcli --help\n"),
        (["eval"], 2, "UsageError: an expression is missing\n  try   gradcli eval 'x**2' x=3\n"),
        (["eval", ""], 2, "UsageError: the expression is empty\n  the shell replaces $NAME in double quotes: use single quotes\n"),
        (["eval", "x", "--presicion", "3"], 2, "UsageError: no such option: --presicion\n  did you mean --precision, --version?\n"),
        (["eval", "-z"], 2, "UsageError: no such option: -z\n  an expression can follow --, as in: gradcli eval -- -z\n"),
        (["eval", "x", "x=1", "--seed"], 2, "UsageError: the option --seed needs a value\n"),
        (["eval", "x", "x=1", "--quiet=3"], 2, "UsageError: the option --quiet takes no value\n"),
        (["eval", "x", "2x=1"], 2, "UsageError: '2x' is not a name: names are ASCII letters, digits and _, and begin with no digit\n"),
        (["eval", "x", "ä=1"], 2, "UsageError: 'ä' is not a name: names are ASCII letters, digits and _, and begin with no digit\n"),
        (["eval", "x", "if=1"], 2, "UsageError: 'if' is a word of the language and cannot be a name\n"),
        (["eval", "x", "x=1", "x=2"], 2, "UsageError: 'x' is given twice\n"),
        (["eval", "x", "--dtype", "int8"], 2, "UsageError: --dtype takes float32 or float64, not 'int8'\n"),
        (["eval", "x", "--format", "xml"], 2, "UsageError: --format takes table, repr, plain, json, csv or npy, not 'xml'\n"),
        (["eval", "1", "--limit", "foo=1"], 2, None),
        (["eval", "1", "--limit", "time=none", "--untrusted"], 2, None),
        (["eval", "1", "-o", "x.svg"], 2, None),
        (["grad", "x", "x=1", "--color", "maybe"], 2, "UsageError: --color takes auto, always or never, not 'maybe'\n"),
        (
            ["eval", "x", "*", "2"],
            2,
            "UsageError: unexpected argument '*'\n  if it all is one expression, put single quotes around it: gradcli eval 'x * 2'\n",
        ),
    ],
)
def test_usage(cli, words: list[str], code: int, err: str | None) -> None:
    answer = cli(*words)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.count("\n") <= 3 and "Traceback" not in answer.err
    if err is not None:
        assert answer.err == err


def test_names_that_look_like_glob_results(cli, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("")
    answer = cli("eval", "x", "a.txt", "b.txt", "2", "x=3")
    assert answer.code == 2
    assert "the shell has put file names where * stood; use single quotes" in answer.err


@pytest.mark.parametrize(
    ("words", "code", "first", "excerpt"),
    [
        (["eval", "x +", "x=1"], 3, "SyntaxError: ", "x +"),
        (["eval", "(1", "x=1"], 3, "SyntaxError: ", "(1"),
        (["eval", "x", "x=[1 2]"], 3, "SyntaxError: ", "[1 2]"),
        (["eval", "x", "x="], 3, "SyntaxError: ", ""),
        (["eval", "x", "x:=1 +"], 3, "SyntaxError: ", "1 +"),
        (["grad", "x*x", "x=1,2", "-v", "1,,2"], 3, "SyntaxError: ", "1,,2"),
        (["eval", "foo + 1"], 1, "NameError: name 'foo' is not defined", "foo + 1"),
        (["eval", "torch.sinn(x)", "x=1"], 1, "AttributeError: module 'torch' has no attribute 'sinn'", "^^^^ did you mean sin"),
        (["eval", "x", "x=sinn(2)"], 1, "NameError: name 'sinn' is not defined", "sinn(2)"),
        (["eval", "x + y", "x=1,2", "y=1,2,3"], 1, "RuntimeError: The size of tensor a (2) must match the size of tensor b (3)", "x + y"),
        (["eval", "x", "x='abc'"], 1, "TypeError: ", "'abc'"),
        (["eval", "x", "x=@none.csv"], 1, "DataError: cannot read none.csv: No such file or directory", ""),
        (["eval", "10**100000", "--limit", "digits=100"], 5, "LimitError: ", "10**100000"),
        (["eval", "zeros(100)", "--limit", "elements=99"], 5, "LimitError: ", "zeros(100)"),
        (["eval", "(" * 300 + "1" + ")" * 300], 5, "LimitError: ", ""),
    ],
)
def test_program_errors(cli, words: list[str], code: int, first: str, excerpt: str) -> None:
    answer = cli(*words)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith(first)
    assert excerpt in answer.err
    assert "Traceback" not in answer.err


def test_errors_are_json_under_json(cli) -> None:
    answer = cli("eval", "foo", "--json")
    error = json.loads(answer.out)
    assert (answer.code, error["ok"], error["error"]["kind"], error["error"]["exit"]) == (1, False, "NameError", 1)
    assert error["error"]["span"] == {"source": "<expression>", "start": 0, "end": 3, "line": 1, "column": 1, "text": "foo"}
    assert json.loads(cli("eval", "1", "--json", "--bogus").out)["error"]["exit"] == 2


def test_debug_alone_shows_tracebacks(cli) -> None:
    assert "Traceback" in cli("eval", "foo", "--debug").err
    assert "Traceback" not in cli("eval", "foo").err


def test_an_internal_fault_is_one_message(cli, monkeypatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("gradcli.cli.arguments.split", broken)
    answer = cli("eval", "1")
    assert answer.code == 1
    assert answer.err == "InternalFault: ZeroDivisionError: oops\n  this is a fault of gradcli; --debug shows where it happened\n"


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["eval", "--help"], ["grad", "-h"]])
def test_help_begins_with_examples(cli, words: list[str]) -> None:
    answer = cli(*words)
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "Examples:" and lines[1].startswith("  gradcli ") and "'" in lines[1]


def test_every_command_has_help(cli) -> None:
    from gradcli.cli.group import COMMANDS

    for name in COMMANDS:
        assert cli(name, "--help").code == 0


def test_examples_of_the_help_run(cli, tmp_path, monkeypatch) -> None:
    import shlex

    from gradcli.cli.commands import eval as eval_command
    from gradcli.cli.commands import grad as grad_command

    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("height,weight\n1,2\n3,4\n")
    for line in (eval_command.EXAMPLES + "\n" + grad_command.EXAMPLES).splitlines():
        answer = cli(*shlex.split(line)[1:])
        assert (answer.code, answer.err) == (0, ""), line


@pytest.mark.parametrize("words", [["--version"], ["eval", "--version"]])
def test_version(cli, words: list[str]) -> None:
    assert cli(*words).out == "gradcli 0.1.0\n"
