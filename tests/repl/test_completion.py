"""Completion, complete inputs, previews, history and the plain reader, each by itself."""

from __future__ import annotations

import asyncio
import io
import os
import stat
import sys
import time
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from gradcli.repl.commands import COMMANDS
from gradcli.repl.completer import PromptCompleter
from gradcli.repl.editor import indentation, without_prompts
from gradcli.repl.history import MOST_ENTRIES, HistoryFile
from gradcli.repl.plain import PlainReader
from gradcli.repl.preview import BUDGET, DELAY, Preview
from tests.repl.conftest import Typist


def offered(typist: Typist, text: str) -> list[str]:
    completer = PromptCompleter(typist.prompt.names.complete)
    return [found.text for found in completer.get_completions(Document(text), CompleteEvent())]


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("width", ["width"], ["wide"]),
        ("wi", ["width", "with"], []),
        ("sig", ["sigmoid"], []),
        ("x.requ", ["requires_grad", "requires_grad_"], []),
        ("x.grad", ["grad", "grad_fn"], []),
        ("x[0].su", ["sum", "sub"], []),
        ("(x * 2).me", ["mean"], []),
        ("x.exp().me", ["mean"], []),
        ("'a'.upp", ["upper"], []),
        ("names.app", ["append"], []),
        ("torch.nn.func", ["functional"], []),
        ("F.rel", ["relu"], []),
        ("x.sum(", ["dim=", "keepdim="], ["input="]),
        ("x.sum(dim=0, ", ["keepdim="], ["dim="]),
        ("sum(x, ke", ["keepdim="], []),
        ("torch.softmax(x, d", ["dim="], []),
        ("f(", ["first=", "second="], []),
        ("optim.SGD([x], l", ["lr="], []),
        ("from torch import n", ["nn"], []),
        ("import to", ["torch"], []),
        ("'sig", [], ["sigmoid"]),
        ("nothing.a", [], ["append"]),
        ("x._", [], ["__class__", "__dict__"]),
        (":s", ["seed", "set", "save"], []),
        (":set ", ["precision", "format"], []),
        (":set format ", ["repr", "table"], []),
        (":help un", ["undo"], []),
        (":grads wi", ["width"], []),
        (":time x.me", ["mean"], []),
        ("?sig", ["sigmoid"], []),
    ],
)
def test_what_is_offered(typist: Typist, text: str, wanted: list[str], unwanted: list[str]) -> None:
    typist.enter("width = 3", "x = ones(2)", "names = [1]", "def f(first, second=2):\n    return first\n")
    found = offered(typist, text)
    assert [one for one in wanted if one not in found] == []
    assert [one for one in unwanted if one in found] == []


def test_files_are_offered(typist: Typist, tmp_path: Path) -> None:
    (tmp_path / "lesson.py").write_text("", encoding="utf-8")
    for command in (":load ", ":save ", ":data x=@"):
        assert offered(typist, f"{command}{tmp_path}/les") == ["son.py"]


def test_completing_evaluates_nothing(typist: Typist) -> None:
    before = typist.enter("torch.get_rng_state().sum()")
    for text in ("randn(3).me", "print(1).", "(1/0).a", "randn(", "f(g(h("):
        offered(typist, text)
    assert typist.enter("torch.get_rng_state().sum()") == before


def test_every_command_has_help_and_an_example(typist: Typist) -> None:
    for command in COMMANDS.values():
        shown = typist.enter(f":help {command.name}")
        assert command.doc in shown and command.example in shown
        assert command.example.startswith(f":{command.name}")


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("1 + 1", True),
        ("(1 +", False),
        ("x = [\n1,", False),
        ("for i in x:", False),
        ("for i in x:\n    i", False),
        ("for i in x:\n    i\n", True),
        ("1 + \\", False),
        ("'''a", False),
        ("* 2", True),
        ("* (2 +", False),
        ("@ ones(2)", True),
        ("@no_grad()", False),
        ("@no_grad()\ndef f():\n    pass\n", True),
        ("1 +", True),
        (":help", True),
    ],
)
def test_when_an_input_is_complete(typist: Typist, text: str, complete: bool) -> None:
    assert typist.prompt.names.is_complete(text) is complete


@pytest.mark.parametrize(
    ("text", "blanks"),
    [("if x:", 4), ("if x: # why", 4), ("if x:\n    y = 1", 4), ("def f():\n    return 1", 0), ("for i in x:\n    if i:", 8), ("f(1,", 0)],
)
def test_indentation_of_the_next_line(text: str, blanks: int) -> None:
    assert indentation(text) == " " * blanks


def test_pasted_prompts_are_taken_away() -> None:
    assert without_prompts(">>> x = 1\n>>> for i in x:\n...     i\n...\n1\n") == "x = 1\nfor i in x:\n    i\n"
    assert without_prompts("x >>> 1") == "x >>> 1"


# --- previews -------------------------------------------------------------------------------------


def previewed(typist: Typist, text: str, seconds: float = DELAY + BUDGET + 0.2) -> str:
    async def wait() -> str:
        preview = Preview(typist.prompt.preview, lambda: None)
        preview.typed(text)
        end = time.monotonic() + seconds
        while not preview.text and time.monotonic() < end:
            await asyncio.sleep(0.01)
        shown = preview.text
        preview.stop()
        return shown

    return asyncio.run(wait())


def test_a_preview_shows_the_value_and_changes_nothing(typist: Typist) -> None:
    typist.enter("x = ones(2)", "torch.manual_seed(1);")
    before = typist.enter("torch.get_rng_state().sum(), x, torch.is_grad_enabled()")
    assert previewed(typist, "x.add_(1)") == "tensor([2., 2.])"
    assert previewed(typist, "y = randn(2).shape") == "torch.Size([2])"
    assert previewed(typist, "torch.set_grad_enabled(False); x") == "tensor([1., 1.])"
    assert typist.enter("torch.get_rng_state().sum(), x, torch.is_grad_enabled()") == before


@pytest.mark.parametrize("text", ["1 +", "undefined", "3", "print(5)", ":vars", "mean?", "while True: pass", "zeros(30000, 30000)", "mean"])
def test_what_has_no_preview(typist: Typist, text: str) -> None:
    assert previewed(typist, text) == ""


def test_a_preview_never_delays_a_key(typist: Typist) -> None:
    typist.enter("x = ones(1000, 1000)")

    async def typing() -> None:
        preview = Preview(typist.prompt.preview, lambda: None)
        for _ in range(20):
            preview.typed("[x @ x for i in range(1000000)]")
            await asyncio.sleep(DELAY + 0.05)
        preview.stop()

    begin = time.process_time()
    asyncio.run(typing())
    # the copy works for seconds, elsewhere: the prompt's own process has next to nothing to do
    assert time.process_time() - begin < 0.5


def test_no_copy_outlives_its_preview(typist: Typist) -> None:
    typist.enter("x = ones(1000, 1000)")

    async def interrupted() -> None:
        preview = Preview(typist.prompt.preview, lambda: None)
        preview.typed("[x @ x for i in range(1000000)]")
        await asyncio.sleep(DELAY + 0.1)
        preview.stop()

    asyncio.run(interrupted())
    end = time.monotonic() + 10
    with pytest.raises(ChildProcessError):
        while True:
            os.waitpid(-1, os.WNOHANG)
            assert time.monotonic() < end
            time.sleep(0.01)


# --- history --------------------------------------------------------------------------------------


def test_history_is_private_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "state" / "history"
    history = HistoryFile(path, pytest.fail)
    for text in ("one", "two\n  lines\n", "+plus", "# hash", "naïve ∂"):
        history.append(text)
    assert HistoryFile(path, pytest.fail).load() == ["one", "two\n  lines\n", "+plus", "# hash", "naïve ∂"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_open_history_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("\n# t\n+a\n", encoding="utf-8")
    path.chmod(0o644)
    HistoryFile(path, pytest.fail).append("b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert HistoryFile(path, pytest.fail).load() == ["a", "b"]


@pytest.mark.parametrize("kind", ["link", "directory", "fifo"])
def test_a_history_that_is_no_file_is_one_warning(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "history"
    target = tmp_path / "target"
    target.write_text("safe", encoding="utf-8")
    {"link": lambda: path.symlink_to(target), "directory": path.mkdir, "fifo": lambda: os.mkfifo(path)}[kind]()
    warnings: list[str] = []
    history = HistoryFile(path, warnings.append)
    assert history.load() == []
    history.append("a")
    history.append("b")
    assert len(warnings) == 1
    assert target.read_text(encoding="utf-8") == "safe"


def test_history_is_cut_to_its_newest_entries(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(f"\n# t\n+entry {i}\n" for i in range(MOST_ENTRIES + 5)), encoding="utf-8")
    assert HistoryFile(path, pytest.fail).load()[0] == "entry 5"
    assert len(HistoryFile(path, pytest.fail).load()) == MOST_ENTRIES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_torn_last_entry_is_harmless(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes("\n# t\n+one\n\n# t\n+na\u00efve".encode()[:-3])
    history = HistoryFile(path, pytest.fail)
    history.append("next")
    assert history.load()[0] == "one" and history.load()[-1] == "next"


def test_the_plain_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typist: Typist) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("1 + 1\n(2 +\n3)\n"))
    reader = PlainReader(typist.history, typist.prompt.names.is_complete)
    assert [reader.read(), reader.read()] == ["1 + 1", "(2 +\n3)"]
    with pytest.raises(EOFError):
        reader.read()
    assert capsys.readouterr().err == ">>> >>> ... >>> \n"
    assert typist.history.load() == ["1 + 1", "(2 +\n3)"]
