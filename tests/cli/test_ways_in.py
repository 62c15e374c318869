"""Other ways to say the same: help, version, -c, standard input, pipes by name; and notes about what is not used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_streams import GRADCLI, shell


def test_help_version_and_c(cli) -> None:
    assert cli("help").out == cli("--help").out
    assert cli("help", "grad").out == cli("grad", "--help").out
    assert cli("version").out == cli("-V").out == cli("--version").out
    assert cli("-c", "x*2", "x=3").out == cli("eval", "x*2", "x=3").out


@pytest.mark.parametrize(
    ("script", "out"),
    [
        (b"2*2", "4\n"),
        (b"ones(2)\n", "tensor([1., 1.])\n"),
        (b"'a'\n", "'a'\n"),
        (b"print(5)\n", "5\n"),
        (b"None", ""),
        (b"x = 3\nprint(x)\n", "3\n"),
        (b"x = 3\nx\n", ""),
        (b"", ""),
    ],
)
def test_an_expression_on_standard_input_is_answered(cli, script: bytes, out: str) -> None:
    answer = cli(stdin=script)
    assert (answer.code, answer.out, answer.err) == (0, out, "")


def test_errors_on_standard_input_are_those_of_a_script(cli) -> None:
    assert cli(stdin=b"2*").code == 3
    answer = cli(stdin=b"2*x")
    assert (answer.code, answer.err.splitlines()[0]) == (1, "NameError: name 'x' is not defined")


@pytest.mark.parametrize(
    ("words", "err"),
    [
        (["eval", "x", "x=1", "y=2"], "note: y is given, but not used\n"),
        (["eval", "x", "x=1", "y=2", "z=3"], "note: y and z are given, but not used\n"),
        (["eval", "x", "y=2", "x=y*2"], ""),
        (["grad", "x", "x=1,2", "w=1,0", "-v", "w"], ""),
        (["eval", "x", "x=1", "y=2", "-q"], ""),
        (["grad", "x", "x=1", "y=2"], "note: y is given, but not used\n"),
    ],
)
def test_unused_names_are_told(cli, words: list[str], err: str) -> None:
    answer = cli(*words)
    assert (answer.code, answer.err) == (0, err)


@pytest.mark.slow
def test_pipes_by_name(tmp_path: Path) -> None:
    for command, out in [
        ("eval x x=@<(echo 1,2)", "tensor([[1., 2.]], requires_grad=True)\n"),
        ("eval -f <(echo '1+2')", "3\n"),
        ("run /dev/stdin <<< 'print(7)'", "7\n"),
        ("run <(echo 'print(8)')", "8\n"),
        ("eval x x=@/dev/stdin < <(printf '1\\n')", "tensor([[1.]], requires_grad=True)\n"),
        (f"eval y y:=@<({GRADCLI} eval 'ones(2)' --format npy)", "tensor([1., 1.])\n"),
    ]:
        done = shell(f"{GRADCLI} {command}")
        assert (done.stdout, done.stderr) == (out, ""), command
    assert shell(f'echo \'{{"expr": "1"}}\' | {GRADCLI} batch /dev/stdin').stdout.startswith('{"id": null, "line": 1, "ok": true')
    done = shell(f"{GRADCLI} eval x x=@<(head -c 99 /dev/zero) --limit bytes=9")
    assert (done.returncode, "limit" in done.stderr) == (5, True)


def test_names_of_the_reference(cli) -> None:
    lines = cli("ops", "--names").out.splitlines()
    assert len(lines) > 900 and "torch.softmax" in lines and all(" " not in line for line in lines)
    assert cli("ops", "--names", "softm*").out == cli("ops", "softm*", "--format", "plain").out
    assert cli("ops", "--names", "--json").code == 2
